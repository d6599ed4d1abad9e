"""When the tick thread fails, whoever listens hears FAULT and zero force, and why; and the process ends as what it died of."""
import ctypes
import pathlib
import platform
import signal

import pytest
from conftest import eventually

import tactus

SYS_TGKILL = {"x86_64": 234, "aarch64": 131}


def tick_thread(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "tactus-tick":
            return int(task.name)
    return pytest.fail("no thread tactus-tick")


def signal_thread(pid, thread, number):
    machine = platform.machine()
    if machine not in SYS_TGKILL:
        pytest.skip(f"the number of tgkill on {machine} is not known here")
    assert ctypes.CDLL(None).syscall(SYS_TGKILL[machine], pid, thread, int(number)) == 0


def test_a_crash_of_the_tick_is_announced_with_zero_force(server):
    with server.connect(name="listener", reconnect=False) as client:
        every = client.subscribe(["block"], wrench=True)
        seldom = client.subscribe(["ball"], decimation=100)  # the last state comes to it all the same
        client.push("block", force=(5, 0, 0), deadline_s=0.2).verdict()
        assert every.newest()["block"].force_W[0] == 5.0
        signal_thread(server.process.pid, tick_thread(server.process.pid), signal.SIGSEGV)
        assert server.process.wait(timeout=10) == -signal.SIGSEGV
        assert eventually(lambda: not client.connected)
        for stream in (every, seldom):
            assert stream.latest().status & tactus.Status.FAULT, stream.latest()
        assert every.latest()["block"].force_W == (0, 0, 0)
        texts = [event.text for event in client.events() if event.kind == "SERVER_STOPPING"]
        assert any("fault" in text for text in texts), texts
