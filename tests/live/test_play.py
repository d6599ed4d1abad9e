"""A server that plays a recording: what the run was is shown to every kind of client, at any speed, forwards and back; nothing can be driven."""
import json
import math
import struct
import time

import pytest
from conftest import SCENE, RawSession, Server, eventually, require_program
from websocket import BINARY, TEXT, Viewer, WebSocket

import tactus
from tactus.messages import CommandPacket, StatePacket

STEP_S, TICKS, RESET_AT = 0.001, 2000, 1500
DURATION_S = (TICKS - 2) * STEP_S  # recorded time goes by ticks that were stepped: none from the state before a reset to the one after it


def place_of(n):
    """Where in the recording the n-th state stands."""
    return (n if n < RESET_AT else n - 1) * STEP_S


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run in lockstep: the ball is pushed for 0.2 s, both rest, then a reset; what each tick was, as the client saw it."""
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "run.mcap"
    server = Server(folder, "--lockstep", "--record", path, scene=SCENE).start()
    seen = []
    try:
        with server.connect() as client, client.claim("world", "ball"), client.lockstep() as lockstep:
            for n in range(TICKS):
                if n == RESET_AT:
                    client.reset()
                if n < 200:
                    client.push("ball", force=[3, 0, 0], deadline_s=0.002)
                seen.append(lockstep.step(1))
        assert server.terminate() == 0
    finally:
        server.kill()
    return path, seen


@pytest.fixture
def player(make_server, recorded):
    def play(*flags):
        server = make_server("--play", recorded[0], *flags)
        return server.start()

    return play


def position(client, seconds):
    playback = client.seek(seconds)
    assert playback.position_s == pytest.approx(min(max(seconds, 0), playback.duration_s), abs=1e-6)
    return client


def test_what_was_recorded_is_shown_to_the_bit_at_any_time_and_in_any_order(player, recorded):
    _, seen = recorded
    with player().connect() as client:
        client.pause()
        stream = client.subscribe(["ball", "block"], velocity=True, wrench=True)
        playback = client.playback()
        assert playback.duration_s == pytest.approx(DURATION_S, abs=1e-6) and playback.speed == 1 and playback.paused
        for n in (700, 3, 1400, 1498, 1, 1200, 120, 1750, 1501, 60):
            position(client, place_of(n))
            state = eventually(lambda n=n: (s := stream.latest()) and s.tick == seen[n].tick and s)
            for name in ("ball", "block"):
                then, now = seen[n][name], state[name]
                assert (now.p_WB, now.q_WB, now.v_WB, now.w_WB) == (then.p_WB, then.q_WB, then.v_WB, then.w_WB), (n, name)
            assert state.sim_time_s == seen[n].sim_time_s and state.status & 1
        # While it is pushed, what pushed it is shown, too.
        assert stream.latest()["ball"].force_W == pytest.approx((3, 0, 0))


def test_it_runs_at_the_speed_asked_for_stands_steps_and_ends(player):
    with player("--speed", "0.5").connect() as client:
        stream = client.subscribe(["ball"])
        position(client, 0.1)
        begin, first = time.monotonic(), client.playback().position_s
        time.sleep(1.0)
        went = (client.playback().position_s - first) / (time.monotonic() - begin)
        assert 0.35 < went < 0.55  # a loaded machine skips beats, and none is made up for
        assert client.set_speed(20).speed == 20
        client.wait_event("PLAYBACK_CHANGED")
        eventually(lambda: client.playback().ended, timeout_s=20)
        assert client.playback().position_s == pytest.approx(client.playback().duration_s)
        client.pause()
        client.set_speed(1)
        position(client, 0.3)
        before = eventually(lambda: (s := stream.latest()) and s.tick == 301 and s)
        grant = client.step(5)
        assert grant.tick == before.tick + 5
        assert client.playback().position_s == pytest.approx(0.305, abs=1e-6)
        time.sleep(0.2)
        assert client.playback().position_s == pytest.approx(0.305, abs=1e-6)  # it stands
        client.resume()
        eventually(lambda: client.playback().position_s > 0.5)
        for bad in (-1.0, 2000.0, math.nan):
            with pytest.raises(tactus.BadValue, match="speed"):
                client.set_speed(bad)
        with pytest.raises(tactus.BadValue, match="position_s"):
            client.seek(math.inf)


def test_a_speed_set_in_a_pause_holds_for_the_next_step_and_is_no_jump(player):
    with player("--speed", "0.1").connect() as client:
        client.pause()
        position(client, 0.4)
        client.step(3)
        assert client.playback().position_s == pytest.approx(0.4003, abs=1e-6)
        client.wait_event("RESTORED")  # the seek's
        for speed, then in ((4, 0.4083), (0.5, 0.4093)):
            client.set_speed(speed)
            client.step(2)
            assert client.playback().position_s == pytest.approx(then, abs=1e-6)
        with pytest.raises(tactus.TimedOut):
            client.wait_event("RESTORED", timeout_s=0.3)


def test_between_recorded_states_motion_is_interpolated(make_server, tmp_path):
    """A ball that rolls off at constant speed, recorded at 20 Hz: shown at 1 kHz it is on the straight line through these states."""
    path = tmp_path / "thin.mcap"
    config = tmp_path / "server.toml"
    config.write_text("[record]\nstate_hz = 20\n")
    scene = SCENE.replace('name = "ball"\nposition_m = [2, 0, 0.1]', 'name = "ball"\nposition_m = [2, 0, 5]\nlinear_velocity_m_per_s = [1, 0, 0]')
    scene = scene.replace("step_s = 0.001\n", "step_s = 0.001\ngravity_m_per_s2 = [0, 0, 0]\n", 1)
    server = make_server("--lockstep", "--record", path, "--config", config, scene=scene).start()
    with server.connect() as client, client.lockstep() as lockstep:
        lockstep.step(1000)
    assert server.terminate() == 0
    server = make_server("--play", path).start()
    with server.connect() as client:
        client.pause()
        stream = client.subscribe(["ball"])
        assert client.playback().state_step_s == pytest.approx(0.05)
        offset = 0.05  # of the first state that is kept
        for at in (0.012, 0.7301, 0.4999, 0.025):
            position(client, at)
            state = eventually(lambda at=at: (s := stream.latest()) and abs(s.sim_time_s - offset - at) < 2e-6 and s)
            assert state["ball"].p_WB[0] == pytest.approx(2 + state.sim_time_s, abs=1e-9)


def test_what_would_change_a_live_world_is_refused_by_name(player):
    server = player()
    with server.connect() as client:
        for act in (client.reset, lambda: client.load("pile"), lambda: client.set_model("st"), lambda: client.set_parameter("alpha", "0.5"),
                    lambda: client.snapshot("here"), lambda: client.save_black_box(), lambda: client.start_recording(),
                    lambda: client.claim("ball").__enter__(), lambda: client.lockstep().__enter__()):  # fmt: skip
            with pytest.raises(tactus.WrongState, match="plays the recording .*run.mcap"):
                act()
        assert client.statistics().playback.file.endswith("run.mcap")
        assert client.statistics().HasField("black_box") is False


def test_a_command_that_comes_all_the_same_gets_a_verdict_of_its_own(player):
    server = player()
    with RawSession(server) as raw:
        epoch = raw.exchange("describe_scene").scene.scene_epoch
        raw.exchange("subscribe")
        sequence = raw.command(CommandPacket(scene_epoch=epoch, body_id=[1], wrench=[1, 0, 0, 0, 0, 0]))
        assert raw.verdict(sequence) == "REFUSED_PLAYBACK"


def test_a_live_server_plays_nothing(server):
    with server.connect() as client, pytest.raises(tactus.WrongState, match="--play"):
        client.playback()


def newest(viewer, wanted):
    """The first state to come that is wanted."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        viewer.states.clear()
        viewer.take()
        for packet in map(StatePacket.FromString, viewer.states):
            if wanted(packet):
                return packet
    pytest.fail("no such state came")


