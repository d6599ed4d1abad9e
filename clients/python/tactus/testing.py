"""Test a controller against a real server, in lockstep: the same run every time, however busy the machine is.

    from tactus import testing

    def test_the_controller_tracks():
        with testing.simulation("scene.toml") as sim:
            run = sim.run(controller, seconds=5, bodies=["block"])     # controller(state) -> {"block": tactus.Wrench(...)}
            run.tracks("block", lambda t: (0.1 * t, 0, 0.1), within=0.01, after_s=1)
            run.loss_below(0.02)
            run.no_faults()

With `pytest_plugins = ["tactus.testing"]` in conftest.py, the fixture `tactus_simulation` makes simulations that end with the test.
"""
import collections
import contextlib
import math
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from .client import Command, connect
from .control import STOP
from .errors import TactusError
from .messages import Status

START_S = 20
SAFETY_NET_S = 3600  # a server ends by itself when its test was killed
LOG_LINES_SHOWN = 20
FAULT_BITS = Status.FAULT | Status.BODY_FROZEN | Status.COMMANDS_DROPPED
FAULT_EVENTS = ("BODY_FROZEN", "SERVER_STOPPING", "LEASE_LOST", "LINK_LOST")


class ServerFailed(TactusError):
    """tactusd was not found, or did not start."""


def find_server() -> str:
    """tactusd in $TACTUS_BIN, in build/release/bin of this checkout, or on the PATH."""
    checkout = pathlib.Path(__file__).resolve().parents[3] / "build" / "release" / "bin"
    places = [pathlib.Path(os.environ["TACTUS_BIN"])] if os.environ.get("TACTUS_BIN") else [checkout]
    for place in places:
        if (place / "tactusd").is_file():
            return str(place / "tactusd")
    found = shutil.which("tactusd")
    if found is None:
        raise ServerFailed(f"no tactusd in {places[0]} and none on the PATH: build it, or set TACTUS_BIN to its folder")
    return found


class ServerProcess:
    """A tactusd of its own on free ports; ends with `stop()`."""

    def __init__(self, scene, *, settings=None, flags=(), folder, program=None):
        self.log_file = pathlib.Path(folder) / "tactusd.log"
        config = pathlib.Path(folder) / "tactusd.toml"
        config.write_text(f"[black_box]\nfolder = {_toml(str(folder))}\n")
        given = [f"{key}={value}" for key, value in (settings or {}).items()]
        own = ["--scene", str(scene), "--control-port", "0", "--realtime-port", "0", "--web-port", "0", "--duration-s", str(SAFETY_NET_S)]
        if "--config" not in flags:
            own += ["--config", str(config)]
        command = [program or find_server(), *own, *(part for one in given for part in ("--set", one)), *map(str, flags)]
        with open(self.log_file, "wb") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        try:
            self.port = self._await_port()
        except BaseException:
            self.stop()
            raise

    def _await_port(self):
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in self._process.stdout] + [lines.put(b"")], daemon=True).start()
        end = time.monotonic() + START_S
        with contextlib.suppress(queue.Empty):
            while line := lines.get(timeout=max(0.0, end - time.monotonic())):
                if found := re.match(rb"tactusd: listening control=\S*:(\d+) ", line):
                    return int(found[1])
        raise ServerFailed(f"tactusd did not start:\n{self.log()}")

    def log(self) -> str:
        """The last lines that it wrote."""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])

    def stop(self) -> None:
        process = self._process
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


@contextlib.contextmanager
def simulation(scene, *, settings=None, flags=(), realtime=False, seed=None, artifacts=None, program=None):
    """A Simulation of a scene: a file, or the name of one that is shipped; `settings` override its parameters. The world advances
    only by its runs; with `realtime` it runs by the clock, and results differ from run to run. `artifacts` is a folder that keeps the
    server's log and, when the test fails, its black box. `flags` go to tactusd."""
    with contextlib.ExitStack() as stack:
        folder = artifacts or stack.enter_context(tempfile.TemporaryDirectory(prefix="tactus-testing-"))
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        server = ServerProcess(scene, settings=settings, flags=(*flags, *(() if realtime else ("--lockstep",))), folder=folder, program=program)
        stack.callback(server.stop)
        client = stack.enter_context(connect("127.0.0.1", server.port, name="testing", reconnect=False))
        if seed is not None:
            client.load(client.scene.name, seed=seed, **(settings or {}))
        sim = Simulation(client, server, realtime)
        try:
            yield sim
        except BaseException:
            if artifacts is not None:
                with contextlib.suppress(TactusError, OSError):
                    client.save_black_box("test-failed")
            raise


