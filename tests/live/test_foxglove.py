"""tactusd as Foxglove and Lichtblick see it: the public client (npm) decodes every channel; frames, arrows and numbers are those of the world."""
import json
import re
import struct
import subprocess
import threading
import time

import pytest
from conftest import REPOSITORY, assert_still_ticking, counts, eventually
from websocket import TEXT, Closed, WebSocket

import tactus

SKIPPED = 77


def look(server, *flags, seconds=3, status=0):
    """What the public client saw, as tests/interop/foxglove.mjs tells it."""
    command = [REPOSITORY / "tests" / "interop" / "run", "foxglove", str(server.web_port), "--seconds", str(seconds), *flags]
    run = subprocess.run(command, capture_output=True, text=True, timeout=400)
    if run.returncode == SKIPPED:
        pytest.skip(run.stderr.strip())
    assert run.returncode == status, run.stdout[-2000:] + run.stderr
    return json.loads(run.stdout)


def shipped(make_server, name, *flags):
    """A server of its own on a scene that is shipped."""
    server = make_server(*flags)
    server.scene_file = REPOSITORY / "config" / "scenes" / f"{name}.toml"
    return server.start()


def test_the_public_client_decodes_every_channel_and_sees_the_world(make_server):
    server = make_server().start()
    seen = look(server, "--protocol", "foxglove.websocket.v1,foxglove.sdk.v1")
    assert seen["schema_errors"] == [] and len(seen["compared"]) >= 15
    assert seen["server"]["sessionId"] and not seen["statuses"]
    rows = seen["channels"]
    assert set(rows) == {"/tf", "/scene", "/contacts", "/joints", "/plot", "/log", "/statistics"}
    for topic in ("/tf", "/contacts", "/plot"):
        assert rows[topic]["in_order"] and 10 < rows[topic]["messages"] <= 60 * 3, topic  # at most 60 a second
    assert set(rows["/tf"]["frames"]) == {"floor", "block", "ball"}
    entities = {e["id"]: e for e in rows["/scene"]["last"]["entities"]}
    assert set(entities) == {"floor", "block", "ball"} and all(e["frame_id"] == e["id"] and e["frame_locked"] for e in entities.values())
    assert entities["block"]["cubes"][0]["size"] == {"x": 0.2, "y": 0.2, "z": 0.2}
    assert entities["ball"]["spheres"][0]["size"]["x"] == pytest.approx(0.2)
    # The block rests 0.1 m above the floor; what it and the ball, of one mass, press the floor with (a force is that on the first of
    # the pair) points down, and is as long in all.
    frames = {t["child_frame_id"]: t for t in rows["/tf"]["last"]["transforms"]}
    assert frames["block"]["parent_frame_id"] == "world" and frames["block"]["translation"]["z"] == pytest.approx(0.1, abs=1e-3)
    arrows = rows["/contacts"]["last"]["entities"][0]["arrows"]
    assert len(arrows) >= 5  # four corners and the ball
    carried = {"block": 0, "ball": 0}
    for arrow in arrows:
        q = arrow["pose"]["orientation"]
        up = 2 * (q["x"] * q["z"] - q["w"] * q["y"])  # z of the turned x axis
        assert up == pytest.approx(-1, abs=1e-3)
        carried["ball" if arrow["pose"]["position"]["x"] > 1 else "block"] += arrow["shaft_length"] + arrow["head_length"]
    assert carried["ball"] > 0.02 and carried["block"] == pytest.approx(carried["ball"], rel=1e-3)
    # Each tick stands in one batch, in order; its summary is that of its samples.
    last = rows["/plot"]["last"]
    ticks = [s["tick"] for s in last["samples"]]
    assert ticks == sorted(set(ticks)) and rows["/plot"]["samples"] >= 0.5 * 1000 * 2
    assert last["work_us"]["max"] == pytest.approx(max(s["work_us"] for s in last["samples"]))
    assert last["work_us"]["mean"] == pytest.approx(sum(s["work_us"] for s in last["samples"]) / len(ticks), rel=1e-6)
    assert last["penetration_max_m"]["min"] == pytest.approx(min(s["penetration_max_m"] for s in last["samples"]))
    assert rows["/statistics"]["last"]["scene"] and rows["/statistics"]["messages"] >= 2


