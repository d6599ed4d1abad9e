"""Every number and text that a client may send, at both ends of its range and just beyond (proto/ranges.json): taken there, or refused for
another reason; beyond, refused by name with what is expected. The server goes on.
"""
import json
import math
import socket
import struct

import pytest
import tactus
from conftest import REPOSITORY, RawSession, assert_still_ticking
from tactus import wire
from tactus.errors import RequestError
from tactus.messages import CommandPacket, DevicePacket, ErrorCode, Reply, Request

ROWS = {row["field"]: row for row in json.loads((REPOSITORY / "proto" / "ranges.json").read_text())}
HANDSHAKE = ("hello", "authenticate")
# What a message needs besides the field that is looked at.
SOUND = {"attach_tool": dict(tool="block", device=dict(name="d", axes_sensed=3, rate_hz=1000)), "set_joint_options": dict(options={}),
         "acquire_lease": dict(channels=["body/block/wrench"])}  # fmt: skip
# A field's own end that another rule refuses, and that rule's words.
OTHER_RULES = {"set_shadow.rate_hz": "ticks a second", "attach_tool.device.axes_actuated": "what is driven must be sensed"}


def row_of(field):
    return ROWS.get(f"{field.containing_type.full_name.removeprefix('tactus.v1.')}.{field.name}")


def values(row, field):
    """(at the ends, just beyond)."""
    low, high, kind = row["low"], row["high"], row["kind"]
    if kind in ("name", "text", "bytes"):
        fill = (lambda n: b"x" * int(n)) if kind == "bytes" else (lambda n: "x" * int(n))
        beyond = [fill(high + 1)] if high < 1 << 20 else []  # more is no frame
        beyond += [fill(low - 1)] if low > 1 or (low == 1 and not row["zero"]) else []
        return [fill(low), fill(min(high, 1 << 19))], beyond + (["a b", "\u00e9", "a/b"] if kind == "name" else [])
    if kind == "real":
        double = field.cpp_type == field.CPPTYPE_DOUBLE
        near = (lambda x, to: math.nextafter(x, to)) if double else (lambda x, to: x + math.copysign(0.001 * abs(x), to))
        beyond = [near(low, -math.inf), near(high, math.inf), math.nan, math.inf, -math.inf]
        return [low, high] + [0.0] * bool(row["zero"]), beyond + [-1e300, 1e300] * double + [1e-300] * (low > 0)
    beyond = [int(low) - 1] if low > 1 or (low == 1 and not row["zero"]) else []
    return [int(low), int(high)] + [0] * bool(row["zero"]), beyond + ([int(high) + 1] if high < 2**32 - 1 or high > 2**33 else [])


def paths_of(message, path=()):
    """(path, field, row) of what a request's body holds."""
    for field in message.fields:
        if field.message_type is not None:
            yield from paths_of(field.message_type, (*path, field))
        if (row := row_of(field)) is not None:
            yield (*path, field), field, row


def put(body, path, value):
    """A copy of the body with one field changed; `value` may be a list where the last field is repeated."""
    request = type(body)()
    request.CopyFrom(body)
    at = request
    for field in path[:-1]:
        inner = getattr(at, field.name)
        at = inner.add() if field.label == field.LABEL_REPEATED else inner
    if path[-1].label != path[-1].LABEL_REPEATED:
        setattr(at, path[-1].name, value)
    elif path[-1].message_type is not None:
        for _ in range(value):
            getattr(at, path[-1].name).add()
    else:
        del getattr(at, path[-1].name)[:]
        getattr(at, path[-1].name).extend(value if isinstance(value, list) else [value])
    return request


def key_of(path):
    """As a refusal says it."""
    return ".".join(f.name + ("[0]" if f.label == f.LABEL_REPEATED and (f is not path[-1] and f.message_type) else "") for f in path)


def refusal(raw, name, body):
    """None, or what the server said."""
    try:
        raw.exchange(name, **{field.name: value for field, value in body.ListFields()})
    except RequestError as error:
        return error
    return None


def check_field(raw, name, body, path, field, row):
    """How many values were sent."""
    inside, beyond = ([], []) if row["kind"] in ("any", "rows") else values(row, field)
    if row["kind"] == "rows":
        beyond = [row["most"] + 1]
    elif field.label == field.LABEL_REPEATED:
        beyond.append(["x"] * (row["most"] + 1))
    where, key = f"{name}.{key_of(path)}", key_of(path)
    for value in inside:
        said = refusal(raw, name, put(body, path, value))
        named = said is not None and said.code == ErrorCode.BAD_VALUE and said.text.startswith(f"{key}: found")
        assert not named or OTHER_RULES.get(where, "?") in said.text, f"{where} = {value!r} is in its range: {said}"
    for value in beyond:
        said = refusal(raw, name, put(body, path, value))
        if row["beyond"] == "cut":
            assert said is None or said.code != ErrorCode.BAD_VALUE, f"{where} = {value!r}: {said}"
            continue
        assert said is not None and said.code == ErrorCode.BAD_VALUE, f"{where} = {str(value)[:40]} is beyond its range: {said}"
        assert said.text.startswith(f"{key}: found ") and ", expected " in said.text, f"{where} = {str(value)[:40]}: {said.text}"
    return len(inside) + len(beyond)


@pytest.mark.parametrize("request_field", [f for f in Request.DESCRIPTOR.fields if f.message_type is not None and f.name not in HANDSHAKE], ids=lambda f: f.name)
def test_each_number_of_a_request_at_and_beyond_its_ends(client, raw, request_field):
    fields = list(paths_of(request_field.message_type))
    with client.claim("body/ball/wrench"):  # another's lease goes on
        raw.exchange("acquire_lease", channels=["world"], duration_ms=10_000)
        body = Request(**{request_field.name: SOUND.get(request_field.name, {})})
        body = getattr(body, request_field.name)
        sent = sum(check_field(raw, request_field.name, body, *one) for one in fields)
        assert sent > 0 or all(row["kind"] == "any" for _, _, row in fields)
        assert_still_ticking(client)


