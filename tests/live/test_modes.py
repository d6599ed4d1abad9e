"""Modes and sessions that end: what a client set falls back when it is killed, a stop needs no lease, a suspended program does not push
when it wakes, and whoever is silent for 15 s has gone. With real processes, killed and suspended."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from conftest import REPOSITORY, eventually, require_program

import tactus
from tactus.messages import Status

ARM = "arm7"
LIFE_S = 30


class Program:
    """A Python program of its own with a connected client `c`; prints lines."""

    def __init__(self, server, code):
        head = f"import sys, time, tactus\nc = tactus.connect('127.0.0.1', {server.port}, name='program')\nc.subscribe()\n"
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "clients" / "python")}
        self.process = subprocess.Popen([sys.executable, "-u", "-c", head + textwrap.dedent(code)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True)  # fmt: skip

        self.watchdog = threading.Timer(LIFE_S, self.signal, [signal.SIGKILL])  # a line that never comes fails the test
        self.watchdog.daemon = True
        self.watchdog.start()

    def end(self):
        self.watchdog.cancel()
        self.signal(signal.SIGKILL)
        self.process.wait()

    def line(self):
        line = self.process.stdout.readline().strip()
        assert line, "the program ended without a word"
        return line

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def rest(self):
        return self.process.communicate(timeout=20)[0]


@pytest.fixture
def program(server):
    made = []

    def make(code, of=server):
        made.append(Program(of, code))
        return made[-1]

    yield make
    for one in made:
        one.end()


def runs(client):
    """The world moves by itself."""
    before = client.statistics().tick
    return bool(eventually(lambda: client.statistics().tick > before + 20, 3))


def stands(client):
    before = client.statistics().tick
    time.sleep(0.3)
    return client.statistics().tick == before


IN_LOCKSTEP = """
    with c.lockstep() as ls:
        ls.step(10)
        print("steps", flush=True)
        while True:
            ls.step({ticks})
            time.sleep(0.01)
