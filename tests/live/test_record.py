"""Recordings of a whole run: read by the format's own public reader, cut, changed, and re-executed to the same bits."""
import json
import os
import pathlib
import random
import re
import resource
import signal
import threading
import time

import pytest
from conftest import REPOSITORY, SCENE, eventually, require_program
from websocket import get

import tactus

CHECK = (REPOSITORY / "tests" / "interop" / "run", "mcap")
PILE = (REPOSITORY / "config" / "scenes" / "pile.toml").read_text()
MODELS = ("penalty", "deepest", "lcp", "st", "ap", "lnc", "peg")


def replayed(run_program, path, *, program="tactus-sim", exit_code=0):
    """The JSON object of --replay."""
    done = run_program(require_program(program), "--replay", path, timeout=300)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return json.loads(done.stdout) | {"stderr": done.stderr}


def publicly_read(run_program, *paths, recover=False):
    """What @mcap/core and @mcap/support make of these files: one object each."""
    done = run_program(*CHECK, *(["--recover"] if recover else []), *paths, timeout=400)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    out = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(file["ok"] for file in out), [file["error"] for file in out]
    return out


def counters(server, *names):
    """Numbers of one scrape of /metrics."""
    _, body = get(server.web_port, "/metrics")
    return [float(re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)[1]) for name in names]


def command_at_random(client, bodies, seconds, seed=1):
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    with client.claim(*bodies):
        while time.monotonic() < end:
            client.push(chance.choice(bodies), force=[chance.uniform(-20, 20) for _ in range(3)], deadline_s=0.01)
            time.sleep(0.003)


@pytest.mark.parametrize("model", MODELS)
def test_a_pile_under_commands_in_free_run_is_re_executed_in_every_model(make_server, run_program, tmp_path, model):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, "--model", model, "--set", "n=12", scene=PILE).start()
    with server.connect(name="commander") as client:
        names = [body.name for body in client.scene if body.mode == "free"][-4:]
        command_at_random(client, names, 2.0)
    assert server.terminate() == 0
    result = replayed(run_program, path)
    assert result["identical"] and result["difference"] is None
    assert result["states"] > 500 and result["wrenches"] > 50 and result["hashes"] >= 2, result
    if model not in ("penalty", "deepest"):
        assert result["adoptions"] > 5, result
    recording = tactus.record.read(path)
    assert recording.damage is None
    (read,) = publicly_read(run_program, path)
    assert read["counts"]["tactus/state"] == len(recording.states)
    assert {"scene.toml", "config.toml"} <= set(read["attachments"])


def test_what_was_done_to_the_world_is_re_executed(make_server, run_program, tmp_path):
    """Models that are switched, also while a slow one's step is under way; parameters, reset, snapshot and restore, pause."""
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, scene=SCENE).start()
    with server.connect(name="owner") as client, server.connect(name="pusher") as pusher:
        pushing = threading.Thread(target=command_at_random, args=(pusher, ["block", "ball"], 6.0))
        pushing.start()
        for model in ("st", "deepest", "lcp", "penalty", "ap"):
            client.set_model(model)
            time.sleep(0.3)
        client.snapshot("kept")
        client.set_parameter("gravity_m_per_s2", "0.5,0,-9")
        time.sleep(0.2)
        client.restore("kept")
        time.sleep(0.2)
        client.set_model("penalty")
        client.reset()
        time.sleep(0.2)
        client.pause()
        time.sleep(0.1)
        client.resume()
        client.restore("kept")
        time.sleep(0.2)
        client.set_model("deepest")
        pushing.join()
    assert server.terminate() == 0
    result = replayed(run_program, path)
    assert result["identical"] and result["gaps"] == 0, result
    assert result["adoptions"] > 50 and result["wrenches"] > 500
    assert replayed(run_program, path, program="tactusd")["identical"]