def test_parameters_are_read_and_set_under_the_lease(make_server):
    server = make_server().start()
    seen = look(server, "--set", "alpha=0.5", "--set", "nonsense=3", "--set", 'paused="maybe"')
    assert seen["parameters"]["alpha"] == 0.5 and seen["parameters"]["model"] == "penalty" and seen["answers"].count("set") == 1
    said = [s["message"] for s in seen["statuses"]]
    assert any("nonsense" in text for text in said) and any("paused" in text and "true or false" in text for text in said)
    with server.connect(name="owner") as client, client.claim("world"):
        seen = look(server, "--set", "paused=true")  # another holds the world
        assert seen["parameters"]["paused"] is False and any("owner" in s["message"] for s in seen["statuses"])
    seen = look(server, "--set", "paused=true", "--set", 'model="deepest"')
    assert seen["parameters"]["paused"] is True and seen["parameters"]["model"] == "deepest"
    assert any("PAUSED" in text for text in seen["channels"]["/log"]["texts"])
    # Paused, by one who stays: the viewer's clock stands still, and time frames go on.
    with server.connect(name="holder") as holder:
        holder.pause()
        first = look(server, seconds=2)
        assert first["times_in_order"] and first["times"] > 2
        again = look(server, seconds=2)
        assert again["last_time"] == first["last_time"] and again["parameters"]["paused"] is True


def test_meshes_are_assets(make_server):
    server = shipped(make_server, "meshes")
    asset = look(server, "--asset", seconds=4)["asset"]
    assert asset["triangles"] > 10 and asset["bytes"] == 84 + 50 * asset["triangles"]
    assert all(low < high for low, high in zip(asset["low"], asset["high"]))


def test_a_server_with_a_token_lets_foxglove_in_only_when_told_to(make_server, tmp_path):
    (tmp_path / "token").write_text("a token of some length for foxglove")
    flags = ("--token-file", tmp_path / "token")
    seen = look(make_server(*flags).start(), status=1)
    assert "403" in seen["error"] and "foxglove" in seen["error"]
    (tmp_path / "open.toml").write_text('[web]\nfoxglove = "open"\n')
    seen = look(make_server(*flags, "--config", tmp_path / "open.toml").start())
    assert seen["channels"]["/tf"]["messages"] > 10
    (tmp_path / "off.toml").write_text('[web]\nfoxglove = "off"\n')
    assert "403" in look(make_server("--config", tmp_path / "off.toml").start(), status=1)["error"]


def single(x):
    """As viewers are sent it."""
    return struct.unpack("f", struct.pack("f", x))[0]


@pytest.mark.parametrize("protocol", ["foxglove.websocket.v1", "foxglove.sdk.v1"])
def test_either_sub_protocol_alone_will_do(make_server, protocol):
    seen = look(make_server().start(), "--protocol", protocol)
    assert seen["protocol"] == protocol and seen["channels"]["/tf"]["messages"] > 10


def test_joints_are_those_of_the_state(make_server):
    """Of an arm that stands paused amid a motion, so that both are of one tick."""
    server = shipped(make_server, "arm7")
    with server.connect(name="owner") as client:
        robot = client.scene.robots["arm"]
        client.subscribe(joints=["arm"])
        with client.claim(robot.channel):
            for _ in range(100):
                client.command_robot("arm", effort=[3.0] * len(robot.joints))
                time.sleep(0.003)
            client.pause()
        seen = look(server, seconds=2)
        state = client.latest()
    last = {j["name"]: j for j in seen["channels"]["/joints"]["last"]["joints"]}
    assert [j.name for j in robot.joints] == list(last) and len(last) == 7
    arm = state.robot("arm")
    for i, joint in enumerate(robot.joints):
        assert (last[joint.name]["position"], last[joint.name]["velocity"]) == (single(arm.q[i]), single(arm.dq[i]))
    assert any(abs(v) > 1e-3 for v in arm.dq)  # it was moving


def test_in_lockstep_the_viewers_clock_is_the_simulations(make_server):
    server = make_server("--lockstep").start()
    with server.connect(name="stepper") as client, client.lockstep() as lockstep:
        stepping = threading.Thread(target=lambda: [(lockstep.step(10), time.sleep(0.01)) for _ in range(150)])
        stepping.start()
        moving = look(server, seconds=3)
        stepping.join()
        stands = look(server, seconds=2)
        end_ns = 1e9 * client.latest().sim_time_s
    assert moving["times_in_order"] and moving["times"] > 10
    assert 0 < moving["last_time"] <= end_ns == pytest.approx(1.5e9)
    # Nobody steps: a viewer that comes is told the time at which it stands, and no other.
    assert stands["times_in_order"] and stands["last_time"] == pytest.approx(end_ns, abs=1)


class Raw(WebSocket):
    def __init__(self, port):
        super().__init__(port, protocol="foxglove.sdk.v1")
        assert self.accepted, self.head

    def tell(self, value):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send(text, TEXT)

    def status(self, timeout_s=20):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            message = self.receive()
            if message[:1] == b"{" and json.loads(message)["op"] == "status":
                return json.loads(message)["message"]
        return None