class Simulation:
    """A server of one's own. `client` is an ordinary Client of it."""

    def __init__(self, client, server, realtime=False):
        self.client, self.server, self.realtime = client, server, realtime

    def run(self, controller, seconds: float, bodies=(), *, every: int = 1, deadline_s: float = None, reset: bool = True,
            link: dict = None) -> "Run":  # fmt: skip
        """From the scene's start (or, without `reset`, from where it stands), calls `controller(state)` every so many ticks and sends
        what it returns: {body: Wrench}, None for no command, STOP to end. `bodies` are recorded and may be commanded (default: all
        that move are recorded). A command lives for `deadline_s`, by default for as long as the next one needs, at least 20 ms. `link` are
        faults of the link on purpose, as for Client.set_link_faults(): dict(up=dict(loss=0.01), seed=7); the same seed, the same faults.
        States are then late or missing, and the controller is given the newest one that has come."""
        client = self.client
        if reset:
            client.reset()
        step_s = client.scene.step_s
        deadline_s = max(0.02, 2 * every * step_s) if deadline_s is None else deadline_s
        run = Run(client.scene, every)
        client.events(), client.verdicts()
        with contextlib.ExitStack() as stack:
            if bodies:
                stack.enter_context(client.connection.leases.holding([f"body/{b}/wrench" for b in bodies]))
            stream = stack.enter_context(client.subscribe(list(bodies), velocity=True, wrench=True))
            if link is not None:
                stack.callback(self._mend_link)
                client.set_link_faults(**link)
            cycles = max(1, round(seconds / (every * step_s)))
            loop = self._free_run if self.realtime else self._lockstep
            loop(run, stream, controller, cycles, deadline_s, stack)
        run.events += [event for event in client.events() if event.kind in FAULT_EVENTS and event.text != "world"]
        return run

    def _lockstep(self, run, stream, controller, cycles, deadline_s, stack):
        lockstep = stack.enter_context(self.client.lockstep(stream=stream, strict=False))
        state = lockstep.present()
        run.add_state(state)
        for _ in range(cycles):
            if not self._cycle(run, controller, state, deadline_s):
                break
            newest = lockstep.step(run.every)
            if newest is not None and newest is not state:  # a link with faults brings it late, or not at all
                state = newest
                run.add_state(state)
            run.add_verdicts(self.client.verdicts())
        run.state_hash = lockstep.state_hash()

    def _mend_link(self):
        with contextlib.suppress(TactusError):
            self.client.set_link_faults()

    def _free_run(self, run, stream, controller, cycles, deadline_s, _):
        state = stream.newest()
        run.add_state(state)
        end = state.tick + cycles * run.every
        while state.tick < end and self._cycle(run, controller, state, deadline_s):
            due = state.tick + run.every
            while state.tick < due:
                state = stream.read()
                run.add_state(state)
            run.add_verdicts(self.client.verdicts())
        self.client.stop_pushing()

    def _cycle(self, run, controller, state, deadline_s):
        wrenches = controller(state)
        if wrenches is STOP:
            return False
        if wrenches:
            run.add_command(self.client.command(wrenches, deadline_s=deadline_s, expected_tick=state.tick))
        return True