@pytest.mark.parametrize("model", ["penalty", "st"])
def test_black_boxes_and_recordings_that_begin_amid_a_run_are_re_executed(make_server, run_program, tmp_path, model):
    config = tmp_path / "server.toml"
    config.write_text(f'[record]\nfolder = "{tmp_path}/runs"\n[black_box]\nfolder = "{tmp_path}/boxes"\nhash_every_ticks = 50\n')
    tool = require_program("tactus")
    server = make_server("--config", config, "--model", model, scene=SCENE).start()
    host = ("--host", f"127.0.0.1:{server.port}")
    with server.connect(name="driver") as client:
        command_at_random(client, ["block"], 1.0)
        started = run_program(tool, "record", "start", "--name", "amid", "--json", *host)
        assert started.returncode == 0, started.stderr
        assert run_program(tool, "record", "start", *host).returncode == 1  # one at a time
        command_at_random(client, ["block", "ball"], 2.0, seed=2)
        box = client.save_black_box("amid").path
        stopped = run_program(tool, "record", "stop", "--json", *host)
        assert stopped.returncode == 0, stopped.stderr
        assert client.statistics().black_box.kept_s > 1
        with pytest.raises(tactus.WrongState, match="nothing"):
            client.stop_recording()
        with pytest.raises(tactus.BadValue, match="name"):
            client.start_recording("../up")
    path = json.loads(stopped.stdout)["path"]
    assert path == json.loads(started.stdout)["path"] and pathlib.Path(path).parent == tmp_path / "runs"
    for file, least in ((path, 1000), (box, 1500)):
        result = replayed(run_program, file)
        assert result["identical"] and result["states"] > least / 2 and result["wrenches"] > least / 4, result
    publicly_read(run_program, path, box)


def test_without_a_folder_clients_have_nothing_recorded(server):
    with server.connect() as client, pytest.raises(tactus.WrongState, match="record.folder"):
        client.start_recording()


def test_a_killed_server_leaves_all_but_its_last_second(make_server, run_program, tmp_path):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path).start()
    with server.connect(reconnect=False) as client:
        time.sleep(2.5)
        newest = client.latest().tick
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    recording = tactus.record.read(path)
    assert "cut off" in recording.damage
    assert recording.states[-1].tick > newest - 1000
    result = replayed(run_program, path, exit_code=1)  # whatever is there is the same; but it is not whole
    assert result["difference"] is None and "cut off" in result["damage"] and result["steps"] > 1000
    (read,) = publicly_read(run_program, path, recover=True)
    assert read["states"] == len(recording.states)


