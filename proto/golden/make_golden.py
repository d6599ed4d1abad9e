#!/usr/bin/env python3
"""Writes the golden packets: one JSON file each, with the bytes on the wire (hex) and what they mean (proto3 JSON: 64-bit integers as
text, field names as in the .proto files). Every client decodes them in its tests: Python in clients/python/tests/test_golden.py, C++ in
tests/unit/proto/golden_packets_test.cc.

Framing and keys are written out here from proto/README.md and RFC 5869, not taken from a client. Run it only when the wire changes:
a changed golden packet is a changed wire, and has a line in proto/README.md's table of versions.
"""
import hashlib
import hmac
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "clients" / "python"))

from google.protobuf import json_format  # noqa: E402

from tactus import messages as m  # noqa: E402

TOKEN = b"correct horse battery staple"
NONCE_CLIENT = bytes(range(32))
NONCE_SERVER = bytes(range(128, 160))
KEY = bytes((7 * i + 3) % 256 for i in range(32))
SESSION = 0xC0FFEE42
EPOCH = 0x9E3779B9
TYPES = {"STATE": 1, "COMMAND": 2, "PING": 3, "PONG": 4, "GRANT": 5, "SHADOW": 6, "GRANTED": 7, "DEVICE": 8, "TOOL": 9, "VERDICTS": 10, "CHALLENGE": 11}


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def hkdf_sha256(ikm, salt, info):
    """RFC 5869 for one block of output."""
    return hmac_sha256(hmac_sha256(salt, ikm), info + b"\x01")


def seal(key, data):
    return data + hmac_sha256(key, data)[:16]


def header(kind, sequence, session=SESSION, version=1, magic=b"TC"):
    return magic + struct.pack("<BBIQ", version, kind, session, sequence)


