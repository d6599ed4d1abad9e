"""Robots: what they are (Scene.robots), how they are (State.robot()), and what can be asked of their joints."""
import math
from typing import NamedTuple

from .messages import JointBit, JointMode

try:
    import numpy
except ImportError:  # columns become tuples
    numpy = None

JOINT_WIDTH, SENSOR_WIDTH, END_EFFECTOR_WIDTH, JACOBIAN_WIDTH = 4, 6, 19, 6


class Joint(NamedTuple):
    """A joint of one coordinate. `description` holds its limits, gains and options as in control.proto's JointDescription."""

    id: int
    name: str  # robot/joint
    commanded: bool
    lower: float  # [rad or m]
    upper: float
    effort_limit: float  # [N m or N]
    velocity_limit: float  # [rad/s or m/s]
    description: object


class Robot:
    """A robot of the scene; `robot.joints` are the commanded ones, in the order of every command and every array of RobotState."""

    def __init__(self, description):
        self.description = description  # RobotDescription, see control.proto
        self.id, self.name = description.id, description.name
        one = [j for j in description.joints if j.kind in ("revolute", "continuous", "prismatic")]
        self.all_joints = [
            Joint(j.id, j.name, j.commanded, j.lower, j.upper, j.effort_limit, j.velocity_limit, j) for j in one
        ]  # with mimics
        self.joints = [j for j in self.all_joints if j.commanded]
        self.sensors = {s.name: s for s in description.sensors}
        self.links = {link.name: link for link in description.links}

    @property
    def channel(self) -> str:
        """The lease of all its commanded joints."""
        return f"joint/{self.name}/*"

    def joint(self, name: str) -> Joint:
        """A joint by its name, with or without the robot's."""
        for joint in self.all_joints:
            if name in (joint.name, joint.name.removeprefix(self.name + "/")):
                return joint
        raise KeyError(f"no joint {name!r} in robot {self.name!r}; it has: {', '.join(j.name for j in self.all_joints)}")

    def __repr__(self):
        return f"<Robot {self.name!r} joints={[j.name for j in self.joints]}>"


class Effort(NamedTuple):
    """A torque [N m] or force [N] of a joint's drive."""

    value: float
    rate: float = 0.0
    mode: int = int(JointMode.EFFORT)


class Velocity(NamedTuple):
    """A rate [rad/s or m/s]: the drive gives kd (value - dq)."""

    value: float
    rate: float = 0.0
    mode: int = int(JointMode.VELOCITY)


class Position(NamedTuple):
    """A position [rad or m] and the rate at which it moves [rad/s or m/s]: the drive gives kp (value - q) + kd (rate - dq)."""

    value: float
    rate: float = 0.0
    mode: int = int(JointMode.POSITION)