def test_cut_files_are_read_up_to_their_last_chunk_and_changed_ones_are_found_out(make_server, run_program, tmp_path):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path).start()
    time.sleep(2)
    assert server.terminate() == 0
    data, chance = path.read_bytes(), random.Random(5)
    whole = tactus.record.read(path)
    cuts = []
    for i in range(5):
        cuts.append(tmp_path / f"cut-{i}.mcap")
        cuts[-1].write_bytes(data[: chance.randrange(len(data) // 3, len(data) - 1)])
    for cut, read in zip(cuts, publicly_read(run_program, *cuts, recover=True)):
        recording = tactus.record.read(cut)
        assert recording.damage
        assert [s.tick for s in recording.states] == [s.tick for s in whole.states][: len(recording.states)]
        assert read["states"] == len(recording.states)  # theirs and ours agree on how far the file goes
    for i in range(5):
        at = chance.randrange(len(data))
        changed = tmp_path / "changed.mcap"
        changed.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
        try:
            assert tactus.record.read(changed).damage
        except tactus.record.NotARecording:
            assert at < 20000  # the first chunk
        done = run_program(require_program("tactus-sim"), "--replay", changed)
        assert done.returncode == 1 and "changed.mcap" in done.stderr


def test_a_difference_is_named_by_tick_body_and_quantity(make_server, run_program, tmp_path):
    """A file whose scene was changed afterwards: another gravity, in a file that is sound otherwise."""
    path = tmp_path / "run.mcap"
    config = tmp_path / "server.toml"
    config.write_text('[black_box]\nhash_every_ticks = 100\n')
    server = make_server("--record", path, "--config", config).start()
    with server.connect() as client:
        command_at_random(client, ["ball"], 1.0)
    assert server.terminate() == 0
    forged = tmp_path / "forged.mcap"
    done = run_program(require_program("tactus_record_forge"), path, forged, "mass_kg = 1\n", "mass_kg = 2\n")
    assert done.returncode == 0, done.stderr
    result = replayed(run_program, forged, exit_code=1)
    assert result["difference"].startswith("tick ") and ("body block" in result["difference"] or "body ball" in result["difference"])
    assert any(word in result["difference"] for word in ("position", "velocity", "turning", "orientation"))
    assert "another build" in result["stderr"] and "first difference" in result["stderr"]
    broken = tmp_path / "broken.mcap"
    assert run_program(require_program("tactus_record_forge"), path, broken, 'kind = "sphere"', 'kind = "teapot"').returncode == 0
    done = run_program(require_program("tactus-sim"), "--replay", broken)
    assert done.returncode == 1 and "does not load any more" in done.stderr and "teapot" in done.stderr
    greedy = tmp_path / "greedy.mcap"  # would take terabytes
    assert run_program(require_program("tactus_record_forge"), path, greedy, "limits.bodies = 1024", "limits.bodies = 4000000000").returncode == 0
    for program in ("tactus-sim", "tactusd"):
        done = run_program(require_program(program), "--replay", greedy)
        assert done.returncode == 1 and "'limits.bodies = 4000000000', expected 1 to 16384" in done.stderr, done.stderr


def test_files_that_are_none_and_paths_that_cannot_be_written_are_named(make_server, run_program, tmp_path):
    text = tmp_path / "text.mcap"
    text.write_text("hello, this is text and no recording")
    for program in ("tactus-sim", "tactusd"):
        done = run_program(require_program(program), "--replay", text)
        assert done.returncode == 1 and "not a recording of Tactus" in done.stderr, done.stderr
        done = run_program(require_program(program), "--replay", tmp_path / "nothing.mcap")
        assert done.returncode == 1 and "nothing.mcap" in done.stderr
    for path in (text, tmp_path / "no" / "folder" / "run.mcap"):
        code, said = make_server("--record", path).run_to_end()
        assert code == 1 and str(path) in said
    assert text.read_text().startswith("hello")


def test_a_full_disk_ends_the_recording_and_nothing_else(make_server, run_program, tmp_path):
    limit = 300_000
    path = tmp_path / "run.mcap"
    server = make_server("--record", path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with server.connect() as client:
        assert eventually(lambda: "the recording has ended" in server.log(), 30)
        tick = client.latest().tick
        assert eventually(lambda: client.latest().tick > tick + 100)
        assert not client.statistics().HasField("recording")
    assert str(path) in server.log() and "File too large" in server.log()
    assert server.terminate() == 1
    assert path.stat().st_size <= limit
    recording = tactus.record.read(path)
    assert "cut off" in recording.damage and len(recording.states) > 100
    assert replayed(run_program, path, exit_code=1)["difference"] is None


def test_export_to_csv_and_numpy(make_server, run_program, tmp_path):
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "run.mcap"
    server = make_server("--record", path).start()
    with server.connect() as client:
        command_at_random(client, ["block"], 0.5)
    assert server.terminate() == 0
    done = run_program(require_program("tactus"), "export", path, "--csv", tmp_path / "run.csv", "--npz", tmp_path / "run.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    recording = tactus.record.read(path)
    arrays = numpy.load(tmp_path / "run.npz")
    assert arrays["tick"].tolist() == [s.tick for s in recording.states]
    bodies = recording.bodies
    assert arrays["pose"].shape == (len(recording.states), len(bodies), 7)
    block = bodies.index("block")
    assert arrays["pose"][-1, block, :3].tolist() == list(recording.states[-1]["block"].p_WB)
    assert arrays["velocity"][-1, block, :3].tolist() == list(recording.states[-1]["block"].v_WB)
    row = {tick: i for i, tick in enumerate(arrays["tick"])}
    acted = [w for w in recording.wrenches if w.tick in row and w.body_id == block]
    assert len(acted) > 50
    assert all(arrays["wrench"][row[w.tick], block].tolist() == list(w.wrench) for w in acted)
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert len(lines) == 1 + len(recording.states) * len(bodies)
    last = lines[-len(bodies) + block].split(",")
    assert [float(x) for x in last[3:6]] == list(recording.states[-1]["block"].p_WB)


def test_the_last_seconds_in_lockstep_lose_nothing(make_server, run_program, tmp_path):
    """However fast: the recorder is waited for."""
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, "--lockstep", "--model", "st").start()
    with server.connect(name="stepper") as client, client.lockstep() as lockstep:
        for i in range(300):
            client.push("ball", force=(i % 7, -2, 0))
            lockstep.step(10)
    assert server.terminate() == 0
    recording = tactus.record.read(path)
    assert [s.tick for s in recording.states] == list(range(1, 3001))
    assert (recording.end.states_lost, recording.end.rows_lost, recording.end.bytes_overtaken) == (0, 0, 0)
    result = replayed(run_program, path)
    assert result["identical"] and result["adoptions"] == 300, result


def test_a_new_scene_amid_a_recording_goes_on_in_a_file_of_its_own(make_server, run_program, tmp_path):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path).start()
    with server.connect(name="owner") as client:
        command_at_random(client, ["block"], 0.6)
        client.load("pile", n=8)
        time.sleep(0.8)
    assert server.terminate() == 0
    for file, scene in ((path, "live"), (tmp_path / "run-2.mcap", "pile")):
        assert tactus.record.read(file).header.scene_name == scene
        result = replayed(run_program, file)
        assert result["identical"] and result["states"] > 100, result


def test_a_recording_opens_in_any_viewer_that_knows_foxgloves_schemas(make_server, run_program, tmp_path):
    """Without our code: frames of all bodies at the rate of the config, the scene with its meshes, arrows of contact forces; and none when told so."""
    path, without = tmp_path / "run.mcap", tmp_path / "without.mcap"
    server = make_server("--lockstep", "--record", path)
    server.scene_file = REPOSITORY / "config" / "scenes" / "meshes.toml"
    server.start()
    with server.connect() as client, client.lockstep() as lockstep:
        bodies = {body.name for body in client.scene}
        lockstep.step(1500)
    assert server.terminate() == 0
    (read,) = publicly_read(run_program, path)
    assert read["counts"]["/tf"] == 1 + 1500 // 17  # every 17th tick: at most 60 a second
    assert read["counts"]["/contacts"] in (1500 // 17, 1 + 1500 // 17)  # the first state comes before the first contacts that are kept
    assert read["counts"]["/scene"] == 1 and read["viewer"]["frames"] == sorted(bodies) == sorted(read["viewer"]["entities"])
    assert read["viewer"]["models"] > 0 and read["viewer"]["models"] == read["viewer"]["stl"]  # all with their triangles
    assert read["viewer"]["arrows"] > 0 and read["viewer"]["late_stamps"] == 0
    assert replayed(run_program, path)["identical"]
    (tmp_path / "server.toml").write_text("[record]\nviewer_hz = 0\n")
    server = make_server("--record", without, "--config", tmp_path / "server.toml").start()
    time.sleep(0.5)
    assert server.terminate() == 0
    (read,) = publicly_read(run_program, without)
    assert not any(topic.startswith("/") for topic in read["counts"])


@pytest.mark.parametrize("model", ["penalty", "st"])
def test_a_recording_in_free_run_begins_with_the_first_tick(make_server, run_program, tmp_path, model):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, "--model", model).start()
    time.sleep(0.5)
    assert server.terminate() == 0
    recording = tactus.record.read(path)
    assert [s.tick for s in recording.states[:100]] == list(range(1, 101))
    result = replayed(run_program, path)
    assert result["identical"] and result["first_tick"] == 0 and result["states"] == len(recording.states), result


class Pipe:
    """A sink of a recording that takes nothing until it is told to: then all goes into a file."""

    def __init__(self, folder):
        self.path, self.copy = folder / "pipe", folder / "copy.mcap"
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def drain(self):
        os.set_blocking(self.reader, True)

        def read_all():
            with self.copy.open("wb") as out:
                while data := os.read(self.reader, 1 << 16):
                    out.write(data)

        self.thread = threading.Thread(target=read_all)
        self.thread.start()


def overtaken(make_server, tmp_path):
    """A server that records a pile into a pipe, when the recording is known to have lost something."""
    (tmp_path / "server.toml").write_text("[record]\nring_bytes = 1048576\n")
    pipe = Pipe(tmp_path)
    server = make_server("--record", pipe.path, "--config", tmp_path / "server.toml", "--set", "n=30", scene=PILE).start()
    return pipe, server


def test_a_recorder_that_is_overtaken_says_so_and_the_loop_goes_on(make_server, run_program, tmp_path):
    """The bit in the state, the event, the counter of /metrics, the file's last words, the replay: each says it."""
    pipe, server = overtaken(make_server, tmp_path)
    with server.connect(name="commander") as client:
        bits = []
        pushing = threading.Thread(target=command_at_random, args=(client, [b.name for b in client.scene if b.mode == "free"][-4:], 8.0))
        pushing.start()
        with server.connect(name="watcher") as watcher:
            before = watcher.statistics()
            event = watcher.wait_event("RECORD_LOST", timeout_s=60)
            assert str(pipe.path) in event.text and not re.search(r"\b0 bytes", event.text)
            assert eventually(lambda: bits.append(watcher.latest().status) or any(b & tactus.Status.RECORD_LOST for b in bits), 30)
            statistics = watcher.statistics()
            assert statistics.recording.bytes_overtaken > 0 and statistics.black_box.bytes_overtaken >= statistics.recording.bytes_overtaken
            assert statistics.black_box.states_lost == statistics.black_box.rows_lost == 0  # the recorder itself kept up
            assert eventually(lambda: counters(server, "tactus_recorder_overtaken_bytes_total")[0] > 0)
            # The loop: every beat had its tick, commands were applied.
            beats, ticks = counters(server, "tactus_beats_total", "tactus_ticks_total")
            assert abs(beats - ticks) <= 3  # while it was read
            assert statistics.tick > before.tick + 500
            assert sum(c.commands_applied for c in statistics.clients) > 100
        pipe.drain()
        pushing.join()
        assert eventually(lambda: counters(server, "tactus_recorder_written_bytes_total")[0] > 1e6)
    assert server.terminate() == 0
    pipe.thread.join()
    assert "the recorder or the disk was too slow" in server.log() and "which says where" in server.log()
    recording = tactus.record.read(pipe.copy)
    assert recording.damage is None and recording.end.bytes_overtaken > 0
    result = replayed(run_program, pipe.copy)
    assert result["gaps"] >= 1 and result["difference"] is None and result["states"] > 1000, result
    assert "rows are missing at" in result["stderr"]


def test_a_disk_that_never_answers_does_not_hold_the_end(make_server, tmp_path):
    """Its threads are left behind, and said to be; what it has taken can be read."""
    pipe, server = overtaken(make_server, tmp_path)
    with server.connect() as client:
        assert client.wait_event("RECORD_LOST", timeout_s=60)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=30) == 1
    assert time.monotonic() - began > 4
    assert str(pipe.path) in server.log() and "has taken nothing for 5 s" in server.log()
    pipe.drain()
    pipe.thread.join()
    recording = tactus.record.read(pipe.copy)  # 64 KiB: the header and the first keyframe
    assert "cut off" in recording.damage and recording.header.scene_name == "live"


def test_a_pipe_that_nobody_reads_is_refused(make_server, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, said = make_server("--record", tmp_path / "pipe").run_to_end()
    assert code == 1 and "a pipe that nobody reads" in said


OTHER_BUILDS = [p for p in os.environ.get("TACTUS_OTHER_SIMS", "").split(":") if p] or sorted(
    str(p) for p in (REPOSITORY / "build").glob("*/bin/tactus-sim") if p.parent.parent.name != "release")  # fmt: skip


def test_another_build_says_that_it_is_one_and_where_it_first_differs(make_server, run_program, tmp_path):
    """Programs of other compilers and levels of optimisation, where they have been built (.ci/run bits)."""
    if not OTHER_BUILDS:
        pytest.skip("there is no other build: .ci/run bits makes some")
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, "--set", "n=12", scene=PILE).start()
    with server.connect(name="commander") as client:
        command_at_random(client, [b.name for b in client.scene if b.mode == "free"][-4:], 1.5)
    assert server.terminate() == 0
    for program in OTHER_BUILDS:
        done = run_program(program, "--replay", path, timeout=600)
        result = json.loads(done.stdout)
        assert result["build"] not in result["recorded_by"]
        assert "recorded by another build" in done.stderr and result["build"] in done.stderr
        assert done.returncode == (0 if result["identical"] else 1)
        if not result["identical"]:
            assert re.match(r"tick \d+: (body|joint|the state)", result["difference"]) and "first difference at tick" in done.stderr
        print(f"{result['build']}: identical {result['identical']}, {result['difference']}")
