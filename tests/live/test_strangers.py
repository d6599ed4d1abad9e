"""Strangers, full servers, slow scenes, forks and refusals: each client works or says the true reason, and is of use after it."""
import json
import multiprocessing
import os
import signal
import subprocess
import threading
import time

import pytest
import tactus
from conftest import REPOSITORY, eventually, require_program

TOKEN = "a live test's token, not a secret"


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def tool(run_program):
    def run(*arguments, port, token_file=None):
        with_token = ("--token-file", token_file) if token_file else ()
        return run_program(require_program("tactus"), *arguments, "--json", "--host", f"127.0.0.1:{port}", *with_token)

    return run


def said_by(done):
    """The words of a failed command, which JSON and the terminal have alike."""
    words = json.loads(done.stdout.splitlines()[-1])["error"]
    assert words in done.stderr
    return words


def config(folder, text):
    path = folder / "own.toml"
    path.write_text(text)
    return ("--config", path)


def pushes(client):
    return client.push("block", force=(1, 0, 0)).verdict(5).applied


# --- who has a token


def test_a_server_that_needs_no_token_is_refused_by_python_and_the_command_line(server, token_file, tool):
    with pytest.raises(tactus.AuthenticationError, match="says that it needs no token"):
        server.connect(token_file=token_file)
    for command in (("status",), ("push", "block", "--force", "1,0,0"), ("pause",)):
        done = tool(*command, port=server.port, token_file=token_file)
        assert done.returncode == 1
        assert "says that it needs no token" in said_by(done) and "--token-file" in said_by(done)
    with server.connect() as client:
        assert not client.statistics().paused and client.leases() == []
    assert tool("status", port=server.port).returncode == 0


@pytest.mark.parametrize(
    "mode, text, part",
    [(0o620, TOKEN, "chmod go-w"), (0o602, TOKEN, "chmod go-w"), (0o600, "", "it is empty"), (0o600, "short", "5 bytes")],
)
def test_a_token_file_that_is_none_is_named_by_every_client(tool, tmp_path, mode, text, part):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    done = tool("status", port=1, token_file=path)
    assert done.returncode == 2 and part in said_by(done) and str(path) in said_by(done)
    with pytest.raises(tactus.TokenFileError, match=part):
        tactus.connect("127.0.0.1", 1, token_file=path)


def test_a_folder_and_a_file_that_is_not_there_are_named_by_the_command_line(tool, tmp_path):
    done = tool("status", port=1, token_file=tmp_path)
    assert done.returncode == 2 and "found a folder" in said_by(done)
    done = tool("status", port=1, token_file=tmp_path / "none")
    assert done.returncode == 2 and "No such file" in said_by(done) and "--token-file" in said_by(done)


def test_a_token_file_that_others_read_is_warned_of_once(make_server, tool, token_file):
    server = make_server("--token-file", token_file).start()
    assert tool("status", port=server.port, token_file=token_file).stderr == ""
    token_file.chmod(0o604)
    done = tool("status", port=server.port, token_file=token_file)
    assert done.returncode == 0 and done.stderr.count("chmod o-r") == 1


# --- full servers


@pytest.mark.parametrize("with_token", [False, True])
def test_full_is_said_to_every_client(make_server, tmp_path, tool, token_file, with_token):
    given = dict(token_file=token_file) if with_token else {}
    flags = ("--token-file", token_file) if with_token else ()
    server = make_server(*config(tmp_path, "[limits]\nclients = 1\n"), *flags).start()
    with server.connect(**given) as only:
        with pytest.raises(tactus.ServerFull, match="limits.clients"):
            server.connect(**given)
        done = tool("status", port=server.port, **given)
        assert done.returncode == 1 and "limits.clients" in said_by(done) and "wrong token" not in said_by(done)
        assert only.statistics().tick > 0
    assert eventually(lambda: tool("status", port=server.port, **given).returncode == 0)


def test_a_client_comes_back_by_itself_to_a_server_that_was_full(make_server, tmp_path):
    full = config(tmp_path, "[limits]\nclients = 1\n")
    server = make_server(*full).start()
    with server.connect(name="patient") as patient:
        patient.subscribe()
        os.kill(server.process.pid, signal.SIGSTOP)  # so that the other one is faster, whatever the machine does
        server.kill()
        patient.wait_event("LINK_LOST")
        patient.connection._open_link, come_back = lambda: (_ for _ in ()).throw(OSError("not yet")), patient.connection._open_link
        server.start()
        with server.connect(name="faster"):
            patient.connection._open_link = come_back
            assert eventually(lambda: "limits.clients" in patient.connection.down_text(), 20)
            with pytest.raises(tactus.LinkLost, match="limits.clients"):
                patient.statistics()
        patient.wait_event("RECONNECTED", timeout_s=20)
        patient.arm()
        assert patient.read().tick > 0 and pushes(patient)


# --- scenes


