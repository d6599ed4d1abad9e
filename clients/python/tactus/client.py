"""The client: connect(), look, push, control, step."""
import atexit
import math
import os
import pathlib
import re
import sys
import time
import weakref
from typing import NamedTuple

from . import wire
from .connection import Connection
from .control import ControlLoop, ControlReport, RobotLoop
from .errors import LinkLost, NotArmed, TimedOut
from .leases import Lease, channel_name, expand_channels, wrench_channel
from .link import Link
from .lockstep import Lockstep
from .messages import CommandPacket, LinkFaultsReply, LinkQuality, Statistics, WrenchFrame
from .parts import split_command
from .robot import RobotCommand, fill_joints
from .scene import LeaseEntry, Scene, Snapshot
from .state import State, Verdict
from .subscription import Subscription
from .token_file import read_token_file

DEFAULT_DEADLINE_S = 0.02
UNJUDGED_KEPT = 64
STOP_WAIT_S = 0.1
LOAD_S = 600.0
NUDGE_S = 0.1
SURELY_OVER_S = 0.3  # beyond a command's deadline: time on the way, and the ramp to zero
_FRAMES = {"world": WrenchFrame.WORLD, "body": WrenchFrame.BODY}
_ZERO = (0.0, 0.0, 0.0)


class Wrench(NamedTuple):
    """A force [N] and a torque [N m] on a body. `at` is p_BP, the force's point of application in the body's frame [m] (default: the
    mass centre). `frame` "world" or "body" says in which axes the components are; with "body" they turn with the body."""

    force: tuple = _ZERO
    torque: tuple = _ZERO
    at: tuple = None
    frame: str = "world"


class Command(NamedTuple):
    """A command that was sent; `verdict()` says what became of it."""

    client: "Client"
    sequence: int

    def find_verdict(self):
        """The Verdict if it has come, else None."""
        return self.client.find_verdict(self.sequence)

    def verdict(self, timeout_s: float = 1.0) -> Verdict:
        """Waits for the verdict. LOST says that the link lost the command. Raises TimedOut."""
        return self.client.await_verdict(self.sequence, timeout_s)


class LinkStatistics(NamedTuple):
    """This client's side of the connection."""

    up: bool
    reconnects: int
    datagrams_received: int  # on the present link
    datagrams_lost: int  # gaps in the server's sequence numbers
    datagrams_refused: dict  # reason -> count
    ticks_incomplete: int  # a part of the tick's state was lost
    states_dropped: int  # user code read too slowly
    verdicts: dict  # name -> count
    round_trip_s: float
    clock_offset_s: float
    verdicts_lost: int = 0  # given by the server, and not kept any more before the link let them through


def connect(host: str = "127.0.0.1", port: int = None, *, token: str = None, token_file=None, name: str = None,
            timeout_s: float = 5.0, reconnect: bool = True) -> "Client":  # fmt: skip
    """Connects to a Tactus server; `with tactus.connect() as c:` closes it again.

    `host` may be "HOST" or "HOST:PORT" (control port, default 17800). A server that listens beyond loopback wants its token. Who gives one
    is connected only to a server that proves to know it.
    """
    if port is None:
        host, port = split_address(host)
    return Client(host, port, _token_bytes(token, token_file), name or _default_name(), timeout_s, reconnect)


def split_address(address: str) -> tuple:
    """("HOST", port) of "HOST", "HOST:PORT" or "[IPV6]:PORT"."""
    match = re.fullmatch(r"\[(.+)\](?::(\d+))?|([^:]+)(?::(\d+))?|(.*:.*:.*)", address)
    if match is None:
        raise ValueError(f"{address!r} is not HOST or HOST:PORT")
    host = match[1] or match[3] or match[5]
    return host, int(match[2] or match[4] or wire.DEFAULT_CONTROL_PORT)


