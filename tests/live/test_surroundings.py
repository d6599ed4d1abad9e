"""Disks that fill, terminals that close, service managers that watch: what becomes of the server, and what it says."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest
from conftest import REPOSITORY, assert_still_ticking

import tactus

SECONDS = 30  # patience; nothing here is judged by its time


def await_failed(client, expected):
    """Until the states say that the newest recording has failed, or that it has not."""
    end = time.monotonic() + SECONDS
    while bool(client.latest().status & tactus.Status.RECORD_FAILED) != expected:
        assert time.monotonic() < end, f"the bit RECORD_FAILED never became {expected}"
        time.sleep(0.02)


def test_a_full_disk_is_an_event_a_bit_and_an_exit_code(make_server):
    """/dev/full answers each write as a full disk does."""
    server = make_server("--record", "/dev/full").start()
    with server.connect(name="watcher") as client:
        client.subscribe()
        await_failed(client, True)
        assert client.statistics().recording.path == ""  # none runs any more
        assert_still_ticking(client)
    assert server.terminate() == 1
    assert "/dev/full" in server.log() and "No space left" in server.log()


def test_a_recording_that_fails_tells_every_client(make_server, tmp_path):
    """The file may not grow beyond a limit: as on a full disk, later. Clients that are there hear the event, and may record anew."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    (tmp_path / "server.toml").write_text(f'[record]\nfolder = "{folder}"\n')
    server = make_server("--config", tmp_path / "server.toml").start()
    with server.connect(name="watcher") as client, server.connect(name="other") as other:
        client.subscribe()
        other.start_recording("grows")
        subprocess.run(["prlimit", "--pid", str(server.process.pid), "--fsize=20000:unlimited"], check=True)
        event = client.wait_event("RECORD_FAILED", timeout_s=SECONDS)
        assert "grows" in event.text and "File too large" in event.text
        await_failed(client, True)
        subprocess.run(["prlimit", "--pid", str(server.process.pid), "--fsize=unlimited"], check=True)
        other.start_recording("again")
        await_failed(client, False)
        assert other.stop_recording().records > 0
    assert server.terminate() == 0  # nobody asked for a recording of the whole run


def test_a_terminal_that_closes_ends_it_as_sigterm_does(make_server, tmp_path):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path).start()
    with server.connect() as client:
        client.subscribe()
        tick = client.latest().tick
        server.process.send_signal(signal.SIGHUP)
        assert "SIGHUP" in client.wait_event("SERVER_STOPPING", timeout_s=SECONDS).text
    assert server.process.wait(timeout=SECONDS) == 0
    recording = tactus.record.read(path)
    assert recording.damage is None and recording.end is not None and recording.end.bytes_overtaken == 0
    assert max(state.tick for state in recording.states) >= tick


def test_under_nohup_it_goes_on(make_server):
    server = make_server()
    command = server.command
    server.command = lambda: ["nohup", *command()]
    server.start()
    server.process.send_signal(signal.SIGHUP)
    with server.connect() as client:
        assert_still_ticking(client)
    assert server.terminate() == 0


def test_what_cannot_be_written_is_said_at_start(make_server, tmp_path):
    (tmp_path / "server.toml").write_text('[record]\nfolder = "/proc/nowhere"\n')
    server = make_server("--config", tmp_path / "server.toml")
    server.environment["XDG_STATE_HOME"] = "/proc/nope"
    server.start()
    with server.connect() as client:
        assert_still_ticking(client)
    assert server.terminate() == 0
    log = server.log()
    assert "/proc/nope/tactus/black-box" in log and "[black_box] folder" in log
    assert "/proc/nowhere" in log and "[record] folder" in log


@pytest.fixture
def manager(tmp_path):
    """A service manager's socket; told(): what has been sent to it so far."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(tmp_path / "notify"))
    listener.settimeout(SECONDS)
    yield listener
    listener.close()


def test_a_service_manager_hears_that_it_is_ready_and_lives(make_server, manager):
    server = make_server()
    server.environment |= {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "200000"}
    server.start()
    assert manager.recv(100) == b"READY=1"
    for _ in range(3):
        assert manager.recv(100) == b"WATCHDOG=1"
    with server.connect() as client:
        client.pause()
        client.read()
        for _ in range(3):
            assert manager.recv(100) == b"WATCHDOG=1"  # a world that stands is no tick that hangs
    server.process.send_signal(signal.SIGTERM)
    while (word := manager.recv(100)) == b"WATCHDOG=1":
        pass
    assert word == b"STOPPING=1"
    assert server.process.wait(timeout=SECONDS) == 0


def test_a_service_keeps_its_files_in_its_state_directory(make_server, tmp_path):
    server = make_server()
    server.environment |= {"STATE_DIRECTORY": f"{tmp_path / 'state'}:{tmp_path / 'another'}"}
    server.start()
    with server.connect() as client:
        assert pathlib.Path(client.save_black_box("x").path).parent == tmp_path / "state" / "black-box"
    assert server.terminate() == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_the_unit_is_sound(tmp_path):
    """Its programs and folders need not be installed here: the rest must be right."""
    text = (REPOSITORY / "config" / "tactusd.service").read_text()
    unit = tmp_path / "tactusd.service"
    unit.write_text(text.replace("/usr/local/bin/tactusd", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"})
    assert done.returncode == 0 and "tactusd.service" not in done.stderr, done.stderr
    for key in ("Type=notify", "WatchdogSec=", "StateDirectory=tactus", "AF_NETLINK"):
        assert key in text
