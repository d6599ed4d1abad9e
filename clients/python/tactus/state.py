"""What the server streams: states, put together from packets, and the verdicts that ride on them."""
import collections
from typing import NamedTuple

from .messages import Status, VerdictCode, verdict_name
from .robot import RobotState

try:
    import numpy
except ImportError:  # columns become tuples of tuples
    numpy = None

POSE_WIDTH, VELOCITY_WIDTH, WRENCH_WIDTH, CONTACT_WIDTH = 7, 6, 6, 10
SHADOW_WIDTH = 4
REFUSED_FROM = int(VerdictCode.REFUSED_STALE_EPOCH)


class BodyState(NamedTuple):
    """One body in one state. Velocity and wrench are None when the subscription leaves them out."""

    name: str
    id: int
    p_WB: tuple  # position of the body's origin in the world frame W [m]
    q_WB: tuple  # orientation (w, x, y, z)
    v_WB: tuple  # velocity of the body's origin, in W [m/s]
    w_WB: tuple  # angular velocity, in W [rad/s]
    force_W: tuple  # commanded force as applied this tick, in W [N]
    torque_W: tuple  # commanded torque at the mass centre as applied this tick, in W [N m]


class Contact(NamedTuple):
    """One contact point between bodies a and b."""

    body_a: str
    body_b: str
    p_WC: tuple  # position in W [m]
    nhat_BA_W: tuple  # unit normal from b into a, in W
    force_A_W: tuple  # force on a at C, in W [N]
    depth_m: float


class Difference(NamedTuple):
    """How far one body is from where the shadow model would have it."""

    position_m: float  # of the mass centre
    angle_rad: float
    velocity_m_per_s: float  # of the mass centre
    force_n: float  # of all contacts on the body, mean over the shadow's step


class ShadowState:
    """One comparison of the live model with the shadow: `shadow["block"].position_m`. The shadow started from the live state of
    `tick - ticks` and was compared with that of `tick`."""

    def __init__(self, packets, names: dict):
        self.scene_epoch, self.tick, self.ticks = packets[0].scene_epoch, packets[0].tick, packets[0].ticks
        self.difference = {}
        for packet in packets:
            for row, body in enumerate(packet.body_id):
                values = packet.difference[SHADOW_WIDTH * row : SHADOW_WIDTH * (row + 1)]
                self.difference[names.get(body, f"#{body}")] = Difference(*values)

    def __getitem__(self, body: str) -> Difference:
        return self.difference[body]

    def __repr__(self):
        return f"<ShadowState tick={self.tick} ticks={self.ticks} bodies={len(self.difference)}>"


class Verdict(NamedTuple):
    """What became of one command."""

    sequence: int  # of the command's datagram
    code: int  # VerdictCode
    tick: int  # applied at, or judged at
    age_us: int  # from arrival to application
    item: int  # row that decided

    @property
    def name(self) -> str:
        return verdict_name(self.code)

    @property
    def applied(self) -> bool:
        return self.code in (VerdictCode.APPLIED, VerdictCode.CLAMPED, VerdictCode.LATE)

    @property
    def missed(self) -> bool:
        """Not of the command's arrival: no fresh one followed it, and this is what acts instead."""
        return VerdictCode.HELD <= self.code <= VerdictCode.BRAKED

    @property
    def refused(self) -> bool:
        return self.code >= REFUSED_FROM

    @property
    def lost(self) -> bool:
        """The link lost the command, or its verdict is not kept any more."""
        return self.code == 0


