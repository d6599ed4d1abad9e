"""Client of Tactus, a 1 kHz rigid-contact server: see states, push bodies, control, run in lockstep.

    import tactus
    with tactus.connect("127.0.0.1") as c:
        print(c.scene)
        c.push("block", force=(5, 0, 0), deadline_s=0.2)
"""
from . import record
from .client import Client, Command, LinkStatistics, Wrench, connect
from .control import STOP, ControlReport
from .errors import (
    AuthenticationError,
    BadScene,
    BadValue,
    ConnectError,
    Full,
    LeasedByOther,
    LinkLost,
    NotArmed,
    NotFound,
    NotLeased,
    ProtocolError,
    ReadOnly,
    RequestError,
    ServerFull,
    StaleEpoch,
    StoodStill,
    TactusError,
    TimedOut,
    TokenFileError,
    UsedAfterFork,
    VersionMismatch,
    WrongState,
)
from .leases import Lease
from .lockstep import Lockstep, LockstepError
from .messages import ErrorCode, EventKind, JointBit, JointMode, LinkCause, Status, VerdictCode, WrenchFrame
from .robot import Effort, EndEffectorState, Joint, Position, Robot, RobotCommand, RobotState, Velocity
from .scene import Body, Event, LeaseEntry, Scene, Snapshot
from .state import BodyState, Contact, State, Verdict
from .subscription import Subscription

__version__ = "0.1.0"