MALFORMED = [b"{", b"[1,2]", b'{"op":5}', b'{"op":"subscribe"}', b'{"op":"subscribe","subscriptions":[{"id":-1,"channelId":1}]}',
                                 b'{"op":"subscribe","subscriptions":[{"id":1,"channelId":99}]}', b'{"op":"setParameters","parameters":[5]}',
                                 b'{"op":"fetchAsset","uri":3}', b"[" * 60000, b"\xff\xfe\x00"]  # fmt: skip


@pytest.mark.parametrize("bad", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_json_is_answered_and_harms_nobody(server, client, bad):
    with Raw(server.web_port) as viewer:
        viewer.receive(), viewer.receive()
        viewer.tell(bad)
        assert viewer.status()
    assert_still_ticking(client)


def test_a_viewer_that_subscribes_to_everything_and_never_reads_is_cut_off(make_server, tmp_path):
    (tmp_path / "server.toml").write_text("[web]\nstall_s = 2\n")
    server = shipped(make_server, "pile", "--config", tmp_path / "server.toml")
    with Raw(server.web_port) as viewer, server.connect(name="other") as other:
        viewer.socket.setsockopt(1, 8, 4096)  # SOL_SOCKET, SO_RCVBUF
        viewer.receive(), viewer.receive()
        viewer.tell({"op": "subscribe", "subscriptions": [{"id": i, "channelId": i} for i in range(1, 8)]})
        assert eventually(lambda: counts(other.statistics().refused_by_reason).get("web_slow", 0) >= 1, timeout_s=60)
        viewer.socket.setsockopt(1, 8, 4 << 20)
        with pytest.raises(Closed) as closed:  # and when it reads at last, it learns why
            while True:
                viewer.receive()
        assert closed.value.code == 1008 and "took nothing for 2 s" in closed.value.reason
        assert eventually(lambda: not any(c.name.startswith("foxglove") for c in other.statistics().clients), timeout_s=4)
        before = other.statistics().tick
        assert eventually(lambda: other.statistics().tick > before + 100)


def test_a_viewer_that_reads_slowly_gets_everything_that_happens_once(make_server):
    """Subscribed to all of a pile, at 200 kB/s: frames are left out, events are not, and come in their order."""
    server = shipped(make_server, "pile")
    with Raw(server.web_port) as viewer, server.connect(name="other") as other:
        viewer.socket.setsockopt(1, 8, 4096)  # SOL_SOCKET, SO_RCVBUF
        channels = {}
        while not channels:
            message = json.loads(viewer.receive())
            if message["op"] == "advertise":
                channels = {c["topic"]: c["id"] for c in message["channels"]}
        viewer.tell({"op": "subscribe", "subscriptions": [{"id": i, "channelId": i} for i in channels.values()]})
        asked, end, told, frames, got, taken = 0, time.monotonic() + 60, [], 0, 0, time.monotonic()
        while len(told) < 60 and time.monotonic() < end:
            if asked < 60 and time.monotonic() > taken + 0.1 * asked:
                (other.pause if asked % 2 == 0 else other.resume)()
                asked += 1
            try:
                message = viewer.receive()
            except (Closed, OSError) as why:
                pytest.fail(f"{why} after {len(told)} events: {counts(other.statistics().refused_by_reason)} {server.log()[-500:]}")
            got += len(message)
            if message[:1] == b"\x01":
                subscription = struct.unpack("<I", message[1:5])[0]
                frames += subscription == channels["/tf"]
                if subscription == channels["/log"]:
                    told += re.findall(rb"PAUSED|RESUMED", message)
            time.sleep(max(0.0, taken + got / 200e3 - time.monotonic()))
        took = time.monotonic() - taken
        replaced = next(c.packets_dropped for c in other.statistics().clients if c.name.startswith("foxglove"))
        assert_still_ticking(other)
    assert told == [b"PAUSED", b"RESUMED"] * 30
    assert frames < 0.9 * 60 * took and replaced > 0, (frames, took)  # it was too slow for all


def test_frames_have_the_protocols_layout(server):
    """Without the public client: opcode, ids and times of binary frames, little-endian."""
    with Raw(server.web_port) as viewer:
        assert json.loads(viewer.receive())["op"] == "serverInfo"
        channels = json.loads(viewer.receive())["channels"]
        tf = next(c["id"] for c in channels if c["topic"] == "/tf")
        viewer.tell({"op": "subscribe", "subscriptions": [{"id": 4711, "channelId": tf}]})
        seen = set()
        while seen != {1, 2}:
            try:
                message = viewer.receive()
            except Closed as closed:
                pytest.fail(str(closed))
            if message[:1] == b"{":
                continue
            seen.add(message[0])
            if message[0] == 1:
                subscription, ns = struct.unpack("<IQ", message[1:13])
                assert subscription == 4711 and 0 <= ns < 1e12