class State:
    """The world at one tick, as subscribed. Columns are numpy arrays where numpy is installed, otherwise tuples of rows.

    `state["block"]` is one body; `state.pose` etc. are all of them at once, row i belonging to `state.body_id[i]`.
    """

    def __init__(self, packets, received_ns: int, names: dict, scene=None):
        self._packets = packets
        self._scene = scene
        self._robots = {}
        self._names = names
        self._row_of_id = None
        first = packets[0]
        self.scene_epoch = first.scene_epoch
        self.tick = first.tick
        self.sim_time_s = first.sim_time_s
        self.tick_start_ns = first.tick_start_ns  # server's clock
        self.send_ns = first.send_ns  # server's clock
        self.received_ns = received_ns  # this client's time.monotonic_ns()
        self.status = Status(first.status_bits)
        self.real_time_factor = first.real_time_factor
        self.ticks_missed = first.ticks_missed
        self.contacts_count = first.contacts
        self.contacts_dropped = first.contacts_dropped
        # Islands of contacts in the last step of the model in charge (realtime.proto, 56 to 59).
        self.solver_failures = first.solver_failures
        self.solver_fallbacks = first.solver_fallbacks
        self.inconsistent = first.inconsistent
        self.indeterminate = first.indeterminate
        # What the exact stepper did in it (71 to 79); all 0: another one moved the world.
        self.exact_pieces = first.exact_pieces
        self.exact_collisions = first.exact_collisions
        self.exact_evaluations = first.exact_evaluations
        self.exact_bisections = first.exact_bisections
        self.exact_breaks = first.exact_breaks
        self.exact_stops = first.exact_stops
        self.exact_unresolved = first.exact_unresolved
        self.exact_exhausted = first.exact_exhausted
        self.exact_event_time_s = first.exact_event_time_s
        self.penetration_max_m = first.penetration_max_m
        self.kinetic_energy_j = first.kinetic_energy_j
        self.work_us = first.work_us
        self.wake_late_us = first.wake_late_us

    @property
    def body_id(self):
        return self._scalars("body_id", "uint32")

    @property
    def bodies(self) -> list:
        """Names of the bodies, in the order of the rows."""
        return [self._name(i) for packet in self._packets for i in packet.body_id]

    @property
    def pose(self):
        """n x 7: p_WB x y z [m], q_WB w x y z."""
        return self._column("pose", POSE_WIDTH)

    @property
    def velocity(self):
        """n x 6: v_WB [m/s] of the origin of B, w_WB [rad/s]; None when not subscribed."""
        return self._column("velocity", VELOCITY_WIDTH)

    @property
    def wrench(self):
        """n x 6: commanded force [N] and torque at the mass centre [N m] as applied this tick, in W; None when not subscribed."""
        return self._column("wrench", WRENCH_WIDTH)

    @property
    def contact(self):
        """m x 10: p_WC [m], nhat_BA_W, force on A at C in W [N], depth [m]; rows belong to contact_body_a, contact_body_b."""
        rows = self._column("contact", CONTACT_WIDTH)
        return () if rows is None else rows

    @property
    def contact_body_a(self):
        return self._scalars("contact_body_a", "uint32")

    @property
    def contact_body_b(self):
        return self._scalars("contact_body_b", "uint32")

    @property
    def contacts(self) -> list:
        """The contacts one by one, with body names."""
        out = []
        for packet in self._packets:
            for row, (a, b) in enumerate(zip(packet.contact_body_a, packet.contact_body_b)):
                v = packet.contact[CONTACT_WIDTH * row : CONTACT_WIDTH * (row + 1)]
                out.append(Contact(self._name(a), self._name(b), tuple(v[0:3]), tuple(v[3:6]), tuple(v[6:9]), v[9]))
        return out

    def __getitem__(self, body) -> BodyState:
        """One body by name or id."""
        packet, row = self._locate(body)
        pose = _row(packet, "pose", row, POSE_WIDTH)
        velocity = _row(packet, "velocity", row, VELOCITY_WIDTH)
        wrench = _row(packet, "wrench", row, WRENCH_WIDTH)
        body_id = packet.body_id[row]
        return BodyState(
            self._name(body_id), body_id, pose[:3], pose[3:],
            velocity and velocity[:3], velocity and velocity[3:], wrench and wrench[:3], wrench and wrench[3:],
        )  # fmt: skip

    def robot(self, name: str) -> RobotState:
        """A robot's joints, sensors and end effectors, as subscribed."""
        if name not in self._robots:
            self._robots[name] = RobotState(self._scene.robot(name), self._packets)
        return self._robots[name]

    def __contains__(self, body) -> bool:
        try:
            self._locate(body)
        except KeyError:
            return False
        return True

    def __repr__(self):
        return f"<State tick={self.tick} sim_time_s={self.sim_time_s:.3f} bodies={len(self.bodies)} status={self.status!r}>"

    def _name(self, body_id: int) -> str:
        return self._names.get(body_id, f"#{body_id}")

    def _locate(self, body):
        if self._row_of_id is None:
            self._row_of_id = {i: (p, row) for p in self._packets for row, i in enumerate(p.body_id)}
            self._row_of_id.update({self._name(i): at for i, at in list(self._row_of_id.items())})
        try:
            return self._row_of_id[body]
        except KeyError:
            raise KeyError(f"{body!r} is not in this state; it holds: {', '.join(self.bodies) or 'no body'}") from None

    def _scalars(self, field: str, dtype: str):
        values = [v for packet in self._packets for v in getattr(packet, field)]
        return tuple(values) if numpy is None else numpy.array(values, dtype)

    def _column(self, field: str, width: int):
        columns = [_values(packet, field) for packet in self._packets]
        if not any(columns):
            return None
        if numpy is not None:
            flat = numpy.concatenate([numpy.fromiter(c, numpy.float64, len(c)) for c in columns])
            return flat.reshape(-1, width)
        return tuple(tuple(c[i : i + width]) for c in columns for i in range(0, len(c), width))


