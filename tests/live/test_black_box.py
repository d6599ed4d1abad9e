"""The black box: what the last seconds held, written on request and on faults, read again, and re-executed to the same bits."""
import random
import signal
import threading
import time

import pytest
from conftest import SCENE, eventually, require_program
from test_fault import signal_thread, tick_thread

import tactus

DUST = """
[[body]]
name = "{name}"
position_m = [0, {y}, 100]
mass_kg = 1e-306
inertia_kg_m2 = [1, 1, 1]
force_limit_n = 1e9
[[body.shape]]
kind = "box"
size_m = [0.1, 0.2, 0.4]
"""


@pytest.fixture
def boxed(make_server, tmp_path):
    """boxed(settings="", *flags, folder=...): a running server whose black box goes to `boxed.folder`."""

    def make(settings="", *flags, folder=tmp_path / "boxes", **options):
        config = tmp_path / f"server-{len(list(tmp_path.glob('*.toml')))}.toml"
        config.write_text(f'[black_box]\nfolder = "{folder}"\n{settings}')
        return make_server("--config", config, *flags, **options).start()

    make.folder = tmp_path / "boxes"
    return make


def drive(client, seconds=1.5, seed=1):
    """Pushes at random for a while; also commands that are refused. Returns what was sent: sequence -> force."""
    chance = random.Random(seed)
    sent = {}
    end = time.monotonic() + seconds
    with client.claim("block"):
        while time.monotonic() < end:
            force = tuple(chance.uniform(-30, 30) for _ in range(3))
            sent[client.push("block", force=force).sequence] = force
            time.sleep(0.004)
    return sent


def test_it_holds_states_commands_and_verdicts_of_the_last_seconds(boxed):
    with boxed().connect(name="driver") as client:
        stream = client.subscribe(["block"])
        sent = drive(client)
        seen = {state.tick: state for state in stream.states(0.2)}
        saved = client.save_black_box("by-request")
    recording = tactus.record.read(saved.path)
    assert recording.damage is None
    assert (recording.header.reason, recording.header.scene_name) == ("by-request", "live")
    assert "half_space" in recording.header.scene and "limits.bodies = " in recording.header.config
    # States: what was streamed, bit by bit; few are missing, and those are counted.
    recorded = {state.tick: state for state in recording.states}
    assert (saved.first_tick, saved.last_tick) == (min(recorded), max(recorded))
    common = seen.keys() & recorded.keys()
    assert len(common) > 50
    for tick in common:
        assert recorded[tick]["block"].p_WB == seen[tick]["block"].p_WB
        assert recorded[tick]["block"].v_WB == seen[tick]["block"].v_WB
    gaps = max(recorded) - min(recorded) + 1 - len(recorded)
    assert gaps == recording.end.states_lost
    # Commands: each one with who, what and its verdict; what acted is what was sent, from the tick of its verdict on.
    commands = {c.sequence: c for c in recording.commands() if c.client == "driver"}
    assert sent.keys() <= commands.keys()
    applied = {(w.tick, w.body_id): tuple(w.wrench) for w in recording.wrenches}
    block = recording.bodies.index("block")
    checked = 0
    for sequence, force in sent.items():
        command = commands[sequence]
        assert tuple(command.packet.wrench)[:3] == force
        if command.verdict == "APPLIED":
            checked += 1
            assert applied[command.tick, block] == force + (0, 0, 0)
    assert checked > 20


def test_refused_commands_and_what_was_done_to_the_world_stand_in_it(boxed):
    server = boxed()
    with server.connect(name="owner") as owner, server.connect(name="rival") as rival:
        with owner.claim("block"):
            packet = rival._command_packet({"block": tactus.Wrench(force=(1, 2, 3))}, 0.02, 0)
            refused = rival.connection.send_command(packet)
            assert eventually(lambda: rival.latest() and rival.find_verdict(refused))
        owner.set_model("deepest")
        owner.set_parameter("gravity_m_per_s2", "0,0,-3")
        owner.reset()
        recording = tactus.record.read(owner.save_black_box().path)
    judged = next(c for c in recording.commands() if c.client == "rival" and c.sequence == refused)
    assert judged.verdict == "REFUSED_LEASED_BY_OTHER"
    assert tuple(judged.packet.wrench)[:3] == (1, 2, 3)
    assert [(o.what, o.text, o.client) for o in recording.operations] == [
        ("set_model", "deepest", "owner"), ("set_parameter", "gravity_m_per_s2=0,0,-3", "owner"), ("reset", "", "owner")]  # fmt: skip
    tickets = {m.ticket: m.what for m in recording.marks if m.what}
    assert all(tickets[o.ticket] == o.what for o in recording.operations)