class Client:
    """A connection to a server. Safe to use from several threads. Times in seconds, SI units, names for bodies."""

    def __init__(self, host, port, token, name, timeout_s, reconnect):
        self.connection = Connection(lambda: Link(host, port, name, token, timeout_s), reconnect, timeout_s)
        self.address = f"{host}:{port}"
        self.active_lockstep = None
        self._default = None
        self._pushed_until = {}  # body name -> when its last command has run out
        self._unjudged = []
        _OPEN.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Takes this client's forces to zero, releases its leases, disconnects. Runs by itself at exit of the program."""
        if not self.connection.closed:
            self.stop_pushing()
            self.connection.leases.release_all()
        self.connection.close()
        _OPEN.discard(self)

    # --- the connection

    @property
    def connected(self) -> bool:
        return self.connection.up

    @property
    def reconnects(self) -> int:
        """How often the connection fell and came back."""
        return self.connection.reconnects

    @property
    def role(self) -> str:
        """What the server allows this client: "control" or "observe"."""
        return self.connection.link.role

    @property
    def server_build(self) -> str:
        return self.connection.link.build

    @property
    def round_trip_s(self):
        """Shortest round trip lately [s]; None until it is measured."""
        return self.connection.clock.round_trip_s

    @property
    def clock_offset_s(self):
        """Server's CLOCK_MONOTONIC minus this client's time.monotonic() [s]; None until it is measured."""
        return self.connection.clock.offset_s

    def link_statistics(self) -> LinkStatistics:
        connection, link = self.connection, self.connection.link
        with connection.lock:
            return LinkStatistics(
                connection.up, connection.reconnects, link.datagrams_received, link.datagrams_lost, dict(link.refused),
                sum(s.incomplete for s in connection.subscriptions), sum(s.dropped for s in connection.subscriptions),
                dict(connection.verdicts.counts), self.round_trip_s, self.clock_offset_s, connection.verdicts.numbers_lost,
            )  # fmt: skip

    @property
    def quality(self) -> LinkQuality:
        """Why did my cycle miss? The server's LinkQuality of this client (control.proto): success rate, times of this program, of the
        link in each direction and of the server, apart, `cause` (a tactus.LinkCause) and `explanation`, one sentence. Asks the server."""
        session = self.connection.link.session
        return next((c.quality for c in self.statistics().clients if c.session == session), LinkQuality())

    def events(self) -> list:
        """Events since the last call, oldest first: LINK_LOST, RECONNECTED, SCENE_CHANGED, LEASE_LOST, COMMANDS_EXPIRED ..."""
        return self.connection.take_events()

    def wait_event(self, *kinds: str, timeout_s: float = 5.0):
        """The next event of one of these kinds."""
        return self.connection.wait_event(kinds, timeout_s)

    @property
    def armed(self) -> bool:
        """False after a reconnect or another's scene change: push() and control() refuse until arm()."""
        return self.connection.armed

    def arm(self) -> None:
        """Allows commands again: you have looked at the world and still mean them. Claims again what was claimed by claim()."""
        with self.connection.lock:
            if not self.connection.up:
                raise NotArmed(f"cannot arm: {self.connection.down_text()}")
            lost = self.connection.lost_leases
        self.connection.leases.reacquire_explicit(lost)
        self.connection.armed = True

    # --- scenes and model

    @property
    def scene(self) -> Scene:
        """The running scene, as the server last described it."""
        return self.connection.scene

    @property
    def scene_epoch(self) -> int:
        return self.connection.scene.scene_epoch

    def scenes(self) -> dict:
        """Names of the scenes the server offers, with their titles."""
        reply = self.connection.request("list_scenes").scene_list
        return {entry.name: entry.title for entry in reply.scenes}

    def load(self, name: str, *, seed: int = 0, timeout_s: float = LOAD_S, **parameters) -> Scene:
        """Loads a scene, for example load("pile", n=200), and waits until it runs; a large one may take minutes, while the old one goes on.
        Raises BadScene naming file, line and key; the running scene then stays. Raises LinkLost when the connection falls, TimedOut after
        `timeout_s`: the scene may then still come."""
        values = [{"key": key, "value": str(value)} for key, value in parameters.items()]
        return self._change_scene("load_scene", timeout_s, name=name, parameters=values, seed=seed)

    def reset(self) -> Scene:
        """Puts the scene back to its start."""
        return self._change_scene("reset", LOAD_S)

    def refresh_scene(self) -> Scene:
        """Asks the server again, for example for present settings."""
        return Scene(self.connection.request("describe_scene").scene)

    def set_model(self, name: str) -> None:
        """Switches the contact model at run time; scene.models lists them."""
        self._world_request("set_model", name=name)

    def set_shadow(self, model: str = None, rate_hz: float = 0) -> None:
        """Lets a second model run beside the live one on copies of its state (None: no longer); its differences come to
        subscriptions made with shadow=True, and in statistics().shadow. rate_hz 0: as the server is set."""
        self._world_request("set_shadow", model=model or "", rate_hz=rate_hz)

    def set_parameter(self, key: str, value) -> None:
        """Changes a setting at run time; refresh_scene().settings lists keys and values."""
        self._world_request("set_parameter", key=key, value=str(value))

    # --- time

    def pause(self, *, keep: bool = False) -> None:
        """Stops simulated time. It goes on when this client leaves, unless `keep`."""
        self._world_request("pause", keep=keep)

    def resume(self, *, force: bool = False) -> None:
        """Lets simulated time run again. `force`: without the lease "world", whoever holds it."""
        if force:
            self.connection.request("resume", force=True)
        else:
            self._world_request("resume")

    def set_lockstep(self, on: bool, *, keep: bool = False, force: bool = False) -> None:
        """Switches the mode as such; to step in it, lockstep() is simpler. It falls back when this client leaves, unless `keep`.
        `force`: off without the lease "world", whoever holds it."""
        if force and not on:
            self.connection.request("set_lockstep", on=False, force=True)
        else:
            self._world_request("set_lockstep", on=on, keep=keep)

    def stop(self) -> None:
        """Ends every command of every client, and all leases but "world"; needs no lease. The world runs on. All clients are disarmed,
        this one too: arm() to go on."""
        self.connection.request("stop")

    def step(self, ticks: int = 1):
        """Advances a paused world; returns a GrantReply with tick and state_hash."""
        return self._world_request("step", ticks=ticks).grant

    def playback(self):
        """Of a server that plays a recording: a Playback with position_s, duration_s, speed, paused, ended, file. Elsewhere raises WrongState."""
        return self.connection.request("set_playback").playback

    def seek(self, position_s: float):
        """Moves the playback to so many seconds from the recording's begin; returns the Playback once the state there has been shown."""
        return self._world_request("set_playback", position_s=position_s).playback

    def set_speed(self, speed: float):
        """Of the playback: recorded over real time, 0.001 to 1,000. Returns the Playback."""
        return self._world_request("set_playback", speed=speed).playback

    def lockstep(self, timeout_s: float = 60.0, *, stream: Subscription = None, strict: bool = True) -> Lockstep:
        """`with c.lockstep() as ls: ls.step(10)`: the world advances only by this client's steps, which return the states of `stream`
        (default: the one behind read()). `strict`: a step raises when a command sent before it was not applied."""
        return Lockstep(self, timeout_s, stream, strict)

    def snapshot(self, name: str = "") -> Snapshot:
        """Takes a snapshot of the whole state; a name keeps it in the server, too."""
        s = self.connection.request("take_snapshot", name=name).snapshot
        return Snapshot(s.name, s.tick, s.state_hash, s.state, s.scene_epoch)

    def restore(self, snapshot) -> None:
        """Puts the world back to a Snapshot, or to the one that the server keeps under a name."""
        wish = {"name": snapshot} if isinstance(snapshot, str) else {"state": snapshot.state}
        self._world_request("restore_snapshot", **wish)
        self._time_jumped()

    def statistics(self) -> Statistics:
        """The server's Statistics message (control.proto): rates, lateness, work, refusals, clients."""
        return self.connection.request("get_statistics").statistics

    def save_black_box(self, reason: str = ""):
        """Has the server write its black box, the last seconds, to a file on its machine. Returns a BlackBoxSaved with path, bytes,
        records, first_tick, last_tick; tactus.record.read(path) reads it."""
        return self.connection.request("save_black_box", reason=reason).black_box

    def start_recording(self, name: str = "", state_hz: float = 0):
        """Has the server record all that comes, into the folder that its config names (record.folder). state_hz: states a second of
        simulated time, 0: the server's own choice. Returns a Recorded with path; tactus.record.read(path) reads it when it has ended."""
        return self.connection.request("start_recording", name=name, state_hz=state_hz).recording

    def stop_recording(self):
        """Ends it. Returns a Recorded with path, bytes, records, first_tick, last_tick, bytes_overtaken."""
        return self.connection.request("stop_recording").recording

    # --- the link

    def set_link_faults(self, *, up: dict = None, down: dict = None, seed: int = 1, session: int = 0,
                        keep: bool = False) -> LinkFaultsReply:  # fmt: skip
        """Lets the server delay, lose, double and reorder this client's datagrams on purpose: `up` to the server, `down` from it, for
        example down=dict(delay_us=2000, jitter_us=500, loss=0.01, loss_burst=3); also duplicate, reorder, reorder_us, keep_order (proto
        LinkDirection). Without a direction it is sound. The same seed gives the same faults; in lockstep delays count in ticks. Another
        client's `session` needs the lease "world"; its faults end when this client leaves, unless `keep`. Raises BadValue that names key and range."""
        wish = dict(up=dict(up or {}), down=dict(down or {}), seed=seed, session=session, keep=keep)
        reply = self._world_request("set_link_faults", **wish) if session else self.connection.request("set_link_faults", **wish)
        return reply.link_faults

    def link_faults(self, session: int = 0) -> LinkFaultsReply:
        """The faults of this client's link (or that of another session), counted, and the last 1,024 fates."""
        return self.connection.request("get_link_faults", session=session).link_faults

    # --- states

    def subscribe(self, bodies=None, *, velocity=True, wrench=False, contacts=False, single_precision=False, decimation=1,
                  shadow=False, joints=None, sensors=None, end_effectors=None, jacobian=False, tools=False) -> Subscription:  # fmt: skip
        """A stream of states. `bodies` are names (default: all that move). The first one also serves read(), latest() and states().
        With `shadow` it also brings the comparisons with the shadow model: Subscription.shadow(). `joints` and `sensors` are robots, full
        names or "*", `end_effectors` links (robot/link), with `jacobian` their Jacobians too; with these, no body comes unless
        named ("*": all). `tools`: what haptic devices hold, see tools()."""
        wish = dict(
            bodies=list(bodies or ()), velocity=velocity, wrench=wrench, contacts=contacts,
            single_precision=single_precision, decimation=decimation, shadow=shadow,
            joints=list(joints or ()), sensors=list(sensors or ()), end_effectors=list(end_effectors or ()), jacobian=jacobian, tools=tools,
        )  # fmt: skip
        subscription = Subscription(self.connection, wish)
        self.connection.subscribe(subscription)
        if self._default is None:
            self._default = subscription
        return subscription

    def tools(self) -> dict:
        """The newest ToolPacket (proto/haptic.proto) of each tool that a haptic device holds; needs subscribe(tools=True)."""
        with self.connection.lock:
            return dict(self.connection.tools)

    def default_subscription(self) -> Subscription:
        """The one behind read(), latest() and states(); made now when there is none."""
        if self._default is None or self._default not in self.connection.subscriptions:
            self._default = None
            self.subscribe()
        return self._default

    def read(self, timeout_s: float = 2.0) -> State:
        """The oldest state not read yet."""
        return self.default_subscription().read(timeout_s)

    def latest(self, timeout_s: float = 2.0) -> State:
        """The newest state."""
        return self.default_subscription().latest(timeout_s)

    def states(self, duration_s: float = None):
        """Iterates over all states."""
        return self.default_subscription().states(duration_s)

    # --- leases and commands

    def claim(self, *targets: str, duration_s: float = 2.0, take_over: bool = False) -> Lease:
        """Takes bodies (by name), joints ("joint/ROBOT/JOINT", "joint/ROBOT/*") or "world" for this client alone: all or nothing,
        renewed until released. A context manager."""
        channels = expand_channels([channel_name(t) for t in targets], self.scene)
        return self.connection.leases.acquire(channels, duration_s, take_over)

    def leases(self) -> list:
        """Who holds what."""
        reply = self.connection.request("list_leases").leases
        return [LeaseEntry(e.channel, e.client, e.left_ms / 1000) for e in reply.leases]

    def push(self, body: str, force=_ZERO, torque=_ZERO, at=None, frame="world", deadline_s=DEFAULT_DEADLINE_S) -> Command:
        """Sends one wrench, which the server holds until `deadline_s` (at most 0.2 s) has passed and then ramps to zero.
        Push again before that to go on, or use control(). Claims the body first, unless claimed. Meanings: see Wrench."""
        return self.command({body: Wrench(force, torque, at, frame)}, deadline_s=deadline_s)

    def command(self, wrenches: dict = None, *, joints: dict = None, deadline_s=DEFAULT_DEADLINE_S, expected_tick: int = 0) -> Command:
        """Sends wrenches and joint commands at once, all applied or none: {"block": Wrench(force=(1, 0, 0))},
        joints={"arm/elbow": Effort(3.0), "arm/wrist": Position(0.5)}. What one datagram cannot hold goes in up to 8, as one command."""
        self.connection.require_armed()
        wrenches, joints = wrenches or {}, joints or {}
        packet = self._command_packet(wrenches, deadline_s, expected_tick)
        fill_joints(packet, joints, self.scene)
        packet, *more = split_command(packet)
        for body in wrenches:
            self.connection.leases.ensure(wrench_channel(body))
            self._pushed_until[body] = time.monotonic() + deadline_s
        self.connection.leases.ensure_all([f"joint/{self.scene.joint(name).name}" for name in joints])
        return self._send(packet, more)

    def command_robot(self, robot: str, command=None, *, deadline_s=DEFAULT_DEADLINE_S, expected_tick: int = 0, **values) -> Command:
        """Commands all joints of a robot in one packet: command_robot("arm", effort=[...]), velocity=[...] or position=[...], rate=[...];
        or a RobotCommand. They act until `deadline_s` has passed, then the channels go to their safe states."""
        self.connection.require_armed()
        packet = self._command_packet({}, deadline_s, expected_tick)
        (command or RobotCommand(**values)).fill(packet, self.scene.robot(robot))
        self.connection.leases.ensure_all(expand_channels([f"joint/{robot}/*"], self.scene))
        return self._send(packet)

    def set_joint_options(self, *joints: str, keep: bool = False, **options) -> None:
        """Changes how channels take commands, of robots or of single joints (robot/joint): missed ("hold", "extrapolate", "ramp", "brake"),
        tolerance_ticks, fault_ticks, ramp_s, cutoff_hz, effort_limit, effort_rate_limit, velocity_limit (0: none). What is not named stays
        as it is with the first of the joints. Claims them for its time, unless held. What was before comes back when the lease is lost, when
        somebody else takes the joints, or when this client leaves, unless `keep`."""
        scene = self.refresh_scene()
        first = scene.robot(joints[0]).joints[0] if joints[0] in scene.robots else scene.joint(joints[0])
        wish = type(first.description.options)()
        wish.CopyFrom(first.description.options)
        for key, value in options.items():
            setattr(wish, key, value)
        with self.connection.leases.holding(self._joint_channels(joints)):
            self.connection.request("set_joint_options", joints=list(joints), options=wish, keep=keep)

    def recover(self, robot: str) -> None:
        """Clears a robot's latched fault: it takes commands again. Claims it for the time, unless held."""
        with self.connection.leases.holding(self._joint_channels([robot])):
            self.connection.request("recover_fault", robot=robot)

    def _joint_channels(self, joints):
        return expand_channels([f"joint/{j}" if "/" in j else f"joint/{j}/*" for j in joints], self.scene)

    def control_robot(self, robot: str, callback, duration_s: float = None, deadline_s: float = DEFAULT_DEADLINE_S,
                      **subscription) -> ControlReport:  # fmt: skip
        """Calls `callback(robot_state, state)` with each newest state and sends what it returns: one effort for each of
        scene.robots[robot].joints, a RobotCommand, None for no command in this cycle, tactus.STOP to end. `subscription` asks for more:
        bodies, sensors, end_effectors, jacobian. Claims the robot for its time; at the end its channels go to their safe states."""
        return RobotLoop(self, robot, callback, deadline_s, subscription).run(duration_s)

    def _send(self, packet, more=()):
        command = Command(self, self.connection.send_command(packet, more))
        self._unjudged = [*self._unjudged[-UNJUDGED_KEPT:], command]
        return command

    def control(self, bodies, callback, duration_s: float = None, deadline_s: float = DEFAULT_DEADLINE_S) -> ControlReport:
        """Calls `callback(state)` with each newest state and sends what it returns: {body: Wrench}, None for no command in this
        cycle, tactus.STOP to end. Claims the bodies for its time and ends with a zero command."""
        return ControlLoop(self, bodies, callback, deadline_s).run(duration_s)

    def stop_pushing(self, bodies=None) -> None:
        """Takes the forces of this client to zero now (all of them by default), and waits until the server has read that."""
        now = time.monotonic()
        pushed = [b for b, until in self._pushed_until.items() if until + SURELY_OVER_S > now]
        live = [b for b in pushed if bodies is None or b in bodies]
        live = [b for b in live if b in self.scene and self.connection.leases.find(wrench_channel(b))]
        if not (live and self.connection.up and self.connection.armed):
            return
        for body in live:
            self._pushed_until.pop(body, None)
        try:
            packet = self._command_packet({b: Wrench() for b in live}, DEFAULT_DEADLINE_S, 0)
            packet.ends = int(bodies is None)  # of a loop, control() says it
            first, *more = split_command(packet)
            self.connection.send_command(first, more)
        except (LinkLost, NotArmed):
            return  # the connection fell meanwhile: the deadline ends the force
        self.connection.barrier(STOP_WAIT_S)

    def verdicts(self) -> list:
        """Verdicts since the last call, oldest first; LOST names commands that the link lost."""
        with self.connection.lock:
            return self.connection.verdicts.take_fresh()

    def find_verdict(self, sequence: int):
        """The verdict of the command with this sequence, or None."""
        with self.connection.lock:
            return self.connection.verdicts.find(sequence)

    def await_verdict(self, sequence: int, timeout_s: float = 1.0) -> Verdict:
        self.default_subscription()
        with self.connection.lock:
            end = time.monotonic() + timeout_s
            while (verdict := self.find_verdict(sequence)) is None and self.connection.up and (left := end - time.monotonic()) > 0:
                if not self.connection.changed.wait_for(lambda: self.find_verdict(sequence) or not self.connection.up, min(left, NUDGE_S)):
                    self.connection.nudge()  # once the server has seen it, a lost command is no longer a late one
        if verdict is None:
            why = self.connection.why_silent() or "do states come? In lockstep it waits for the next grant"
            raise TimedOut(f"no verdict for command {sequence} within {timeout_s} s: {why}")
        return verdict

    def take_unjudged(self) -> list:
        """The commands sent since the last call."""
        out, self._unjudged = self._unjudged, []
        return out

    # --- inside

    def _command_packet(self, wrenches, deadline_s, expected_tick):
        if not 0 < deadline_s <= wire.DEADLINE_CAP_S:
            raise ValueError(f"deadline_s must be above 0 and at most {wire.DEADLINE_CAP_S}, not {deadline_s}: push again before it ends")
        packet = CommandPacket(scene_epoch=self.scene_epoch, deadline_us=round(1e6 * deadline_s), expected_tick=expected_tick)
        rows = [_wrench(body, w) for body, w in wrenches.items()]
        for body, row in zip(wrenches, rows):
            packet.body_id.append(self.scene[body].id)
            packet.wrench.extend(_vector(row.force, "force") + _vector(row.torque, "torque"))
        if any(row.frame != "world" for row in rows):
            packet.frame.extend(_frame(row.frame) for row in rows)
        if any(row.at is not None for row in rows):
            for body, row in zip(wrenches, rows):
                packet.point.extend(self._mass_centre(body) if row.at is None else _vector(row.at, "at"))
        return packet

    def _mass_centre(self, body):
        p_BBcm = self.scene[body].description.p_BBcm_m
        return [p_BBcm.x, p_BBcm.y, p_BBcm.z]

    def _change_scene(self, field, timeout_s, **values):
        with self.connection.changing_scene():
            try:
                reply = self._world_request(field, wait_s=timeout_s, **values)
            except TimedOut as error:
                raise TimedOut(f"{error}; it may still be at work: the scene then changes later, which the event SCENE_CHANGED tells") from error
            self.connection.adopt_own_scene(reply.scene)
        self._time_jumped()
        return self.scene

    def _time_jumped(self):
        if self.active_lockstep is not None:
            self.active_lockstep.resynchronize()

    def _world_request(self, field, **values):
        """A request that needs the lease "world": taken for its time, unless held."""
        if self.connection.leases.find("world") is not None:
            return self.connection.request(field, **values)
        with self.claim("world"):
            return self.connection.request(field, **values)


