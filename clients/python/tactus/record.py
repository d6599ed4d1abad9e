"""Recordings: what a server's black box wrote, or tactusd --record (proto/record.proto).

    recording = tactus.record.read("20261122T134501Z-default-fault.mcap")
    print(recording.summary())
    recording.states[-1]["ball"].p_WB
"""
import collections
import csv
import pathlib
from typing import NamedTuple

from . import mcap
from .messages import JointBit, Record, verdict_name
from .state import State

TOPIC_PREFIX = "tactus/"
KINDS = ("wrench", "hash", "state", "command", "verdict", "operation", "keyframe", "event", "mark", "joint_input", "joint", "injected")
CSV_COLUMNS = (
    "tick", "sim_time_s", "body", "p_x_m", "p_y_m", "p_z_m", "q_w", "q_x", "q_y", "q_z",
    "v_x_m_per_s", "v_y_m_per_s", "v_z_m_per_s", "w_x_rad_per_s", "w_y_rad_per_s", "w_z_rad_per_s",
    "force_x_n", "force_y_n", "force_z_n", "torque_x_n_m", "torque_y_n_m", "torque_z_n_m",
)  # fmt: skip


class NotARecording(ValueError):
    """The file does not begin like a recording of Tactus."""


class Judged(NamedTuple):
    """One command: who sent it, what it held, and what became of it."""

    client: str
    sequence: int
    packet: object  # CommandPacket; None when it is not in the recording
    verdict: str  # name; None when none was given (yet)
    tick: int  # applied or judged at
    age_us: int


class JointSample(NamedTuple):
    """One joint in one state: SI units (rad or m)."""

    tick: int
    q: float
    dq: float
    effort: float  # that the drive gave, mean over the tick
    external_effort: float
    bits: JointBit


def input_kind(joint_input) -> str:
    """"COMMAND", "RELEASE", "OPTIONS", "RECOVER" or "TIME"."""
    return type(joint_input).Kind.Name(joint_input.kind)