def _values(packet, field):
    """A column's values, whichever precision was subscribed."""
    values = getattr(packet, field)
    return values or getattr(packet, field + "_f", values)


def _row(packet, field, row, width):
    values = _values(packet, field)
    return tuple(values[width * row : width * (row + 1)]) if values else None


class Assembler:
    """Puts the parts of a tick together. Ticks that stay incomplete are given up when four newer ones have begun."""

    PENDING_MAX = 4

    def __init__(self):
        self._pending = collections.OrderedDict()
        self._newest_sequence = 0
        self.incomplete = 0  # ticks given up because a part was lost
        self.reordered = 0  # states that came complete only after a newer one

    def add(self, packet, sequence: int):
        """The packets of a complete tick in order, or None. Newer is what the server sent later, as ticks go back on restore."""
        if packet.parts <= 1:
            return self._complete([packet], sequence)
        key = (packet.scene_epoch, packet.tick, packet.tick_start_ns)
        if key not in self._pending:
            self._make_room()
        parts = self._pending.setdefault(key, {})
        parts[packet.part] = packet
        if len(parts) < packet.parts:
            return None
        del self._pending[key]
        return self._complete([parts[i] for i in sorted(parts)], sequence)

    def _make_room(self):
        if len(self._pending) >= self.PENDING_MAX:
            self._pending.popitem(last=False)
            self.incomplete += 1

    def _complete(self, packets, sequence):
        if sequence < self._newest_sequence:
            self.reordered += 1
            return None
        self._newest_sequence = sequence
        return packets


class ClockEstimate:
    """Offset between the server's monotonic clock and this one's, and the round trip, from echoed time stamps.

    Of each second the sample with the shortest round trip counts; the best of the last eight seconds is the estimate.
    """

    SECONDS_KEPT = 8

    def __init__(self):
        self._best = collections.deque(maxlen=self.SECONDS_KEPT)  # (second, round trip ns, offset ns)
        self.samples = 0

    def add(self, sent_ns: int, server_received_ns: int, server_sent_ns: int, received_ns: int):
        round_trip = (received_ns - sent_ns) - (server_sent_ns - server_received_ns)
        if round_trip < 0 or sent_ns == 0:
            return
        self.samples += 1
        offset = ((server_received_ns - sent_ns) + (server_sent_ns - received_ns)) // 2
        second = received_ns // 1_000_000_000
        if not self._best or self._best[-1][0] != second:
            self._best.append((second, round_trip, offset))
        elif round_trip < self._best[-1][1]:
            self._best[-1] = (second, round_trip, offset)

    @property
    def round_trip_s(self):
        """The shortest round trip lately [s], the server's own time taken off; None before the first sample."""
        return min(b[1] for b in self._best) / 1e9 if self._best else None

    @property
    def offset_s(self):
        """Server's monotonic clock minus this client's [s]; None before the first sample."""
        return min((b[1], b[2]) for b in self._best)[1] / 1e9 if self._best else None

