#!/usr/bin/python3
"""Writes the seed corpora and the dictionary of the fuzz targets from proto/golden, config/scenes, config/robots and what live tests sent.
usage: seeds.py FOLDER [RECORDED]     RECORDED: a folder that tests/fuzz/record_seeds has filled"""
import json
import pathlib
import re
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HEADER, MAC = 16, 16


def write(folder, target, name, data):
    path = folder / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def golden_seeds(folder):
    for file in sorted((REPOSITORY / "proto" / "golden").glob("*.json")):
        golden, stem = json.loads(file.read_text()), file.stem
        if golden.get("kind") == "datagram":
            data = bytes.fromhex(golden["bytes"])
            payload = data[HEADER:-MAC]
            write(folder, "datagram", stem, data)
            write(folder, "client", stem, b"\0" + len(payload).to_bytes(2, "little") + payload)
            write(folder, "server", stem, bytes([0x14 + data[3]]) + payload)
        for i, frame in enumerate(golden.get("frames", [])):
            data = bytes.fromhex(frame["bytes"] if isinstance(frame, dict) else frame)
            payload = data[4:-MAC] if len(data) > 4 + MAC else data[4:]
            write(folder, "client", f"{stem}-{i}", b"\3" + data[4:])
            write(folder, "server", f"{stem}-{i}", b"\xff" + payload)
            write(folder, "web", f"{stem}-{i}", b"\xff" + payload)
            write(folder, "server", f"{stem}-{i}-stranger", b"\0" + data)


def request_seeds(folder):
    """Each kind of request, empty and with values."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import Request

    for field in Request.DESCRIPTOR.fields:
        if field.message_type is None:
            continue
        request = Request(id=3)
        body = getattr(request, field.name)
        body.SetInParent()
        write(folder, "server", f"request-{field.name}-empty", b"\xff" + request.SerializeToString())
        for inner in body.DESCRIPTOR.fields:
            value = {inner.TYPE_STRING: "block", inner.TYPE_BYTES: b"state"}.get(inner.type, 5)
            if inner.message_type is None:
                getattr(body, inner.name).append(value) if inner.label == inner.LABEL_REPEATED else setattr(body, inner.name, value)
        for target in ("server", "web"):
            write(folder, target, f"request-{field.name}", b"\xff" + request.SerializeToString())


TALK_MESSAGES, TALK_BYTES = 24, 12_000


def sent_messages(data):
    """(door, message) of a file that record_seeds left. Epochs, leases and subscriptions become 1: the target takes it for the present one."""
    from tactus.messages import CommandPacket, DevicePacket, GrantPacket, Ping, Request

    kinds, at = {255: Request, 2: CommandPacket, 8: DevicePacket, 5: GrantPacket, 3: Ping}, 0
    while at + 5 <= len(data):
        door, length = data[at], int.from_bytes(data[at + 1 : at + 5], "little")
        message = kinds[door].FromString(data[at + 5 : at + 5 + length])
        at += 5 + length
        body = getattr(message, message.WhichOneof("body")) if door == 255 and message.WhichOneof("body") else message
        if door == 255 and message.WhichOneof("body") in ("hello", "authenticate"):
            continue
        if hasattr(body, "DESCRIPTOR") and "scene_epoch" in body.DESCRIPTOR.fields_by_name:
            body.scene_epoch = 1
        if door == 255 and message.WhichOneof("body") in ("renew_lease", "release_lease"):
            body.lease = 1
        if door == 255 and message.WhichOneof("body") == "unsubscribe":
            body.id = 1
        if door == 255 and message.WhichOneof("body") == "load_scene":
            body.name = "session"
        yield door, message


def kind_of(door, message):
    """What makes a message of a sequence another one than its neighbour."""
    body = getattr(message, message.WhichOneof("body")) if door == 255 and message.WhichOneof("body") else message
    fields = [f.name for f, _ in body.ListFields()] if hasattr(body, "ListFields") else []
    return (door, message.WhichOneof("body") if door == 255 else "", *fields)


def talk_seeds(folder, recorded):
    """Sessions in pieces, each kind of piece once: of messages of one kind that follow each other, two are kept."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import Request

    seen = set()

    def put(talk):
        key = tuple(kind for _, kind in talk)
        if key and key not in seen and not seen.add(key):
            write(folder, "session", f"talk-{len(seen)}", b"".join(data for data, _ in talk))

    def piece(door, message):
        payload = message.SerializeToString()
        return bytes([door]) + len(payload).to_bytes(4, "little") + payload, kind_of(door, message)

    for field in Request.DESCRIPTOR.fields:  # each request alone: what no live test sends is there as well
        if field.message_type is not None and field.name not in ("hello", "authenticate"):
            request = Request(id=9)
            body = getattr(request, field.name)
            body.SetInParent()
            if "scene_epoch" in body.DESCRIPTOR.fields_by_name:
                body.scene_epoch = 1
            put([piece(255, request)])
    free_run = piece(255, Request(id=8, set_lockstep={"on": False}))
    for file in sorted(recorded.glob("*.sent")) if recorded else []:
        talk, size, lockstep = [free_run], 0, False  # the target's world stands in lockstep
        for door, message in sent_messages(file.read_bytes()):
            one = piece(door, message)
            if door == 255 and message.WhichOneof("body") == "set_lockstep":
                lockstep = message.set_lockstep.on
            if len(talk) > 1 and talk[-1][1] == talk[-2][1] == one[1] or len(one[0]) > TALK_BYTES:
                continue
            if len(talk) == TALK_MESSAGES or size + len(one[0]) > TALK_BYTES:
                put(talk)
                talk, size = [] if lockstep else [free_run], 0
            talk.append(one)
            size += len(one[0])
        put(talk)
    return len(seen)