def _wrench(body, given):
    if isinstance(given, Wrench):
        return given
    if isinstance(given, tuple) and given and all(hasattr(part, "__len__") for part in given[:2]):
        return Wrench(*given)
    raise TypeError(f"the command for {body!r} must be a tactus.Wrench, for example Wrench(force=(1, 0, 0)), not {given!r}")


def _vector(values, what):
    try:
        vector = [float(v) for v in values]
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be three finite numbers, not {values!r}") from None
    if len(vector) != 3 or not all(map(math.isfinite, vector)):
        raise ValueError(f"{what} must be three finite numbers, not {values!r}")
    return vector


def _frame(name):
    try:
        return _FRAMES[name]
    except KeyError:
        raise ValueError(f'frame must be "world" or "body", not {name!r}') from None


def _token_bytes(token, token_file):
    if token is not None and token_file is not None:
        raise ValueError("give token= or token_file=, not both")
    if token_file is not None:
        return read_token_file(token_file)
    return token.encode().rstrip() if token else b""


def _default_name():
    program = pathlib.Path(sys.argv[0] or "python").stem
    return re.sub(r"[^A-Za-z0-9_.-]", "_", f"{program or 'python'}-{os.getpid()}")[-64:]


_OPEN = weakref.WeakSet()


def _after_fork():
    for client in list(_OPEN):
        client.connection.after_fork()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _close_all():
    """A commanded force never outlives its sender."""
    for client in list(_OPEN):
        client.close()