def test_the_web_viewer_gets_recorded_times_and_seeks(player, recorded):
    server = player()
    viewer = Viewer(server.web_port)
    told = viewer.exchange("set_playback").playback
    assert told.duration_s == pytest.approx(DURATION_S, abs=1e-6) and told.file == str(recorded[0])
    viewer.exchange("acquire_lease", channels=["world"])
    viewer.exchange("pause")
    viewer.exchange("subscribe", bodies=["*"], single_precision=True)
    for seconds in (1.2, 0.4, 1.9):
        assert viewer.exchange("set_playback", position_s=seconds).playback.position_s == pytest.approx(seconds, abs=1e-6)
        wanted = told.begin_ns + round(1e9 * seconds)
        state = newest(viewer, lambda s, wanted=wanted: abs(s.play_time_ns - wanted) < 2000)
        assert state.sim_time_s == pytest.approx(seconds + 0.001 if seconds < 1.5 else seconds - 1.5 + 0.002, abs=2e-6)


class FoxgloveViewer(WebSocket):
    """As Foxglove is: a playback bar, and a clock that must never go back unless it is told of a seek."""

    def __init__(self, port):
        super().__init__(port, protocol="foxglove.sdk.v1")
        self.info = self.text("serverInfo")
        self.channels = {c["topic"]: c["id"] for c in self.text("advertise")["channels"]}

    def tell(self, value):
        self.send(json.dumps(value).encode(), TEXT)

    def text(self, op):
        while True:
            message = self.receive()
            if message[:1] == b"{" and json.loads(message)["op"] == op:
                return json.loads(message)

    def control(self, *, pause=False, speed=1.0, seek_ns=None, request="r"):
        self.send(struct.pack("<BBfBQI", 3, pause, speed, seek_ns is not None, seek_ns or 0, len(request)) + request.encode(), BINARY)

    def frames(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.receive()
            if message[:1] == b"\5":
                status, now, speed, seek, length = struct.unpack_from("<BQfBI", message, 1)
                yield "playback", now, {"status": status, "speed": speed, "seek": bool(seek), "request": message[19:].decode()}
            elif message[:1] == b"\2":
                yield "time", struct.unpack_from("<Q", message, 1)[0], None
            elif message[:1] == b"\1":
                yield "message", struct.unpack_from("<Q", message, 5)[0], struct.unpack_from("<I", message, 1)[0]
            elif message[:1] == b"{" and json.loads(message)["op"] == "status":
                yield "status", 0, json.loads(message)["message"]


def test_foxglove_has_its_playback_bar_and_a_clock_that_goes_back_only_in_a_seek(player):
    viewer = FoxgloveViewer(player("--speed", "0.5").web_port)
    assert "playbackControl" in viewer.info["capabilities"]
    stamp = lambda t: 10**9 * t["sec"] + t["nsec"]  # noqa: E731
    begin, end = stamp(viewer.info["dataStartTime"]), stamp(viewer.info["dataEndTime"])
    assert end - begin == pytest.approx(1e9 * DURATION_S, abs=2000)
    viewer.tell({"op": "subscribe", "subscriptions": [{"id": 1, "channelId": viewer.channels["/tf"]}, {"id": 2, "channelId": viewer.channels["/plot"]}]})
    now, answered, seeks, messages = 0, set(), 0, 0
    wishes = [(0.4, dict(seek_ns=begin + 1_700_000_000, request="on")), (0.9, dict(seek_ns=begin + 300_000_000, request="back")),
              (1.4, dict(pause=True, speed=0.25, request="stand"))]  # fmt: skip
    started = time.monotonic()
    for kind, at, what in viewer.frames(2.5):
        if wishes and time.monotonic() - started > wishes[0][0]:
            viewer.control(**wishes.pop(0)[1])
        assert kind != "status", what
        assert begin - 1000 <= at <= end + 1000  # stamps pass through doubles of seconds: 0.2 us
        if kind == "playback":
            seeks += what["seek"]
            answered |= {what["request"]} if what["request"] else set()
            last = what
            now = at if what["seek"] else now  # else it may be newer than the time frame that waits
        elif kind == "time":
            assert at >= now or at < now - 10**8, "back by a seek, or not at all"
            now = at
        else:
            messages += 1
            assert now == 0 or abs(at - now) < 60_000_000, "nothing of before a jump comes after it"
    assert answered == {"on", "back", "stand"} and seeks >= 2 and messages > 20
    assert last["status"] == 1 and last["speed"] == 0.25  # paused
    stood = [at for kind, at, _ in viewer.frames(1.2) if kind == "time"]
    assert len(set(stood)) == 1


def test_tactus_play_moves_it(player, run_program):
    server = player()
    port = f"127.0.0.1:{server.port}"
    tell = lambda *flags: json.loads(run_program(require_program("tactus"), "play", "--host", port, "--json", *flags).stdout)  # noqa: E731
    told = tell("--pause", "--seek", "1.25", "--speed", "2")
    assert told["position_s"] == pytest.approx(1.25, abs=1e-6) and told["paused"] and told["speed"] == 2
    assert tell("--seek", "-0.25")["position_s"] == pytest.approx(1.0, abs=1e-6)
    assert tell()["position_s"] == pytest.approx(1.0, abs=1e-6)
    assert run_program(require_program("tactus"), "play", "--host", port, "--seek", "soon").returncode == 2


def test_files_that_cannot_be_played_are_named(make_server, recorded, run_program, tmp_path):
    path, _ = recorded
    text = tmp_path / "text.mcap"
    text.write_text("not a recording")
    for bad, words in ((tmp_path / "none.mcap", "cannot be read"), (text, "not an MCAP file")):
        done = run_program(require_program("tactusd"), "--play", bad, "--control-port", "0", "--realtime-port", "0", "--web-port", "0")
        assert done.returncode == 1 and words in done.stderr and str(bad) in done.stderr
    done = run_program(require_program("tactusd"), "--play", path, "--record", tmp_path / "again.mcap")
    assert done.returncode == 1 and "--play" in done.stderr
    broken = tmp_path / "broken.mcap"
    assert run_program(require_program("tactus_record_forge"), path, broken, 'kind = "sphere"', 'kind = "teapot"').returncode == 0
    done = run_program(require_program("tactusd"), "--play", broken)
    assert done.returncode == 1 and "does not load any more" in done.stderr and "teapot" in done.stderr
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(path.read_bytes()[:-3000])
    server = make_server("--play", cut).start()
    with server.connect() as client:
        assert "cut off" in client.playback().damage and client.playback().duration_s > 0.5
        client.pause()
        position(client, 0.2)