class Recording:
    """All that could be read. `damage` says where the rest was lost, and is None when the file is whole."""

    def __init__(self, header):
        self.header = header
        self.bodies = list(header.bodies)
        self.joint_names = list(header.joints)  # by id; "" has no columns
        self.end = None  # RecordEnd; None when the file was cut off
        self.damage = None
        self.states = []  # State, in order; state["block"].p_WB
        self._of_kind = {kind: [] for kind in KINDS}

    wrenches = property(lambda self: self._of_kind["wrench"], doc="AppliedWrench: what acted, each tick")
    hashes = property(lambda self: self._of_kind["hash"], doc="StateHash")
    operations = property(lambda self: self._of_kind["operation"], doc="WorldOperation: reset, set_model ...")
    keyframes = property(lambda self: self._of_kind["keyframe"], doc="Keyframe: whole states, as World::serialise() writes them")
    events = property(lambda self: self._of_kind["event"], doc="Event")
    marks = property(lambda self: self._of_kind["mark"], doc="TickMark")
    joint_inputs = property(lambda self: self._of_kind["joint_input"], doc="JointInput: what the tick gave to joints, as asked for")
    joints = property(lambda self: self._of_kind["joint"], doc="AppliedJoint: what acted on joints, each tick, after policies and limits")
    injected = property(lambda self: self._of_kind["injected"], doc="InjectedFault: what links with faults on purpose did")
    packets = property(lambda self: self._of_kind["command"], doc="ReceivedCommand: as they came")
    verdicts = property(lambda self: self._of_kind["verdict"], doc="GivenVerdict")

    def add(self, record) -> None:
        kind = record.WhichOneof("body")
        if kind == "end":
            self.end = record.end
        elif kind in self._of_kind:
            message = getattr(record, kind)
            self._of_kind[kind].append(message)
            if kind == "state":
                self.states.append(State([message], 0, dict(enumerate(self.bodies))))

    def name(self, body_id: int) -> str:
        return self.bodies[body_id] if body_id < len(self.bodies) else f"#{body_id}"

    def joint(self, name: str) -> list:
        """A joint ("arm/elbow") in each state: [JointSample]."""
        if not name or name not in self.joint_names:
            raise KeyError(f"no joint {name!r} in this recording; there are: {', '.join(n for n in self.joint_names if n) or 'none'}")
        row = self.joint_names.index(name)
        return [
            JointSample(p.tick, *p.joint[4 * row : 4 * row + 4], JointBit(p.joint_bits[row]))
            for p in self._of_kind["state"]
            if row < len(p.joint_id)
        ]

    def commands(self) -> list:
        """Each command with its verdict, in the order in which they came: [Judged]."""
        given = {}
        for v in self.verdicts:
            given.setdefault((v.client, v.sequence), v)  # that it was held later, for want of a newer one, comes after
        out = [self._judged(c.client, c.sequence, c, given.pop((c.client, c.sequence), None)) for c in self.packets]
        return [self._judged(v.client, v.sequence, None, v) for v in given.values()] + out

    @staticmethod
    def _judged(client, sequence, command, verdict):
        packet = command.packet if command is not None and command.HasField("packet") else None
        if verdict is None:
            return Judged(client, sequence, packet, None, 0, 0)
        return Judged(client, sequence, packet, verdict_name(verdict.code), verdict.tick, verdict.age_us)

    def summary(self) -> str:
        """A few lines for people."""
        header = self.header
        lines = [
            f"scene {header.scene_name} (epoch {header.scene_epoch}), model {header.model}, step {header.step_s} s, {len(self.bodies)} bodies",
            f"written by {header.build}: {header.reason}",
        ]
        if self.states:
            first, last = self.states[0], self.states[-1]
            every = f", every {header.state_every} ticks" if header.state_every > 1 else ""
            lines.append(f"{len(self.states)} states{every}: tick {first.tick} ({first.sim_time_s:.3f} s) to {last.tick} ({last.sim_time_s:.3f} s)")
        counts = collections.Counter(verdict_name(v.code) for v in self.verdicts)
        lines.append("verdicts: " + (", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"))
        lines += [f"tick {o.tick}: {o.what} {o.text} by {o.client}" for o in self.operations]
        lines += [f"tick {m.tick}: {type(m).Kind.Name(m.kind)}" for m in self.marks if type(m).Kind.Name(m.kind) in ("BODY_FROZEN", "FAULT")]
        if self.end is not None and (self.end.states_lost or self.end.rows_lost or self.end.bytes_overtaken):
            lines.append(f"lost: {self.end.states_lost} states, {self.end.rows_lost} rows, {self.end.bytes_overtaken} bytes while writing")
        lines.append(f"damaged: {self.damage}" if self.damage else "complete")
        return "\n".join(lines)

    def write_csv(self, file) -> int:
        """One row per state and body, with what was commanded in that tick. Returns the number of rows."""
        applied = {(w.tick, w.body_id): w.wrench for w in self.wrenches}
        writer = csv.writer(file)
        writer.writerow(CSV_COLUMNS)
        rows = 0
        for state in self.states:
            for body_id in state.body_id:
                body = state[int(body_id)]
                acted = applied.get((state.tick, int(body_id)), (0.0,) * 6)
                writer.writerow([state.tick, state.sim_time_s, body.name, *body.p_WB, *body.q_WB, *body.v_WB, *body.w_WB, *acted])
                rows += 1
        return rows


def read(file) -> Recording:
    """Reads a recording, up to its end or its first damage. Raises NotARecording when it is none, OSError when there is no file."""
    recording = None
    try:
        for message in mcap.messages(pathlib.Path(file).read_bytes()):
            record = _record_of(message)
            if record is None:
                continue
            if recording is None:
                if not record.HasField("header"):
                    raise NotARecording(f"{file}: not a recording of Tactus: it does not begin with a header")
                recording = Recording(record.header)
            else:
                recording.add(record)
    except mcap.Damage as damage:
        if recording is None:
            raise NotARecording(f"{file}: not a recording of Tactus: {damage}") from None
        recording.damage = str(damage)
    if recording is None:
        raise NotARecording(f"{file}: not a recording of Tactus: an MCAP file without channel {TOPIC_PREFIX}header")
    return recording


def _record_of(message):
    """Record of a message; None: it is another's."""
    kind = message.topic.removeprefix(TOPIC_PREFIX)
    field = Record.DESCRIPTOR.fields_by_name.get(kind)
    if kind == message.topic or field is None or field.message_type is None or field.message_type.full_name != message.schema:
        return None
    record = Record()
    try:
        getattr(record, kind).ParseFromString(message.data)
    except Exception as error:  # protobuf's DecodeError is no ValueError
        raise mcap.Damage(f"a message of {message.topic} that does not decode: {error}") from None
    getattr(record, kind).SetInParent()
    return record
