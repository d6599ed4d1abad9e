"""Message classes and enumerations of package tactus.v1, built from the schema in _schema.py.

`messages.Request`, `messages.StatePacket` and so on are ordinary protobuf classes; the fields are documented in proto/*.proto.
They live in a descriptor pool of their own, so that they never collide with modules that a user generated from the same files.
"""
import base64
import enum

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ModuleNotFoundError as e:
    if e.name not in ("google", "google.protobuf"):
        raise
    raise ModuleNotFoundError(
        "tactus needs Protocol Buffers for Python: `apt install python3-protobuf` (Debian) or `pip install protobuf`",
        name=e.name,
    ) from e

from . import _schema


def _build_pool():
    pool = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(_schema.DESCRIPTOR_SET_BASE64))
    for file in files.file:
        pool.Add(file)
    return pool


_POOL = _build_pool()


def _message_class(name):
    descriptor = _POOL.FindMessageTypeByName(f"tactus.v1.{name}")
    if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22 and later
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_POOL).GetPrototype(descriptor)


def _enum_class(name, prefix, full_name):
    values = _POOL.FindEnumTypeByName(f"tactus.v1.{full_name}").values
    return enum.IntEnum(name, {value.name.removeprefix(prefix): value.number for value in values})


StatePacket = _message_class("StatePacket")
ShadowPacket = _message_class("ShadowPacket")
CommandPacket = _message_class("CommandPacket")
GrantPacket = _message_class("GrantPacket")
ToolPacket = _message_class("ToolPacket")
DevicePacket = _message_class("DevicePacket")
GrantedPacket = _message_class("GrantedPacket")
VerdictPacket = _message_class("VerdictPacket")
ChallengePacket = _message_class("ChallengePacket")
Ping = _message_class("Ping")
Pong = _message_class("Pong")
Request = _message_class("Request")
Reply = _message_class("Reply")
SceneDescription = _message_class("SceneDescription")
Statistics = _message_class("Statistics")
Record = _message_class("Record")
LinkFaultsReply = _message_class("LinkFaultsReply")
LinkQuality = _message_class("LinkQuality")

VerdictCode = _enum_class("VerdictCode", "VERDICT_", "VerdictCode")
ErrorCode = _enum_class("ErrorCode", "ERROR_", "ErrorCode")
WrenchFrame = _enum_class("WrenchFrame", "WRENCH_", "WrenchFrame")
JointMode = _enum_class("JointMode", "JOINT_", "JointMode")
LinkCause = _enum_class("LinkCause", "LINK_CAUSE_", "LinkCause")
EventKind = _enum_class("EventKind", "", "Event.Kind")
_STATUS_VALUES = _POOL.FindEnumTypeByName("tactus.v1.StatusBit").values
Status = enum.IntFlag("Status", {v.name.removeprefix("STATUS_"): v.number for v in _STATUS_VALUES if v.number})


_JOINT_BITS = _POOL.FindEnumTypeByName("tactus.v1.JointBit").values
JointBit = enum.IntFlag("JointBit", {v.name.removeprefix("JOINT_"): v.number for v in _JOINT_BITS if v.number})


def verdict_name(code: int) -> str:
    """The code's name without its prefix, for example "APPLIED"; a code of a newer server is shown as "CODE_42". No code of the server:
    "LOST", the link lost the command or its verdict."""
    if code == 0:
        return "LOST"
    try:
        return VerdictCode(code).name
    except ValueError:
        return f"CODE_{code}"
