"""What is in the world: the server's description of the running scene, with bodies by name."""
import collections
from typing import NamedTuple

from .robot import Robot


class Body(NamedTuple):
    """A body of the scene. `description` holds shapes and inertia as in control.proto's BodyDescription."""

    id: int
    name: str
    mode: str  # free, fixed, kinematic or link
    mass_kg: float
    force_limit_n: float
    torque_limit_n_m: float
    description: object


class Scene:
    """The running scene; `scene["block"]` is a body, iterating gives all."""

    def __init__(self, description):
        self.description = description  # SceneDescription, see control.proto
        self.name = description.name
        self.title = description.title
        self.scene_epoch = description.scene_epoch
        self.step_s = description.step_s
        self.model = description.model
        self.models = list(description.models)
        self.seed = description.seed
        self.settings = {p.key: p.value for p in description.settings}
        self.bodies = {
            b.name: Body(b.id, b.name, b.mode, b.mass_kg, b.force_limit_n, b.torque_limit_n_m, b) for b in description.bodies
        }
        self.names = {b.id: b.name for b in self.bodies.values()}
        self.robots = {r.name: Robot(r) for r in description.robots}

    def robot(self, name: str) -> Robot:
        try:
            return self.robots[name]
        except KeyError:
            raise KeyError(f"no robot {name!r} in scene {self.name!r}; it has: {', '.join(self.robots) or 'none'}") from None

    def joint(self, name: str):
        """A joint by its full name, robot/joint."""
        return self.robot(name.partition("/")[0]).joint(name)

    def __getitem__(self, name: str) -> Body:
        try:
            return self.bodies[name]
        except KeyError:
            raise KeyError(f"no body {name!r} in scene {self.name!r}; it has: {', '.join(self.bodies) or 'none'}") from None

    def __contains__(self, name) -> bool:
        return name in self.bodies

    def __iter__(self):
        return iter(self.bodies.values())

    def __repr__(self):
        return f"<Scene {self.name!r} model={self.model!r} bodies={list(self.bodies)} scene_epoch={self.scene_epoch:#010x}>"


class Event(NamedTuple):
    """Something that happened once. Beside the kinds of control.proto: LINK_LOST, RECONNECTED, SUBSCRIPTION_LOST of this client."""

    kind: str
    tick: int
    text: str
    scene_epoch: int
    count: int = 1  # events of this kind that this one stands for


class EventLog:
    """The newest events. When it is full, the oldest of the most frequent kind makes room: what is rare is not pushed out."""

    def __init__(self, kept: int):
        self._kept = kept
        self._events = []
        self._counts = collections.Counter()

    def add(self, event) -> None:
        if len(self._events) >= self._kept:
            kind = self._counts.most_common(1)[0][0]
            self.remove(next(e for e in self._events if e.kind == kind))
        self._events.append(event)
        self._counts[event.kind] += 1

    def remove(self, event) -> None:
        self._events.remove(event)
        self._counts[event.kind] -= 1

    def find(self, kinds):
        """The oldest of these kinds, or None."""
        return next((e for e in self._events if e.kind in kinds), None)

    def take(self) -> list:
        out, self._events = self._events, []
        self._counts.clear()
        return out


class Snapshot(NamedTuple):
    """The whole state of the world at a tick; give it to restore()."""

    name: str
    tick: int
    state_hash: int
    state: bytes
    scene_epoch: int


class LeaseEntry(NamedTuple):
    """One line of leases(): who holds a channel, and for how much longer unless it is renewed."""

    channel: str
    client: str
    left_s: float
