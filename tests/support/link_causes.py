"""Why did my cycle miss, with processes: a tactusd, a control loop in C++ or Python, one fault, and the cause that is named. A bare sleeper
runs beside each: where it is late the machine itself is a slow client and a slow server, and the run says nothing."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from typing import NamedTuple

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "clients" / "python")]
import tactus  # noqa: E402

BIN = pathlib.Path(os.environ.get("TACTUS_BIN") or REPOSITORY / "build" / "release" / "bin")
SLEEPER_LATE = 10  # points of 1,000: half as many as the missed cycles of 1,000 that a cause is named for
WATCH_EVERY_S = 0.25
OWN_PRIORITY, CONTROLLER_PRIORITY, SLEEPER_PRIORITY = 1, 2, 3  # of SCHED_RR; the server's threads are far above


class Case(NamedTuple):
    right: str
    kind: str = "none"  # of the controller's own doing: support/probe/link_controller.cc
    amount_ms: float = 0
    every_ms: float = 1e6
    length_s: float = 3.0
    stop: tuple = ()  # (who, ms suspended, ms running)
    faults: dict = {}  # of the link, from `after_s` on
    after_s: float = 0.0
    watched: bool = False  # nothing may be named at any time, from the first cycle on
    varied: str = ""  # loss, jitter: faults of the link that the seed chooses


CASES = {
    "none": Case("NONE"),
    "pause_between_loops": Case("NONE", "pause", 1000),
    "period_50_hz": Case("NONE", "period", every_ms=20, watched=True),
    "hang_30": Case("SLOW_CLIENT", "hang", 30, 400),
    "hang_100": Case("SLOW_CLIENT", "hang", 100, 700),
    "hang_300": Case("SLOW_CLIENT", "hang", 300, 700),
    "hang_2000": Case("SLOW_CLIENT", "hang", 2000, 1500, 4.0),
    "busy_30": Case("SLOW_CLIENT", "busy", 30, 400),
    "garbage": Case("SLOW_CLIENT", "gc", 60, 500),
    "suspended_100": Case("SLOW_CLIENT", stop=("client", 100, 700)),
    "suspended_300": Case("SLOW_CLIENT", stop=("client", 300, 700)),
    "suspended_2000": Case("SLOW_CLIENT", length_s=4.2, stop=("client", 2000, 1500)),
    "client_quota": Case("SLOW_CLIENT", stop=("client", 50, 50)),
    "server_quota": Case("SLOW_SERVER", stop=("server", 70, 30)),
    "slow_server": Case("SLOW_SERVER", stop=("server", 5, 45)),
    "loss": Case("LOSSY_LINK", varied="loss"),
    "jitter": Case("JITTERY_LINK", varied="jitter"),
    "only_up": Case("LOSSY_LINK", faults=dict(down=dict(loss=1)), after_s=1.5),
    "only_down": Case("LOSSY_LINK", faults=dict(up=dict(loss=1)), after_s=1.5),
}
LANGUAGES = ("cpp", "python")


def varied(case, seed):
    """The case of this seed, which chooses how often it comes, how bad a link is and on which way."""
    chance = random.Random(seed)
    if case.right == "SLOW_CLIENT":
        case = case._replace(every_ms=case.every_ms * chance.uniform(0.8, 1))
    ways = chance.choice((("up",), ("down",), ("up", "down")))
    if case.varied == "loss":
        return case._replace(faults={way: dict(loss=chance.uniform(0.05, 0.3), loss_burst=chance.choice((0, 2, 4))) for way in ways})
    if case.varied == "jitter":
        return case._replace(faults={way: dict(jitter_us=chance.randrange(2000, 12000), keep_order=chance.random() < 0.5) for way in ways})
    return case


def raise_priority(priority=OWN_PRIORITY, process=0):
    """Other programs of a shared machine are no part of the test; false: not allowed."""
    try:
        os.sched_setscheduler(process, os.SCHED_RR, os.sched_param(priority))
        return True
    except (OSError, AttributeError):
        return False


def spawn(priority, *arguments):
    process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, text=True)
    raise_priority(priority, process.pid)
    return process


def start_server(scene):
    command = [BIN / "tactusd", "--scene", scene, "--control-port", 0, "--realtime-port", 0, "--web-port", 0, "--duration-s", 36000]
    server = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if "control=" in line:
            return server, int(line.split("control=")[1].split()[0].rsplit(":", 1)[1])
    raise RuntimeError("tactusd did not start")


def hurt(process, case, chance, until):
    """Suspends it again and again, so often that the last time lies well before the loop's end."""
    _, stopped, running = case.stop
    time.sleep(0.3 + chance.uniform(0, 0.2))
    while time.monotonic() < until:
        time.sleep(chance.uniform(0.9, 1.0) * running / 1e3)
        if time.monotonic() + (stopped + 50) / 1e3 > until:
            return
        process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(stopped / 1e3)
        finally:
            process.send_signal(signal.SIGCONT)


class Outcome(NamedTuple):
    cause: str  # by the server
    text: str
    own: str  # cause by the client's own meter; None: it has none
    own_text: str
    late: int  # points of 1,000 that a bare sleeper came late to

    @property
    def says_nothing(self):
        return self.late > SLEEPER_LATE


class Bench:
    """A server, and a client that looks on from before the controllers come, so that its coming holds up none of them."""

    def __init__(self):
        self.server, self.port = start_server(REPOSITORY / "config" / "scenes" / "default.toml")
        self.client = tactus.connect("127.0.0.1", self.port, name="harness")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.kill()
        self.server.wait()

    def run(self, language, case, seed):
        case = varied(case, seed)
        chance = random.Random(seed)
        process = self._controller(language, case)
        length_s = case.length_s + (case.amount_ms / 1e3 if case.kind == "pause" else 0)
        sleeper = spawn(SLEEPER_PRIORITY, BIN / "tactus_link_controller", 0, "sleeper", 0, 0, length_s)
        named = None
        try:
            end = time.monotonic() + case.length_s - 0.1
            if case.faults:
                time.sleep(case.after_s)
                self.client.set_link_faults(seed=seed, session=self._controller_here().session, **case.faults)
            if case.stop:
                hurt(process if case.stop[0] == "client" else self.server, case, chance, end)
            if case.watched:
                named = self._watch(process)
            told = process.communicate(timeout=60)[0].strip().split("\t")
            late = int(sleeper.communicate(timeout=60)[0])
        finally:
            for p in (process, sleeper):
                p.kill()
                p.wait()
        own = (tactus.LinkCause(int(told[2])).name, told[3]) if len(told) > 3 else (None, "")
        return Outcome(*(named or (tactus.LinkCause(int(told[0])).name, told[1])), *own, late)

    def _controller(self, language, case):
        program = [BIN / "tactus_link_controller"]
        kind = case.kind
        if language == "python":
            program = [sys.executable, REPOSITORY / "tests" / "support" / "link_controller.py"]
        elif kind == "gc":
            kind = "busy"  # what a collector is to a program without one
        process = spawn(CONTROLLER_PRIORITY, *program, self.port, kind, case.amount_ms, case.every_ms, case.length_s)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the controller did not start")
        return process

    def _controller_here(self):
        return next((s for s in self.client.statistics().clients if s.name == "controller"), None)

    def _watch(self, process):
        """The first cause that is named before it ends, and its sentence; None: none is."""
        while process.poll() is None:
            time.sleep(WATCH_EVERY_S)
            here = self._controller_here()
            if here and tactus.LinkCause(here.quality.cause).name not in ("NONE", "UNKNOWN"):
                return tactus.LinkCause(here.quality.cause).name, here.quality.explanation
        return None
