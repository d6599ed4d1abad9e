"""What the beat costs the system: the tick thread of the released tactusd neither allocates nor locks, and calls the kernel to sleep and
to wake net, nothing else. Counted over 10,000 beats in which contacts form and break, commands act, and the world is looked at, put
back, and exchanged, and a device holds a body. Two probes (tests/support/probe): a library that stands before the heap's and the locks' functions, and ptrace.
"""
import json
import subprocess
import time

import pytest
from conftest import REPOSITORY, Server, require_program
from test_haptic_wire import Odd

BEATS = 10_000
RUN_S = 20.0  # twice what 10,000 beats need: a shared machine leaves some out
WARM_UP_S = 1.0
SKIPPED = 77


def drive(client, stop_at):
    """What users do, so that all of the tick's paths are taken. Returns the numbers of contacts seen, and of answers to the device."""
    stream = client.subscribe(contacts=True, wrench=True)
    body = next(b.name for b in client.scene.bodies.values() if b.mode == "free")
    contacts, turn, answers = set(), 0, 0
    device = Odd(client, body, mode=1)
    while time.monotonic() < stop_at:
        with client.claim("world"):
            client.set_model("penalty" if turn % 2 else "deepest")  # deepest: on a thread beside the tick
            client.set_shadow("deepest" if turn % 4 == 1 else None)
            client.snapshot("here")
            for _ in range(40):
                client.push(body, force=(0, 0, 400), torque=(1, 0, 0))
                contacts.add(stream.newest().contacts_count)
                time.sleep(0.005)
            client.set_parameter("gravity_m_per_s2", f"0,0,{-9.81 - turn % 3}")
            client.pause()
            client.step(3)
            client.resume()
            if turn % 2:
                client.restore("here")
            else:
                client.reset()
            if turn % 8 == 7:
                device.close()
                answers += len(device.rows)
                client.load("pile", n=20 + turn)
                device = Odd(client, body, mode=1)
        client.arm()
        turn += 1
    device.close()
    return contacts, answers + len(device.rows)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """(counts of heap and locks, counts of system calls, numbers of contacts, answers to a device): one run serves all tests."""
    library, watcher = require_program("libtactus_tick_counts.so"), require_program("tactus_tick_syscalls")
    folder = tmp_path_factory.mktemp("tick")
    config = folder / "slow.toml"
    config.write_text("[model.deepest]\nrate_hz = 100\n")
    server = Server(folder, "--config", config, "--set", "n=20", scene=(REPOSITORY / "config" / "scenes" / "pile.toml").read_text())
    server.environment |= {"LD_PRELOAD": str(library), "TACTUS_TICK_COUNTS": str(folder / "counts.json")}
    server.start()
    try:
        with server.connect(name="driver") as client:
            end = time.monotonic() + WARM_UP_S + RUN_S
            watching = subprocess.Popen([str(watcher), str(server.process.pid), str(RUN_S)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            contacts, answers = drive(client, end)
            out, problem = watching.communicate(timeout=60)
        assert server.terminate() == 0, server.log()
    finally:
        server.kill()
    calls = None if watching.returncode == SKIPPED else json.loads(out) if watching.returncode == 0 else problem.decode()
    return json.loads((folder / "counts.json").read_text()), calls, contacts, answers


def test_the_run_was_one_that_counts(counted):
    heap, _, contacts, answers = counted
    assert heap["beats"] >= BEATS
    assert len(contacts) > 20 and min(contacts) < max(contacts) / 2, sorted(contacts)  # contacts form and break
    assert answers > BEATS / 2, answers  # the tick's answers to a device, handed over by themselves


def test_no_allocation(counted):
    heap = counted[0]
    assert (heap["allocations"], heap["aligned_allocations"], heap["frees"]) == (0, 0, 0), heap


def test_no_lock(counted):
    assert counted[0]["locks"] == 0, counted[0]


def test_no_system_call_but_the_sleep_and_one_eventfd_write_a_beat(counted):
    calls = counted[1]
    if calls is None:
        pytest.skip("this system forbids ptrace (kernel.yama.ptrace_scope, seccomp)")
    assert isinstance(calls, dict), calls
    sleep, write = str(calls["sleep"]), str(calls["write"])
    assert set(calls["calls"]) == {sleep, write}, calls  # a futex wait, a page of memory, a file: all would stand here
    assert calls["calls"][sleep] >= BEATS
    assert abs(calls["calls"][sleep] - calls["calls"][write]) <= 2  # one each, but for where the watch begins and ends
    assert calls["eventfd_writes"] == calls["calls"][write]