def test_what_is_cut_is_told(raw):
    for asked, got in ((60_000, 10_000), (10_000, 10_000), (0, 2000)):
        assert raw.exchange("acquire_lease", channels=["world"], duration_ms=asked).lease.duration_ms == got


PARTS = ("part", "parts")  # of a command over several datagrams: live/verdicts
COLUMNS = {"wrench": 6, "point": 3, "frame": 1, "joint_value": 1, "joint_rate": 1, "joint_mode": 1}  # numbers a row


def test_each_number_of_a_command_at_and_beyond_its_ends(client, raw):
    raw.exchange("acquire_lease", channels=["body/block/wrench"], duration_ms=10_000)
    raw.exchange("subscribe")
    for field in CommandPacket.DESCRIPTOR.fields:
        row = row_of(field)
        if row["kind"] == "any" or row["beyond"] == "cut" or field.name in PARTS:
            continue
        width, joint = COLUMNS[field.name], field.name.startswith("joint")

        def judged(value):
            rows = dict(joint_id=[0], joint_value=[0.0]) if joint else dict(body_id=[1], wrench=[0.0] * 6)
            return raw.verdict(raw.command(CommandPacket(**{"scene_epoch": raw.epoch, **rows, field.name: [value] * width})))

        inside, beyond = values(row, field)
        for value in inside:
            assert judged(value) in ("APPLIED", "CLAMPED", "SUPERSEDED", "REFUSED_UNKNOWN_JOINT"), (field.name, value)
        for value in beyond:
            expected = "REFUSED_OUT_OF_RANGE" if math.isfinite(value) else "REFUSED_NOT_FINITE"
            assert judged(value) == expected, (field.name, value)
    for name, most in (("body_id", 64), ("joint_value", 128)):
        rows = dict(body_id=[1] * (most + 1)) if name == "body_id" else dict(joint_value=[0.0] * (most + 1))
        assert raw.verdict(raw.command(CommandPacket(scene_epoch=raw.epoch, **rows))) in ("REFUSED_OUT_OF_RANGE", "REFUSED_WRONG_COUNT")
    assert raw.verdict(raw.command(CommandPacket(scene_epoch=raw.epoch, body_id=[1], wrench=[1.0] + [0.0] * 5))) == "APPLIED"
    assert_still_ticking(client)


def test_each_number_of_a_device_at_and_beyond_its_ends(client, raw):
    """Its values are judged before its rights: what is in range is refused because no tool is held."""
    raw.exchange("subscribe")
    sound = dict(scene_epoch=raw.epoch, sample=1, pose=[0, 0, 0, 1, 0, 0, 0], velocity=[0] * 6)
    for field in DevicePacket.DESCRIPTOR.fields:
        row = row_of(field)
        if row["kind"] == "any":
            continue

        def judged(value):
            column = {"pose": [value, 0, 0, 1, 0, 0, 0]}.get(field.name, [value] * 6)
            sent = DevicePacket(**{**sound, field.name: column if row["most"] else value})
            raw.send(raw.seal(wire.DEVICE, sent.SerializeToString()))
            return raw.verdict(raw.sequence)

        inside, beyond = values(row, field)
        for value in inside:
            assert judged(value) == "REFUSED_NOT_LEASED", (field.name, value)
        for value in beyond:
            expected = "REFUSED_OUT_OF_RANGE" if math.isfinite(value) else "REFUSED_NOT_FINITE"
            assert judged(value) == expected, (field.name, value)
    assert_still_ticking(client)


def hello(server, **changed):
    """The reply to one Hello."""
    fields = dict(version_major=1, client_name="h", nonce=bytes(32))
    with socket.create_connection(("127.0.0.1", server.port), 5) as tcp:
        tcp.sendall(wire.FrameWriter(b"C").frame(Request(id=1, hello={**fields, **changed}).SerializeToString()))
        (length,) = struct.unpack("<I", tcp.recv(4, socket.MSG_WAITALL))
        return Reply.FromString(tcp.recv(length, socket.MSG_WAITALL))


def test_each_number_of_a_hello_at_and_beyond_its_ends(server):
    refused = {"version_major": ErrorCode.VERSION, "client_name": ErrorCode.BAD_VALUE, "nonce": ErrorCode.BAD_VALUE}
    for field in Request.DESCRIPTOR.fields_by_name["hello"].message_type.fields:
        inside, beyond = values(row_of(field), field) if field.name in refused else ([0, 2**32 - 1], [])
        for value in inside:
            assert not hello(server, **{field.name: value}).HasField("error"), (field.name, value)
        for value in beyond:
            error = hello(server, **{field.name: value}).error
            assert error.code == refused[field.name] and field.name.split("_")[-1] in error.text, (field.name, value, error)
    with server.connect(name="after") as client:
        assert_still_ticking(client)


def test_a_rate_of_nearly_nothing_is_refused(client):
    """Recordings and shadows divide by these: 1e-300 has no step."""
    with client.claim("world"), pytest.raises(tactus.BadValue, match="rate_hz: found 1e-300, expected 1 to 10000, or 0: the server's setting"):
        client.connection.request("set_shadow", model="st", rate_hz=1e-300)
    assert_still_ticking(client)


def test_the_raw_session_refuses_nothing_by_itself(raw):
    """Or all of the above would pass without a server."""
    assert isinstance(raw, RawSession) and refusal(raw, "step", Request(step={"ticks": 2_000_000}).step).code == ErrorCode.BAD_VALUE