def test_a_recording_re_executes_to_the_same_bits(boxed, run_program):
    """From its first whole state, with the commands that it holds, to each hash that it holds: in free run, and in lockstep."""
    replay = require_program("tactus_replay_check")
    server = boxed("hash_every_ticks = 50\n")
    with server.connect(name="driver") as client:
        drive(client, 1.5)
        client.set_parameter("gravity_m_per_s2", "0.1,0,-9")
        drive(client, 1.0, seed=2)
        free = client.save_black_box("free-run")
        with client.lockstep() as lockstep:
            client.reset()
            for i in range(1500):
                if i % 3 == 0:
                    client.push("ball", force=(i % 7, -2, 0))
                lockstep.step()
            stepped = client.save_black_box("lockstep")
            final = lockstep.state_hash()
    ticks = free.last_tick - free.first_tick  # how many there were is the machine's to say
    for saved, least in ((free, ticks // 50 - 2), (stepped, 28)):
        done = run_program(replay, saved.path)
        assert done.returncode == 0, done.stdout + done.stderr
        words = dict(word.split("=") for word in done.stdout.split())
        assert int(words["hashes"]) >= least, done.stdout
        assert int(words["wrenches"]) > 100, done.stdout
    assert any(k.state_hash for k in tactus.record.read(stepped.path).keyframes)
    assert final


def test_nothing_is_lost_in_lockstep_however_fast(boxed):
    with boxed("", "--lockstep").connect(name="stepper") as client, client.lockstep() as lockstep:
        lockstep.step(3000)
        recording = tactus.record.read(client.save_black_box().path)
    assert [state.tick for state in recording.states] == list(range(1, 3001))
    assert (recording.end.states_lost, recording.end.rows_lost) == (0, 0)
    assert [hash.tick for hash in recording.hashes] == [1000, 2000, 3000]


def test_only_the_last_seconds_are_kept(boxed):
    with boxed("seconds = 2\n", "--lockstep").connect() as client, client.lockstep() as lockstep:
        lockstep.step(8000)
        recording = tactus.record.read(client.save_black_box().path)
    ticks = [state.tick for state in recording.states]
    assert ticks[-1] == 8000
    assert 2000 <= len(ticks) <= 3600  # and up to a second and a half more, so that a whole state stands at or before their begin
    assert recording.keyframes[0].tick <= 6000


def test_a_small_memory_keeps_fewer_states_and_says_so(boxed, run_program):
    with boxed("memory_bytes = 1048576\n", "--lockstep").connect() as client, client.lockstep() as lockstep:
        lockstep.step(9000)
        recording = tactus.record.read(client.save_black_box().path)
    every = recording.header.state_every
    assert every > 1
    ticks = [state.tick for state in recording.states]
    assert {b - a for a, b in zip(ticks, ticks[1:])} == {every}
    assert ticks[-1] - ticks[0] > 0.85 * 9000 - every


def ended(file):
    """It is written to its end."""
    try:
        return tactus.record.read(file).end is not None
    except tactus.record.NotARecording:  # not yet begun
        return False


def test_frozen_bodies_leave_one_file(boxed):
    server = boxed(scene=SCENE + DUST.format(name="dust", y=50) + DUST.format(name="mote", y=60))
    with server.connect() as client:
        client.push("ball", force=(1, 0, 0)).verdict()
        for name in ("dust", "mote"):
            client.push(name, force=(1e6, 0, 0)).verdict()  # an acceleration beyond where numbers end
            client.wait_event("BODY_FROZEN", timeout_s=10)
        files = eventually(lambda: [f for f in boxed.folder.glob("*.mcap") if "frozen-" in f.name], 10)
        assert files
        assert eventually(lambda: ended(files[0]))
        recording = tactus.record.read(files[0])
        assert recording.damage is None
        assert "BODY_FROZEN" in recording.summary()
        assert recording.states[-1].status & tactus.Status.BODY_FROZEN
        time.sleep(0.5)
        assert len(list(boxed.folder.glob("*.mcap"))) == 1  # though two bodies froze


def test_a_crash_of_the_tick_leaves_its_last_seconds(boxed):
    server = boxed()
    with server.connect(reconnect=False) as client:
        stream = client.subscribe(["block"])
        drive(client, 0.5)
        newest = stream.newest().tick
        signal_thread(server.process.pid, tick_thread(server.process.pid), signal.SIGSEGV)
        assert server.process.wait(timeout=20) == -signal.SIGSEGV
    (file,) = boxed.folder.glob("*.mcap")
    assert "fault" in file.name
    recording = tactus.record.read(file)
    assert recording.damage is None
    assert recording.states[-1].status & tactus.Status.FAULT
    assert recording.states[-1].tick >= newest
    assert "black box" in server.log()


def test_a_folder_that_cannot_be_written_is_named_and_the_loop_goes_on(boxed, tmp_path):
    (tmp_path / "occupied").write_text("a file")
    server = boxed(folder=tmp_path / "occupied" / "below")
    with server.connect() as client:
        before = client.latest().tick
        with pytest.raises(tactus.RequestError, match="NOT_WRITTEN.*occupied"):
            client.save_black_box()
        with pytest.raises(tactus.BadValue, match="reason"):
            client.save_black_box("../../etc/passwd")
        assert eventually(lambda: client.latest().tick > before + 50)
        assert client.push("block", force=(1, 0, 0)).verdict().applied
    assert server.terminate() == 0


def test_a_folder_whose_disk_takes_nothing_holds_neither_the_loop_nor_the_end(boxed, make_server, tmp_path):
    config = tmp_path / "server.toml"
    config.write_text(f'[black_box]\nfolder = "{boxed.folder}"\n')
    server = make_server("--config", config)
    server.environment |= {"LD_PRELOAD": str(require_program("libtactus_stuck_disk.so")), "TACTUS_STUCK_FOLDER": str(boxed.folder)}
    server.start()
    with server.connect() as waiting, server.connect(name="driver") as client:
        request = threading.Thread(target=lambda: pytest.raises((tactus.TimedOut, tactus.LinkLost), waiting.save_black_box), daemon=True)
        request.start()
        assert eventually(lambda: list(boxed.folder.glob("*")))
        before = client.latest().tick
        with client.claim("block"):
            assert client.push("block", force=(1, 0, 0)).verdict().applied
        with pytest.raises(tactus.RequestError, match="being written"):
            client.save_black_box()
        assert eventually(lambda: client.latest().tick > before + 500)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=30) == 1
        assert time.monotonic() - began > 4
    request.join(timeout=30)
    assert not request.is_alive()
    assert str(boxed.folder) in server.log() and "has taken nothing for 5 s" in server.log()


def test_without_a_black_box_a_request_says_so_and_no_more_files_than_allowed_are_written(boxed):
    with boxed("seconds = 0\n").connect() as client, pytest.raises(tactus.WrongState, match="black_box.seconds"):
        client.save_black_box()
    with boxed("files = 1\n").connect() as client:
        client.save_black_box()
        with pytest.raises(tactus.Full, match="black_box.files"):
            client.save_black_box()


def test_the_command_line_saves_and_shows(boxed, run_program, tmp_path):
    program = require_program("tactus")
    server = boxed()
    host = ("--host", f"127.0.0.1:{server.port}")
    with server.connect(name="driver") as client:
        drive(client, 0.3)
        first = run_program(program, "blackbox", "save", "--reason", "cli", *host)
        second = run_program(program, "record", "--black-box", "--json", *host)
        assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    (file,) = boxed.folder.glob("*-cli.mcap")
    assert str(file) in first.stdout
    table = tmp_path / "states.csv"
    shown = run_program(program, "blackbox", "show", file, "--csv", table)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "APPLIED" in shown.stdout and "complete" in shown.stdout
    recording = tactus.record.read(file)
    with open(tmp_path / "python.csv", "w", newline="", encoding="utf-8") as out:
        rows = recording.write_csv(out)
    ours, its = (path.read_text().splitlines() for path in (table, tmp_path / "python.csv"))
    assert len(ours) == len(its) == rows + 1
    assert ours[0] == its[0]
    for a, b in ((ours[1], its[1]), (ours[-1], its[-1])):
        assert [float(x) for x in a.split(",")[3:]] == [float(x) for x in b.split(",")[3:]]
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(file.read_bytes()[:-10])
    shown = run_program(program, "blackbox", "show", cut)
    assert shown.returncode == 1 and "damaged: at byte" in shown.stdout
    assert tactus.record.read(cut).damage in shown.stdout
    nothing = run_program(program, "blackbox", "show", tmp_path / "states.csv")
    assert nothing.returncode == 1 and "not a recording of Tactus" in nothing.stderr