def as_json(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def datagram(what, kind, sequence, message):
    data = seal(KEY, header(TYPES[kind], sequence) + message.SerializeToString())
    assert len(data) <= 1400, len(data)
    return {
        "kind": "datagram", "what": what, "key": KEY.hex(), "type": kind, "session": SESSION, "sequence": str(sequence),
        "message_type": message.DESCRIPTOR.name, "bytes": data.hex(), "message": as_json(message),
    }  # fmt: skip


def state(tick, bodies, single=False, part=0, parts=1):
    """Values are exact in single precision, so that text and bits agree."""
    packet = m.StatePacket(
        scene_epoch=EPOCH, tick=tick, part=part, parts=parts, sim_time_s=tick / 1024, tick_start_ns=(1 << 53) + 12_345,
        send_ns=(1 << 53) + 67_890, subscription=0x80000001, real_time_factor=0.9375, ticks_missed=3,
        echo_client_send_ns=(1 << 62) + 1, echo_server_recv_ns=(1 << 53) + 10_000, echo_sequence=41,
        contacts=2, kinetic_energy_j=1.5, work_us=87.5, wake_late_us=12.25,
    )  # fmt: skip
    pose, velocity = (packet.pose_f, packet.velocity_f) if single else (packet.pose, packet.velocity)
    for body in bodies:
        packet.body_id.append(body)
        pose.extend([body + 0.5, -0.25, 1.0 / 1024, 0.5, 0.5, -0.5, 0.5])
        velocity.extend([0.0, -9.8125, 0.125, 1e-3 if not single else 0.0009765625, 0.0, -body])
    return packet


def add_contacts(packet):
    packet.contact_body_a.extend([1, 1])
    packet.contact_body_b.extend([0, 4_000_000_000])
    for depth in (0.0009765625, 0.00048828125):
        packet.contact.extend([0.5, -0.25, 0, 0, 0, 1, 0.125, 0, 9.8125, depth])
    packet.penetration_max_m = 0.0009765625
    packet.status_bits = m.Status.CONTACTS_DROPPED | m.Status.UNCONVERGED
    packet.contacts_dropped = 7
    return packet


def add_exact(packet):
    packet.status_bits = m.Status.EXACT_UNRESOLVED | m.Status.EXACT_EXHAUSTED
    packet.exact_pieces, packet.exact_collisions, packet.exact_evaluations, packet.exact_bisections = 128, 60, 71, 2
    packet.exact_breaks, packet.exact_stops, packet.exact_unresolved, packet.exact_exhausted = 66, 1, 3, 1
    packet.exact_event_time_s = 2.0**-11
    return packet


def add_verdicts(packet):
    codes = ["APPLIED", "CLAMPED", "SUPERSEDED", "EXPIRED", "REFUSED_STALE_EPOCH", "REFUSED_LEASED_BY_OTHER", "REFUSED_NOT_FINITE",
             "REFUSED_MALFORMED"]  # fmt: skip
    for age, code in enumerate(codes):
        packet.verdict_sequence.append((1 << 40) + 100 - age)
        packet.verdict_code.append(m.VerdictCode[code])
        packet.verdict_tick.append(1000 - age)
        packet.verdict_age_us.append(37 * age)
        packet.verdict_item.append(age % 3)
    return packet


def verdicts():
    packet = m.VerdictPacket(number=(1 << 33) + 47, dropped=1 << 33)
    for back, code in enumerate(["APPLIED", "REFUSED_INCOMPLETE", "REFUSED_QUEUE_FULL"]):
        packet.sequence.append((1 << 40) + 100 - back)
        packet.code.append(m.VerdictCode[code])
        packet.tick.append(1000 - back)
        packet.age_us.append(37 * back)
        packet.item.append(back)
    return packet


def number_verdicts(packet):
    packet.verdict_number = (1 << 33) + 8
    return packet


def command_part():
    packet = m.CommandPacket(scene_epoch=EPOCH, client_send_ns=(1 << 62) + 15, deadline_us=20_000, part=1, parts=3, body_id=[7], verdicts_received=1 << 34)
    packet.wrench.extend([0, 0, 9.8125, 0, 0.5, 0])
    return packet


def add_wrench(packet):
    for body in packet.body_id:
        packet.wrench.extend([1.5, 0, -2.25, 0, 0.125 * body, 0])
    return packet


def command():
    packet = m.CommandPacket(scene_epoch=EPOCH, client_send_ns=(1 << 62) + 7, deadline_us=20_000, expected_tick=999, body_id=[1, 5])
    packet.wrench.extend([1.5, 0, -2.25, 0, 0, 0.125, 0, 0, 0, -0.5, 0.25, 1e300])
    packet.frame.extend([m.WrenchFrame.WORLD, m.WrenchFrame.BODY])
    packet.point.extend([0.25, 0, 0, 0, -0.125, 1.0 / 3])
    return packet


def add_joints(packet):
    packet.status_bits = m.Status.ROBOT_FAULT
    for joint, bits in ((3, m.JointBit.COMMANDED | m.JointBit.HELD), (4_000_000_000, m.JointBit.FAULT)):
        packet.joint_id.append(joint)
        packet.joint.extend([0.5, -1.25, 40.0, -0.0625])
        packet.joint_bits.append(bits)
        packet.joint_missed.append(7)
    packet.sensor_id.extend([0, 2])
    packet.sensor.extend([0.5, -1.25, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
    packet.end_effector_id.append(9)
    packet.end_effector.extend([0.25 * i for i in range(19)])
    packet.jacobian_end_effector.extend([9, 9])
    packet.jacobian_dof.extend([0, 6])
    packet.jacobian.extend([0, 0.5, 0, 0, 0, 1, -0.25, 0, 0.125, 1, 0, 0])
    return packet


def add_play(packet):
    packet.play_time_ns = 1_790_000_000_000_000_123
    packet.status_bits = m.Status.PAUSED
    return packet


def command_joints():
    packet = m.CommandPacket(scene_epoch=EPOCH, client_send_ns=(1 << 62) + 7, deadline_us=5_000, expected_tick=1003, joint_id=[3, 5, 6])
    packet.joint_mode.extend([m.JointMode.EFFORT, m.JointMode.POSITION, m.JointMode.RELEASE])
    packet.joint_value.extend([-12.5, 1.0 / 3, 0])
    packet.joint_rate.extend([0, 0.125, 0])
    return packet


def command_robot():
    packet = m.CommandPacket(scene_epoch=EPOCH, client_send_ns=(1 << 62) + 8, body_id=[1], robot=1, joint_mode=[m.JointMode.VELOCITY])
    packet.wrench.extend([1, 2, 3, 4, 5, 6])
    packet.joint_value.extend([0.5 * i for i in range(7)])
    return packet


def control_frames(what, direction, replies):
    """Frames of one direction in order: those before the key exists have no mac, the others count from 0."""
    frames, counter = [], 0
    for with_mac, message in replies:
        payload = message.SerializeToString()
        tail = hmac_sha256(KEY, direction.encode() + struct.pack("<Q", counter) + payload)[:16] if with_mac else b""
        data = struct.pack("<I", len(payload) + len(tail)) + payload + tail
        frames.append({"mac": with_mac, "counter": counter, "message_type": message.DESCRIPTOR.name, "bytes": data.hex(),
                       "message": as_json(message)})  # fmt: skip
        counter += with_mac
    return {"kind": "control_frames", "what": what, "key": KEY.hex(), "direction": direction, "frames": frames}


def client_frames():
    hello = {"version_major": 1, "version_minor": 0, "client_name": "golden-client_1.0", "nonce": NONCE_CLIENT}
    load = {"name": "pile", "parameters": [{"key": "n", "value": "200"}], "seed": (1 << 63) + 5}
    lease = {"channels": ["world", "body/table/leg-1/wrench"], "duration_ms": 2000, "take_over": True}
    pause = m.Request(id=4)
    pause.pause.SetInParent()
    return [
        (False, m.Request(id=1, hello=hello)),
        (True, m.Request(id=2, load_scene=load)),
        (True, m.Request(id=3, acquire_lease=lease)),
        (True, pause),
        (True, m.Request(id=5, set_playback={"position_s": 0.0, "speed": 0.25})),  # position 0 is a wish, too
    ]


def server_frames():
    hello = {"version_major": 1, "nonce": NONCE_SERVER, "session": SESSION, "realtime_port": 17801, "build": "0.1.0", "key": KEY,
             "scene_epoch": EPOCH, "step_s": 0.001, "role": "control"}  # fmt: skip
    error = {"code": m.ErrorCode.BAD_SCENE, "text": "pile.toml:12: body.radius_m: expected a positive number, found -1 \u2264 0"}
    event = {"kind": m.EventKind.LEASE_LOST, "tick": 1 << 40, "text": "body/block/wrench", "scene_epoch": EPOCH}
    playback = {"position_s": 12.5, "duration_s": 60.0, "speed": 0.25, "paused": True, "begin_ns": 1_790_000_000_000_000_123, "file": "/runs/grasp.mcap",
                "recorded_by": "tactusd 0.1.0", "state_step_s": 0.001}  # fmt: skip
    grant = {"tick": 10_000, "state_hash": 0xFEDCBA9876543210}
    return [
        (False, m.Reply(id=1, hello=hello)),
        (True, m.Reply(id=2, error=error)),
        (True, m.Reply(event=event)),
        (True, m.Reply(id=3, grant=grant)),
        (True, m.Reply(id=4, playback=playback)),
    ]


def handshake():
    nonces = NONCE_CLIENT + NONCE_SERVER
    return {
        "kind": "handshake", "what": "session key and proofs of a server with a token; the token file ends with a line feed",
        "token_file": (TOKEN + b"\n").hex(), "nonce_client": NONCE_CLIENT.hex(), "nonce_server": NONCE_SERVER.hex(),
        "session_key": hkdf_sha256(TOKEN, nonces, b"tactus.v1 session").hex(),
        "client_proof": hmac_sha256(TOKEN, b"tactus.v1 client" + nonces).hex(),
        "server_proof": hmac_sha256(TOKEN, b"tactus.v1 server" + nonces).hex(),
    }  # fmt: skip


def refused():
    """Datagrams that must be refused, each for the one reason it names, in the order in which the checks are made."""
    payload = m.Ping(client_send_ns=5).SerializeToString()
    good = seal(KEY, header(3, 1) + payload)
    cases = {
        "size": [good[:31], b"", seal(KEY, header(3, 1) + b"\0" * 1369)],
        "magic": [seal(KEY, header(3, 1, magic=b"CT") + payload)],
        "version": [seal(KEY, header(3, 1, version=2) + payload), seal(KEY, header(3, 1, version=0) + payload)],
        "type": [seal(KEY, header(0, 1) + payload), seal(KEY, header(255, 1) + payload)],
        "session": [seal(KEY, header(3, 1, session=SESSION + 1) + payload)],
        "mac": [good[:-1] + bytes([good[-1] ^ 1]), good[:8] + b"\x02" + good[9:], seal(b"\0" * 32, good[:-16]), good[:-1]],
    }
    return {
        "kind": "refused_datagrams", "what": "datagrams to be refused, by the first check that they fail", "key": KEY.hex(), "session": SESSION,
        "refused": [{"reason": reason, "bytes": data.hex()} for reason, list_of_data in cases.items() for data in list_of_data],
    }  # fmt: skip


def shadow():
    rows = [0.5, 0.25, 2.0**-10, 9.75, 0.0, 2.0**-20, 1.5, 0.0]
    return m.ShadowPacket(scene_epoch=EPOCH, tick=1010, parts=1, subscription=3, ticks=10, send_ns=(1 << 53) + 3, body_id=[1, 7], difference=rows)


def device():
    return m.DevicePacket(
        scene_epoch=EPOCH, client_send_ns=(1 << 62) + 13, tool=2, grip=5, sample=(1 << 33) + 7, tick_echo=1005, bits=1 | 1024, buttons=2,
        stiffness_share=0.75, given_j=2.0**-12, taken_j=2.0**-9, round_trip_s=0.0625, pose=[0.5, -0.25, 2.0**-10, 0.5, -0.5, 0.5, 0.5],
        velocity=[0.125, 0, -3.5, 0, 2.0**-20, 1], wave=[1.5, 0, -2.25, 0, 0, 2.0**-8], wrench=[0.5, -9.75, 4, 0, 0.25, 0],
        band_seen=1000, band_sent=125, band_error=0.875,
    )  # fmt: skip


def tool():
    planes = [0, 0, 1, 0.5, 0.25, 0, 0, 0, -0.125, 0, 0.5, -1, 0, 0, 2, 0, 0.5, 0.125, 0, 0, -0.25, 0]
    return m.ToolPacket(
        scene_epoch=EPOCH, tick=1006, send_ns=(1 << 53) + 5, subscription=3, tool=2, body_id=7, mode=2, grip=5, sample_echo=(1 << 33) + 7,
        bits=1 | 256, age_ticks=3, pose=[0.5, -0.25, 2.0**-10, 0.5, -0.5, 0.5, 0.5], velocity=[0.125, 0, -3.5, 0, 2.0**-20, 1],
        wrench=[0.5, -9.75, 4, 0, 0.25, 0], wave=[1.5, 0, -2.25, 0, 0, 2.0**-8], scale=0.5, stored_j=2.0**-14, reference_j=-2.0**-10,
        tool_j=2.0**-11, declared_j=0.0, samples=1 << 34, samples_lost=4, plane_key=[1 << 31, 9], plane=planes, plane_moving=b"\x00\x01",
        wait_us=417, band_seen=2000, band_sent=250, band_error=0.5, device_band_seen=1000, device_band_sent=125, device_band_error=0.875,
        device_pose=[0, 0, 1, 1, 0, 0, 0], device_wrench=[0, 0, -4, 0, 0, 0.5], device_bits=1, buttons=2, given_j=2.0**-12, taken_j=2.0**-9,
        round_trip_s=0.0625, stiffness_n_per_m=1440,
    )  # fmt: skip


def golden():
    ping = m.Ping(client_send_ns=(1 << 62) + 9)
    pong = m.Pong(client_send_ns=(1 << 62) + 9, server_recv_ns=(1 << 53) + 1, server_send_ns=(1 << 53) + 2, tick=1001)
    grant = m.GrantPacket(scene_epoch=EPOCH, run_to_tick=(1 << 33) + 1, client_send_ns=(1 << 62) + 11)
    heartbeat = m.CommandPacket(scene_epoch=EPOCH, client_send_ns=(1 << 62) + 8)
    return {
        "state_double": datagram("two bodies, double precision, with wrench", "STATE", 1, add_wrench(state(1000, [1, 2]))),
        "state_float": datagram("twenty bodies, single precision", "STATE", 2, state(1000, range(1, 21), single=True)),
        "state_contacts": datagram("contacts, contacts dropped, unconverged", "STATE", 3, add_contacts(state(1001, [1]))),
        "state_exact": datagram("a step of the exact stepper that ran out of pieces", "STATE", 19, add_exact(state(1006, [1]))),
        "state_verdicts": datagram("the last eight verdicts", "STATE", (1 << 40) + 4, add_verdicts(state(1002, [1]))),
        "state_verdicts_numbered": datagram(
            "eight verdicts of a client, the newest one with its number", "STATE", (1 << 40) + 5, number_verdicts(add_verdicts(state(1002, [1])))
        ),
        "verdicts": datagram("three verdicts that no state has brought; earlier ones are not kept any more", "VERDICTS", 20, verdicts()),
        "command_part": datagram("the second part of three of a command", "COMMAND", 21, command_part()),
        "state_empty": datagram("no body at all, paused in lockstep", "STATE", 5, m.StatePacket(scene_epoch=EPOCH, parts=1, status_bits=3)),
        "state_part_0_of_2": datagram("first part of a tick", "STATE", 6, state(1003, range(0, 9), part=0, parts=2)),
        "state_part_1_of_2": datagram("second part of the same tick", "STATE", 7, state(1003, range(9, 12), part=1, parts=2)),
        "command": datagram("two rows, world and body frame, off the mass centre", "COMMAND", 8, command()),
        "state_joints": datagram("joints, sensors, an end effector and two columns of its Jacobian", "STATE", 13, add_joints(state(1004, [1]))),
        "state_play": datagram("a recorded state that a server plays, paused", "STATE", 18, add_play(state(1005, [1]))),
        "command_joints": datagram("three joints: an effort, a position with its rate, a release", "COMMAND", 14, command_joints()),
        "command_robot": datagram("a wrench and seven rates for a whole robot", "COMMAND", 15, command_robot()),
        "command_heartbeat": datagram("no rows", "COMMAND", 9, heartbeat),
        "ping": datagram("", "PING", 10, ping),
        "pong": datagram("", "PONG", 11, pong),
        "grant": datagram("", "GRANT", (1 << 64) - 1, grant),
        "granted": datagram("", "GRANTED", 13, m.GrantedPacket(scene_epoch=EPOCH, tick=(1 << 33) + 2)),
        "shadow": datagram("differences of two bodies", "SHADOW", 12, shadow()),
        "device": datagram("a device's sample with a wave and the counts of its deadband", "DEVICE", 16, device()),
        "tool": datagram("a tool with two planes, to another client", "TOOL", 17, tool()),
        "control_client": control_frames("Hello without a mac, then three requests with", "C", client_frames()),
        "control_server": control_frames("HelloReply without a mac, then an error, an event and a reply with", "S", server_frames()),
        "handshake": handshake(),
        "refused": refused(),
    }


def main():
    for name, entry in golden().items():
        (HERE / f"{name}.json").write_text(json.dumps(entry, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