def test_load_waits_for_a_scene_that_takes_longer_than_other_requests(make_server, tmp_path):
    """A pile of this size is settled for seconds before it is shown; requests of this client take at most 0.3 s."""
    server = make_server()
    server.duration_s = 300
    server.start()
    scene = server.scene_file.stem
    with server.connect(timeout_s=0.3) as client, server.connect(name="watch") as watch:
        watch.subscribe()
        assert client.load("pile", n=400).name == "pile"
        assert client.armed and "block" not in client.scene
        assert watch.wait_event("SCENE_CHANGED", timeout_s=10).text
        assert client.read().scene_epoch == client.scene_epoch and scene != "pile"


def test_a_scene_that_is_refused_in_foreign_letters_leaves_the_connection(make_server, tmp_path):
    (tmp_path / "r.urdf").write_bytes('<robot name="r"><link name="gl\u00fch"/></robot>'.encode("latin-1"))
    (tmp_path / "foreign.toml").write_text('step_s = 0.001\n[[robot]]\nname = "r"\nurdf = "r.urdf"\n')
    server = make_server(*config(tmp_path, f'[scene]\ndirectory = "{tmp_path}"\n')).start()
    with server.connect() as client:
        with pytest.raises(tactus.BadScene, match="expected a name of"):
            client.load("foreign")
        assert client.reconnects == 0 and pushes(client)


def test_what_is_no_scene_holds_nobody_up(make_server, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    (tmp_path / "deep.toml").write_text("a." * 50_000 + "a = 1\n")
    server = make_server(*config(tmp_path, f'[scene]\ndirectory = "{tmp_path}"\n')).start()
    with server.connect() as client:
        assert "pipe" not in client.scenes() and "endless" not in client.scenes()
        for name in ("pipe", "endless", "deep"):
            with pytest.raises(tactus.TactusError):
                client.load(name)
        with pytest.raises(tactus.TactusError, match="step_s"):
            client.load("live", step_s=1e-10)
        assert client.reconnects == 0 and pushes(client)


def test_a_pause_ends_a_step_that_is_under_way(server):
    with server.connect(timeout_s=20) as client, client.claim("world"):
        client.pause()
        ends = []

        def step():
            try:
                ends.append(client.step(1_000_000))
            except tactus.TactusError as error:
                ends.append(error)

        stepping = threading.Thread(target=step)
        stepping.start()
        first = client.statistics().tick
        assert eventually(lambda: client.statistics().tick > first)
        client.pause()
        stepping.join(timeout=10)
        assert len(ends) == 1
        tick = client.statistics().tick
        time.sleep(0.1)
        assert client.statistics().tick == tick
        client.resume()


# --- programs


def test_lockstep_goes_on_after_a_refusal_that_was_expected(make_server):
    server = make_server(scene=(REPOSITORY / "config" / "scenes" / "arm7.toml").read_text().replace('"../', f'"{REPOSITORY}/config/')).start()
    with server.connect() as client:
        client.subscribe(joints=["arm"])
        with client.lockstep() as lockstep, client.claim("joint/arm/*"):
            q = list(map(float, lockstep.step().robot("arm").q))
            for _ in range(2):
                client.command_robot("arm", position=[99.0] * len(q))
                with pytest.raises(tactus.LockstepError, match="REFUSED_OUT_OF_RANGE"):
                    lockstep.step()
                assert client.statistics().tick == lockstep.tick
                client.command_robot("arm", position=q)
                assert lockstep.step().tick == lockstep.tick


def use_in_the_child(client, port, told):
    try:
        client.push("block", force=(1, 0, 0))
    except tactus.UsedAfterFork as error:
        told.send(str(error))
    with tactus.connect("127.0.0.1", port, name="child") as own:
        told.send(own.latest().tick)


def test_the_parent_of_a_forked_child_goes_on_and_the_child_is_told(server):
    with server.connect(name="parent") as client:
        client.subscribe()
        assert pushes(client)
        for _ in range(3):
            here, there = multiprocessing.Pipe()
            child = multiprocessing.get_context("fork").Process(target=use_in_the_child, args=(client, server.port, there))
            child.start()
            assert here.poll(20) and f"process {os.getpid()}" in here.recv()
            assert here.poll(20) and here.recv() > 0
            child.join(20)
            assert child.exitcode == 0 and client.reconnects == 0 and client.armed and pushes(client)
    assert "mac is wrong" not in server.log()


def test_a_push_of_the_command_line_ends_with_the_true_reason_when_its_server_ends(server):
    arguments = [require_program("tactus"), "push", "block", "--force", "1,0,0", "--for-s", "30", "--host", f"127.0.0.1:{server.port}"]
    with server.connect() as watch, subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as push:
        try:
            assert eventually(lambda: [e.channel for e in watch.leases()] == ["body/block/wrench"], 20)
            server.kill()
            said = push.communicate(timeout=20)[0]
        finally:
            push.kill()
    assert push.returncode == 1 and "stopped early: the connection was lost" in said, said


def test_an_interrupted_push_of_the_command_line_gives_its_body_back(server):
    arguments = [require_program("tactus"), "push", "block", "--force", "1,0,0", "--for-s", "30", "--host", f"127.0.0.1:{server.port}"]
    with server.connect() as watch, subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as push:
        try:
            assert eventually(lambda: watch.leases(), 20)
            push.send_signal(signal.SIGINT)
            assert push.wait(20) in (0, 1)
        finally:
            push.kill()
        assert watch.leases() == []