def restore_seeds(folder):
    """Each model in each scene with one number changed in each way."""
    for scene in range(32):
        for model in (*range(7), 2 | 1 << 7):  # lcp with its exact stepper, too
            for how, number in enumerate((0, 9, 41, 130)):
                write(folder, "restore", f"{scene}-{model}-{how}", bytes([scene, model, number, 0, how, 40 + 30 * how]))


def mcap_of(records):
    """An MCAP file as the format's specification has it: one chunk that is not packed, one channel a kind, no summary, no sums."""
    u16, u32, u64 = (lambda x, n=n: x.to_bytes(n, "little") for n in (2, 4, 8))
    text = lambda s: u32(len(s)) + s.encode()  # noqa: E731
    block = lambda op, content: bytes([op]) + u64(len(content)) + content  # noqa: E731
    chunk, start = b"", 1_790_000_000_000_000_000
    for i, (field, body) in enumerate(records):
        chunk += block(3, u16(i + 1) + text(field.message_type.full_name) + text("protobuf") + u32(0))
        chunk += block(4, u16(i) + u16(i + 1) + text(f"tactus/{field.name}") + text("protobuf") + u32(0))
        chunk += block(5, u16(i) + u32(0) + u64(start + i) + u64(start + i) + body)
    magic = b"\x89MCAP0\r\n"
    out = magic + block(1, text("") + text("seed"))
    out += block(6, u64(start) + u64(start + len(records)) + u64(len(chunk)) + u32(0) + text("") + u64(len(chunk)) + chunk)
    return out + block(15, u32(0)) + block(2, u64(0) + u64(0) + u32(0)) + magic, chunk


def record_seeds(folder):
    """A small recording, whole, cut, what its chunk holds, and each of its records alone."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import Record

    records = []
    for i, field in enumerate(f for f in Record.DESCRIPTOR.fields if f.message_type is not None):
        record = Record()
        getattr(record, field.name).SetInParent()
        if field.name == "state":
            record.state.tick, record.state.body_id[:] = 7, [0]
            record.state.pose[:], record.state.velocity[:] = [0, 0, 1, 1, 0, 0, 0], [0] * 6
        write(folder, "record", f"alone-{i}", record.SerializeToString())
        records.append((field, getattr(record, field.name).SerializeToString()))
    whole, chunk = mcap_of(records)
    write(folder, "record", "whole", whole)
    write(folder, "record", "cut", whole[:-60])
    write(folder, "record", "chunk", chunk)


def replay_seeds(folder):
    """Records as a run leaves them: commands, rows of joints, marks of what was done, states; and each kind alone."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import Record

    mark = Record.DESCRIPTOR.fields_by_name["mark"].message_type
    kinds = {v.name: v.number for v in mark.fields_by_name["kind"].enum_type.values}
    records = [Record(wrench={"tick": 1, "body_id": 1, "wrench": [1, 0, 0, 0, 0, 0]}), Record(hash={"tick": 3, "hash": 5}),
               Record(joint_input={"tick": 1, "kind": 1, "joint_id": 0, "mode": 1, "value": 1, "ticks": 5}), Record(state={"tick": 2, "scene_epoch": 7}),
               Record(joint={"tick": 2, "joint_id": 0, "mode": 1, "value": 1}), Record(operation={"tick": 2, "ticket": 4, "what": "set_parameter", "text": "alpha=0.2"})]  # fmt: skip
    for name, number in kinds.items():
        for what in ("", "reset", "restore", "snapshot", "set_parameter"):
            if what and name != "OPERATION":
                continue
            for model, ticks in (("penalty", 0), ("st", 10), ("lcp", 0)):
                records.append(Record(mark={"kind": number, "tick": 2, "ok": True, "what": what, "ticket": 4, "model": model, "slow_ticks": ticks}))
    piece = lambda r: len(r.SerializeToString()).to_bytes(2, "little") + r.SerializeToString()  # noqa: E731
    for i, record in enumerate(records):
        for first in (1, 3):
            write(folder, "replay", f"alone-{i}-{first}", bytes([first]) + piece(record))
    for i in range(0, len(records), 4):
        write(folder, "replay", f"some-{i}", b"\1" + b"".join(map(piece, records[i:] + records[:i])))
    keyframe = Record(keyframe={"tick": 3, "state": bytes(200), "ticket": 4, "solver": {"model": "st", "slow_ticks": 10, "begun": True, "asked": bytes(80)}})
    write(folder, "replay", "keyframe", b"\0" + piece(keyframe))
    write(folder, "replay", "keyframe-restored", b"\1" + piece(records[-1]) + piece(keyframe))