"""


@pytest.mark.parametrize("ticks", [1, 10_000])
def test_lockstep_ends_with_its_killed_owner(client, program, ticks):
    owner = program(IN_LOCKSTEP.format(ticks=ticks))
    assert owner.line() == "steps" and client.statistics().lockstep
    owner.signal(signal.SIGKILL)
    assert eventually(lambda: not client.statistics().lockstep)
    assert runs(client)
    assert client.leases() == []


def test_the_server_s_own_lockstep_stays(make_server, program):
    server = make_server("--lockstep").start()
    with server.connect(name="watcher") as watcher:
        owner = program(IN_LOCKSTEP.format(ticks=1), of=server)
        assert owner.line() == "steps"
        owner.signal(signal.SIGKILL)
        assert eventually(lambda: len(watcher.statistics().clients) == 1)
        assert watcher.statistics().lockstep and stands(watcher)


def test_pause_ends_with_its_killed_owner_unless_kept(client, program):
    owner = program('c.claim("world")\nc.pause()\nprint("paused", flush=True)\ntime.sleep(100)')
    assert owner.line() == "paused" and stands(client)
    owner.signal(signal.SIGKILL)
    assert runs(client)
    keeper = program('c.pause(keep=True)\nprint("paused", flush=True)')
    assert keeper.line() == "paused"
    keeper.process.wait(10)
    assert stands(client)
    client.resume()
    assert runs(client)


def test_force_ends_modes_without_the_lease(server, client):
    with server.connect(name="holder") as holder, holder.claim("world"):
        holder.pause()
        with pytest.raises(tactus.LeasedByOther):
            client.resume()
        client.resume(force=True)
        assert runs(client)
        holder.set_lockstep(True)
        with pytest.raises(tactus.LeasedByOther):
            client.set_lockstep(False)
        client.set_lockstep(False, force=True)
        assert runs(client)


def options_of(client):
    return client.refresh_scene().robot("arm").joints[0].description.options


def test_joint_options_end_with_their_killed_owner_unless_kept(make_server, program):
    server = make_server().start()
    with server.connect(name="watcher") as watcher:
        watcher.load(ARM)
        before = options_of(watcher)
        code = 'c.set_joint_options("arm", fault_ticks=50, keep={keep})\nprint("set", flush=True)\ntime.sleep(100)'
        owner = program(code.format(keep=False), of=server)
        assert owner.line() == "set" and options_of(watcher).fault_ticks == 50
        owner.signal(signal.SIGKILL)
        assert "program" in watcher.wait_event("OPTIONS_ENDED").text
        assert options_of(watcher) == before
        keeper = program(code.format(keep=True), of=server)
        assert keeper.line() == "set"
        keeper.signal(signal.SIGKILL)
        assert eventually(lambda: len(watcher.statistics().clients) == 1)
        time.sleep(0.2)
        assert options_of(watcher).fault_ticks == 50


def test_faults_on_another_s_link_end_with_who_set_them(client, program):
    session = client.connection.link.session
    owner = program(f'c.set_link_faults(up=dict(delay_us=3000), session={session})\nprint("set", flush=True)\ntime.sleep(100)')
    assert owner.line() == "set" and client.link_faults().up.delay_us == 3000
    owner.signal(signal.SIGKILL)
    assert client.wait_event("OPTIONS_ENDED")
    assert client.link_faults().up.delay_us == 0


def test_a_breakpoint_in_a_lockstep_test_is_no_end(client, program):
    """Suspended for twice as long as its lease lives."""
    owner = program(IN_LOCKSTEP.format(ticks=1))
    assert owner.line() == "steps"
    owner.signal(signal.SIGSTOP)
    assert eventually(lambda: stands(client))
    time.sleep(4)
    assert client.statistics().lockstep and [lease.channel for lease in client.leases()] == ["world"]
    tick = client.statistics().tick
    owner.signal(signal.SIGCONT)
    assert eventually(lambda: client.statistics().tick > tick + 10)
    assert owner.process.poll() is None


def test_an_old_lockstep_never_steps_a_new_world(server):
    client = server.connect(name="old")
    with client.lockstep(timeout_s=5) as lockstep:
        lockstep.step(50)
        server.kill()
        server.start()
        client.wait_event("RECONNECTED", timeout_s=20)
        for _ in range(2):
            with pytest.raises(tactus.LinkLost, match="restarted"):
                lockstep.step()
        with pytest.raises(tactus.LinkLost):
            lockstep.state_hash()
    assert runs(client)
    with client.lockstep() as lockstep:  # the object is usable after
        assert lockstep.step(3).tick == lockstep.tick
    client.close()


def test_lockstep_that_another_ended_is_said(server, client):
    with server.connect(name="other") as other, client.lockstep(timeout_s=5) as lockstep:
        lockstep.step(5)
        other.set_lockstep(False, force=True)
        with pytest.raises(tactus.WrongState):
            for _ in range(3):
                lockstep.step()


def force_x(stream):
    return stream.newest()["block"].force_W[0]




def test_stop_ends_all_and_needs_no_lease(client, program):
    stream = client.subscribe(["block"], wrench=True)
    pusher = program(
        """
        try:
            while True:
                c.push("block", force=(20, 0, 0), deadline_s=0.2)
                print("pushes", flush=True)
                time.sleep(0.01)
        except tactus.NotArmed as error:
            print("ended:", error, flush=True)
        """
    )
    assert pusher.line() == "pushes"
    assert eventually(lambda: force_x(stream) == 20)
    with client.claim("world"):
        client.stop()
        assert [lease.channel for lease in client.leases()] == ["world"]
    assert "tester stopped everything" in pusher.rest()
    assert eventually(lambda: force_x(stream) == 0)
    assert runs(client)
    with pytest.raises(tactus.NotArmed):
        client.push("block", force=(1, 0, 0))
    client.arm()
    assert client.push("block", force=(1, 0, 0)).verdict().name == "APPLIED"


LOOPS = {
    "control": 'c.control(["block"], lambda s: {"block": tactus.Wrench(force=(20, 0, 0))}, deadline_s=0.1)',
    "push": 'while True:\n        c.push("block", force=(20, 0, 0), deadline_s=0.1)\n        time.sleep(0.002)',
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_suspended_program_does_not_push_when_it_wakes(client, program, loop):
    stream = client.subscribe(["block"], wrench=True)
    code = f"print('go', flush=True)\ntry:\n    {LOOPS[loop]}\nexcept tactus.TactusError as e:\n    print(type(e).__name__, e, flush=True)\n"
    code += "time.sleep(0.5)\nc.arm()\nprint(c.push('block', force=(20, 0, 0)).verdict().name, flush=True)\n"
    pusher = program(code)
    assert pusher.line() == "go"
    assert eventually(lambda: force_x(stream) == 20)
    pusher.signal(signal.SIGSTOP)
    assert eventually(lambda: force_x(stream) == 0)
    time.sleep(0.3)  # the longest that a command lives is 0.2 s
    stream.skip()
    pusher.signal(signal.SIGCONT)
    end = pusher.line()
    assert end.startswith("StoodStill") and "stood still for" in end, end
    woke = client.latest().tick
    assert all(s["block"].force_W[0] == 0 for s in stream.states(0.2) if s.tick <= woke)
    assert pusher.line() in ("APPLIED", "SUPERSEDED")  # re-arming is the user's


def test_a_breakpoint_in_the_callback_ends_the_loop(client):
    calls = 0

    def callback(_):
        nonlocal calls
        calls += 1
        if calls in (1, 100):  # at the first call nothing acts yet: a program may warm up there
            time.sleep(0.4)
        return {"block": tactus.Wrench(force=(20, 0, 0))}

    stream = client.subscribe(["block"], wrench=True)
    with pytest.raises(tactus.StoodStill, match="stood still for 0.4"):
        client.control(["block"], callback, duration_s=5)
    assert calls == 100
    assert force_x(stream) == 0 and not client.armed


def test_silence_of_15_s_ends_a_session_and_idleness_does_not(raw, client):
    """`raw` holds its connection open and sends nothing; `client` is a program that sits idle."""
    names = lambda: {c.name for c in client.statistics().clients}  # noqa: E731
    began = time.monotonic()
    assert "raw" in names()
    idle_since = time.monotonic()
    time.sleep(13)
    assert "raw" in {c.name for c in client.statistics().clients}, "before 15 s it may be silent"
    assert eventually(lambda: "raw" not in names(), 10)
    assert time.monotonic() - began > 14
    assert client.reconnects == 0 and time.monotonic() - idle_since > 14


def test_a_robot_that_expires_is_one_event_and_a_flood_is_counted(make_server):
    server = make_server().start()
    with server.connect(name="driver") as driver:
        driver.load(ARM)
        driver.events()
        joints = len(driver.scene.robot("arm").joints)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            driver.command_robot("arm", effort=[0.0] * joints, deadline_s=0.005)
            time.sleep(0.05)
        time.sleep(1.5)
        expired = [e for e in driver.events() if e.kind == "COMMANDS_EXPIRED"]
    assert {e.text for e in expired} == {"joint/arm/*"}
    assert len(expired) <= 6, "once a second"
    assert sum(e.count for e in expired) > 2 * len(expired)


def test_the_command_line(server, client, run_program):
    tactus_program = require_program("tactus")

    def run(*arguments):
        return run_program(tactus_program, *arguments, "--host", f"127.0.0.1:{server.port}")

    assert run("pause").returncode == 0 and stands(client)  # stays when the command has ended
    with server.connect(name="holder") as holder, holder.claim("world"):
        assert run("resume").returncode == 1
        assert run("resume", "--force").returncode == 0 and runs(client)
    assert run("lockstep", "on").returncode == 0 and client.statistics().lockstep
    assert run("step", "5").returncode == 0 and stands(client)
    assert run("lockstep", "off").returncode == 0 and runs(client)
    with client.claim("ball"):
        assert run("stop").returncode == 0
        assert client.wait_event("STOPPED").text.startswith("tactus-stop")
        assert client.leases() == []


def test_a_suspended_tactus_push_ends_with_the_reason(server, client):
    stream = client.subscribe(["block"], wrench=True)
    command = [str(require_program("tactus")), "push", "block", "--force", "20,0,0", "--for-s", "30", "--host", f"127.0.0.1:{server.port}"]
    pusher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert eventually(lambda: force_x(stream) == 20)
        pusher.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        assert force_x(stream) == 0
        pusher.send_signal(signal.SIGCONT)
        _, err = pusher.communicate(timeout=10)
    finally:
        pusher.kill()
        pusher.wait()
    assert pusher.returncode == 0 or pusher.returncode == 1
    assert "stood still for" in err, err


def test_states_say_lockstep(client):
    with client.lockstep() as lockstep:
        assert lockstep.step().status & Status.LOCKSTEP