class RobotCommand(NamedTuple):
    """One value for each of Robot.joints; give one of effort, velocity and position. `rate` belongs to position."""

    effort: object = None
    velocity: object = None
    position: object = None
    rate: object = None

    def fill(self, packet, robot: Robot) -> None:
        """Writes the joint rows of a CommandPacket."""
        given = [(m, v) for m, v in zip((JointMode.EFFORT, JointMode.VELOCITY, JointMode.POSITION), self[:3]) if v is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of effort=, velocity= and position=")
        mode, values = given[0]
        packet.robot = robot.id + 1
        packet.joint_mode.append(mode)
        packet.joint_value.extend(_numbers(values, len(robot.joints), f"{mode.name.lower()} of {robot.name}"))
        if self.rate is not None:
            packet.joint_rate.extend(_numbers(self.rate, len(robot.joints), f"rate of {robot.name}"))


def fill_joints(packet, joints: dict, scene) -> None:
    """Writes the joint rows of a CommandPacket: {"arm/elbow": Effort(3.0)}."""
    for name, wish in joints.items():
        packet.joint_id.append(scene.joint(name).id)
        packet.joint_mode.append(wish.mode)
        packet.joint_value.append(_numbers([wish.value], 1, name)[0])
        packet.joint_rate.append(_numbers([wish.rate], 1, name)[0])


class EndEffectorState(NamedTuple):
    """The frame E of a link, in the world frame W."""

    p_WE: tuple  # [m]
    q_WE: tuple  # (w, x, y, z)
    v_WE: tuple  # [m/s]
    w_WE: tuple  # [rad/s]
    force_W: tuple  # all that touched its body but its joints, mean over the tick [N]
    torque_W: tuple  # the same about E [N m]


class RobotState:
    """A robot in one state. Arrays (numpy where installed) follow Robot.joints."""

    def __init__(self, robot: Robot, packets):
        self.robot = robot
        self._packets = packets
        rows = {}
        for packet in packets:
            values = packet.joint or packet.joint_f
            for row, joint in enumerate(packet.joint_id):
                rows[joint] = (values[JOINT_WIDTH * row : JOINT_WIDTH * (row + 1)], packet.joint_bits[row], packet.joint_missed[row])
        try:
            mine = [rows[joint.id] for joint in robot.joints]
        except KeyError:
            raise KeyError(f"the joints of {robot.name!r} are not in this state: subscribe(joints=[{robot.name!r}])") from None
        table = [row[0] for row in mine]
        if numpy is not None:
            self._table = numpy.array(table, numpy.float64).reshape(-1, JOINT_WIDTH)
        else:
            self._table = tuple(map(tuple, table))
        self.bits = [JointBit(row[1]) for row in mine]
        self.missed = [row[2] for row in mine]  # ticks without a fresh command, since the scene was loaded

    def _column(self, i):
        return self._table[:, i] if numpy is not None else tuple(row[i] for row in self._table)

    @property
    def q(self):
        """[rad or m]"""
        return self._column(0)

    @property
    def dq(self):
        """[rad/s or m/s]"""
        return self._column(1)

    @property
    def effort(self):
        """What the drives gave, mean over the tick [N m or N]."""
        return self._column(2)

    @property
    def external_effort(self):
        """J^T F of contacts, impacts and applied forces, mean over the tick [N m or N]."""
        return self._column(3)

    @property
    def fault(self) -> bool:
        """Latched: the robot takes commands again after Client.recover()."""
        return any(bits & JointBit.FAULT for bits in self.bits)

    def sensor(self, name: str) -> tuple:
        """The reading of a sensor, with or without the robot's name: see control.proto's SensorDescription."""
        full = name if name in self.robot.sensors else f"{self.robot.name}/{name}"
        wanted = self.robot.sensors[full]
        for packet in self._packets:
            values = packet.sensor or packet.sensor_f
            for row, sensor in enumerate(packet.sensor_id):
                if sensor == wanted.id:
                    return tuple(values[SENSOR_WIDTH * row : SENSOR_WIDTH * row + wanted.values])
        raise KeyError(f"sensor {full!r} is not in this state: subscribe(sensors=[{full!r}])")

    def end_effector(self, link: str) -> EndEffectorState:
        wanted = self._link(link)
        for packet in self._packets:
            for row, frame in enumerate(packet.end_effector_id):
                if frame == wanted.id:
                    v = packet.end_effector[END_EFFECTOR_WIDTH * row : END_EFFECTOR_WIDTH * (row + 1)]
                    return EndEffectorState(*(tuple(v[a:b]) for a, b in ((0, 3), (3, 7), (7, 10), (10, 13), (13, 16), (16, 19))))
        raise KeyError(f"link {link!r} is not in this state: subscribe(end_effectors=[{wanted.name!r}])")

    def jacobian(self, link: str):
        """6 x n: v_WE, w_WE = J dq, for the commanded joints. Needs subscribe(end_effectors=..., jacobian=True)."""
        wanted = self._link(link)
        column_of = {j.description.dof: i for i, j in enumerate(self.robot.joints)}
        out = [[0.0] * len(column_of) for _ in range(JACOBIAN_WIDTH)]
        for packet in self._packets:
            for row, (frame, dof) in enumerate(zip(packet.jacobian_end_effector, packet.jacobian_dof)):
                if frame != wanted.id or dof not in column_of:
                    continue
                for k in range(JACOBIAN_WIDTH):
                    out[k][column_of[dof]] = packet.jacobian[JACOBIAN_WIDTH * row + k]
        return out if numpy is None else numpy.array(out)

    def _link(self, link):
        full = link if link in self.robot.links else f"{self.robot.name}/{link}"
        try:
            return self.robot.links[full]
        except KeyError:
            raise KeyError(f"no link {link!r} in robot {self.robot.name!r}; it has: {', '.join(self.robot.links)}") from None


def _numbers(values, count, what):
    numbers = [float(v) for v in values]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{what}: expected {count} finite numbers, found {values!r}")
    return numbers