def foxglove_seeds(folder):
    """What a viewer sends, alone and as a conversation; the server's part of it."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import Reply, StatePacket

    texts = [{"op": "subscribe", "subscriptions": [{"id": n, "channelId": n + 1} for n in range(7)]}, {"op": "unsubscribe", "subscriptionIds": [1, 2]},
             {"op": "getParameters", "parameterNames": [], "id": "a"}, {"op": "setParameters", "parameters": [{"name": "paused", "value": True}], "id": "b"},
             {"op": "setParameters", "parameters": [{"name": "playback.position_s", "value": 1.5}, {"name": "alpha", "value": "0.1"}]},
             {"op": "subscribeParameterUpdates", "parameterNames": ["alpha"]}, {"op": "fetchAsset", "uri": "package://tactus/00000007/0/0.stl", "requestId": 3}]  # fmt: skip
    texts = [json.dumps(text, separators=(",", ":")).encode() for text in texts]
    control = b"\x03\x00" + b"\0\0\x80\x3f" + b"\x01" + (1_790_000_001_000_000_000).to_bytes(8, "little") + b"\x02\0\0\0id"
    state = StatePacket(scene_epoch=7, tick=5, parts=1, sim_time_s=0.005, subscription=9, body_id=[0], pose_f=[0, 0, 1, 1, 0, 0, 0]).SerializeToString()
    replies = [Reply(id=4, subscription={"id": 9}), Reply(state=state), Reply(event={"kind": 7, "tick": 3, "text": "seek"}), Reply(id=5, lease={"lease": 4})]
    for i, text in enumerate([*texts, control]):
        write(folder, "foxglove", f"alone-{i}", text)
    piece = lambda who, data: bytes([who, len(data)]) + data  # noqa: E731
    talk = b"".join(piece(0, text) for text in texts if len(text) < 256) + piece(1, control) + piece(3, b"")
    talk += b"".join(piece(2, reply.SerializeToString()) for reply in replies) + piece(3, b"")
    write(folder, "foxglove", "talk-live", b"\0" + talk)
    write(folder, "foxglove", "talk-plays", b"\1" + talk)


def scene_seeds(folder):
    words = set()
    for file in sorted((REPOSITORY / "config" / "scenes").glob("*.toml")):
        write(folder, "scene", file.stem, file.read_bytes())
        words |= set(re.findall(r"[a-z_][a-z_0-9]{2,}", file.read_text()))
    for file in sorted((REPOSITORY / "config" / "robots").glob("*.urdf")):
        write(folder, "urdf", file.stem, file.read_bytes())
    words |= set(re.findall(r"`([a-z_][a-z_0-9]{2,})`", (REPOSITORY / "config" / "README.md").read_text()))
    lines = [f'"{word}"' for word in sorted(words)] + ['"[[body]]"', '"[[body.shape]]"', '"[[generate]]"', '"nan"', '"inf"', '"-1e308"', '"\\"$n\\""']
    (folder / "scene.dict").write_text("\n".join(lines) + "\n")


def web_seeds(folder):
    """HTTP as it should be, raw WebSocket frames, requests and a command in frames."""
    sys.path.insert(0, str(REPOSITORY / "clients" / "python"))
    from tactus.messages import CommandPacket, Request

    for number, head in enumerate((b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"HEAD /a.js HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n",
                                   b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", b"GET /../x HTTP/1.0\r\nIf-None-Match: \"1\"\r\n\r\n")):  # fmt: skip
        write(folder, "web", f"http-{number}", b"\0" + head)
    hello = Request(id=1, hello={"version_major": 1, "client_name": "fuzz", "nonce": bytes(32)}).SerializeToString()
    write(folder, "web", "hello", b"\x90" + hello)
    push = CommandPacket(scene_epoch=7, deadline_us=50_000, body_id=[1], wrench=[1, 0, 0, 0, 0, 0]).SerializeToString()
    write(folder, "web", "push", b"\xff" + Request(id=3, command=push).SerializeToString())
    for number, frame in enumerate((b"\x82\x83\0\0\0\0abc", b"\x02\x81\0\0\0\0a\x80\x81\0\0\0\0b", b"\x89\x80\0\0\0\0", b"\x88\x82\0\0\0\0\x03\xe8")):
        write(folder, "web", f"frames-{number}", b"\x50" + frame)


def main():
    folder = pathlib.Path(sys.argv[1])
    golden_seeds(folder)
    request_seeds(folder)
    record_seeds(folder)
    replay_seeds(folder)
    foxglove_seeds(folder)
    scene_seeds(folder)
    web_seeds(folder)
    restore_seeds(folder)
    recorded = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    print(f"session: {talk_seeds(folder, recorded)} seeds", file=sys.stderr)


if __name__ == "__main__":
    main()
