"""Commands of more rows than one datagram holds: split into parts that the server applies together, or not at all."""
from . import wire
from .messages import CommandPacket

SENDER_BYTES = 9 + 10 + 6 + 6 + 10  # client_send_ns, client_recv_ns, states_received, states_lost, verdicts_received


def split_command(packet) -> list:
    """The packet alone when it fits a datagram, else its parts in order. Raises ValueError when there would be too many."""
    if _fits(packet, SENDER_BYTES):
        return [packet]
    wrenches, joints = len(packet.body_id), len(packet.joint_id)
    for parts in range(2, wire.COMMAND_PARTS_MAX + 1):
        out = [_part(packet, i, parts, wrenches, joints) for i in range(parts)]
        if all(_fits(p, SENDER_BYTES) for p in out):
            return out
    found = f"{wrenches} wrenches and {joints} joint rows are {packet.ByteSize() + SENDER_BYTES} bytes"
    raise ValueError(
        f"{found}; a command holds at most {wire.COMMAND_PARTS_MAX} datagrams of {wire.PAYLOAD_MAX} bytes, each about 25 wrenches without "
        "points: send several commands"
    )


def _fits(packet, more):
    rows = len(packet.body_id) <= wire.COMMAND_ROWS_MAX and len(packet.joint_id) <= wire.JOINT_ROWS_MAX
    return rows and packet.ByteSize() + more <= wire.PAYLOAD_MAX


def _part(packet, index, parts, wrenches, joints):
    out = CommandPacket(scene_epoch=packet.scene_epoch, deadline_us=packet.deadline_us, expected_tick=packet.expected_tick)
    out.part, out.parts = index, parts
    first, last = wrenches * index // parts, wrenches * (index + 1) // parts
    out.body_id.extend(packet.body_id[first:last])
    out.wrench.extend(packet.wrench[6 * first : 6 * last])
    out.frame.extend(packet.frame[first:last])
    out.point.extend(packet.point[3 * first : 3 * last])
    first, last = joints * index // parts, joints * (index + 1) // parts
    for column in ("joint_id", "joint_mode", "joint_value", "joint_rate"):
        getattr(out, column).extend(getattr(packet, column)[first:last])
    return out