class Run:
    """What came of one run. The checks raise AssertionError with the worst of what they found; each returns the run."""

    def __init__(self, scene, every):
        self.scene, self.every = scene, every
        self.states = []  # one a cycle, from the start on
        self.events = []  # that speak of a fault
        self.verdicts = collections.Counter()  # name -> count, of the commands of this run
        self.state_hash = None  # of the last state; None in real time
        self._sent = {}  # sequence -> verdict or None, in order

    # --- what happened

    @property
    def t(self) -> list:
        """Simulated time of each state, from the first one on [s]."""
        return [state.sim_time_s - self.states[0].sim_time_s for state in self.states]

    @property
    def commands(self) -> int:
        return len(self._sent)

    @property
    def loss(self) -> float:
        """Commands that were never applied, per command sent."""
        return self._lost_flags().count(True) / len(self._sent) if self._sent else 0.0

    @property
    def lost_in_a_row(self) -> int:
        """The longest chain of commands that were never applied."""
        longest = here = 0
        for lost in self._lost_flags():
            here = here + 1 if lost else 0
            longest = max(longest, here)
        return longest

    def trajectory(self, of) -> list:
        """A value of each state. `of` is a body's name (its position p_WB), or a function of the state."""
        return [_value(of, state) for state in self.states]

    # --- checks

    def tracks(self, of, target, within: float, after_s: float = 0.0) -> "Run":
        """From `after_s` on the value is within `within` of the target, in each state (vectors: length of the difference). `target`
        is a value, or a function of time [s] since the start of the run. SI units."""
        worst, when = -1.0, None
        for t, state in zip(self.t, self.states):
            if t < after_s - 1e-9:
                continue
            wanted = target(t) if callable(target) else target
            error = _distance(_value(of, state), wanted)
            if not error <= worst:  # NaN is the worst
                worst, when = error, (t, state.tick, _value(of, state), wanted)
            if math.isnan(worst):
                break
        if when is None:
            raise AssertionError(f"nothing to judge: the run lasts {self.t[-1]:g} s, the check begins at {after_s:g} s")
        if not worst <= within:
            raise AssertionError(
                f"{of if isinstance(of, str) else 'the value'} is {worst:g} off its target at t = {when[0]:g} s (tick {when[1]}): found "
                f"{_text(when[2])}, expected {_text(when[3])} within {within:g}"
            )
        return self

    def loss_below(self, ratio: float) -> "Run":
        """Fewer than this part of the commands were never applied."""
        if not self._sent:
            raise AssertionError("no command was sent: there is no loss to judge")
        if not self.loss < ratio:
            counts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
            raise AssertionError(
                f"{self.loss:.2%} of {self.commands} commands were lost, at most {self.lost_in_a_row} in a row, expected below {ratio:.2%}: {counts}"
            )
        return self

    def no_faults(self) -> "Run":
        """No body froze, no lease or link was lost, nothing failed inside the server."""
        for state in self.states:
            if state.status & FAULT_BITS:
                raise AssertionError(f"fault at tick {state.tick}: {state.status & FAULT_BITS!r}; {self._events_text()}")
        if self.events:
            raise AssertionError(self._events_text())
        return self

    def same_bits(self, other: "Run") -> "Run":
        """Both runs ended in the same state, bit by bit."""
        if self.state_hash is None or other.state_hash is None:
            raise AssertionError("a run in real time has no state hash to compare: its bits depend on the clock")
        if (self.states[-1].tick, self.state_hash) == (other.states[-1].tick, other.state_hash):
            return self
        for mine, its in zip(self.states, other.states):
            if mine.tick != its.tick or not _same(mine, its):
                raise AssertionError(f"the runs differ: first at tick {mine.tick}")
        raise AssertionError("the runs end in different states, though what was recorded of them is the same")

    # --- filled by Simulation

    def add_state(self, state) -> None:
        self.states.append(state)

    def add_command(self, command: Command) -> None:
        self._sent[command.sequence] = None

    def add_verdicts(self, verdicts) -> None:
        for verdict in verdicts:
            if verdict.sequence in self._sent:
                self._sent[verdict.sequence] = verdict
                self.verdicts[verdict.name] += 1

    def _lost_flags(self):
        # A command that was replaced by a newer one before a tick took it has not acted, but nothing went wrong either.
        return [v is None or not (v.applied or v.name == "SUPERSEDED") for v in self._sent.values()]

    def _events_text(self):
        return "; ".join(f"{e.kind} {e.text} at tick {e.tick}" for e in self.events) or "no event told of it"


def _value(of, state):
    return state[of].p_WB if isinstance(of, str) else of(state)


def _as_list(value):
    return [float(value)] if not hasattr(value, "__iter__") else [float(x) for x in value]


def _distance(found, wanted):
    found, wanted = _as_list(found), _as_list(wanted)
    if len(found) != len(wanted):
        raise ValueError(f"a value of {len(found)} numbers cannot track a target of {len(wanted)}")
    return math.dist(found, wanted)


def _text(value):
    return "(" + ", ".join(f"{x:.6g}" for x in _as_list(value)) + ")"


def _same(a, b):
    return all(a[n].p_WB == b[n].p_WB and a[n].q_WB == b[n].q_WB and a[n].v_WB == b[n].v_WB for n in a.bodies)


def _toml(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


try:
    import pytest
except ImportError:  # the fixture is for those who have it
    pass
else:

    @pytest.fixture
    def tactus_simulation():
        """tactus_simulation(scene, ...): a Simulation that ends with the test; arguments as for simulation()."""
        with contextlib.ExitStack() as stack:
            yield lambda *arguments, **options: stack.enter_context(simulation(*arguments, **options))
