"""End-to-end tests: each starts the built tactusd on free ports and talks to it over the network with the Python client.

The programs are looked for in $TACTUS_BIN (a folder), then in build/release/bin. Nothing here judges an absolute wall-clock maximum:
the machines are noisy.
"""
import itertools
import os
import pathlib
import queue
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "clients" / "python"))

import tactus  # noqa: E402
from tactus import wire  # noqa: E402
from tactus.link import Link  # noqa: E402
from tactus.messages import StatePacket, VerdictCode  # noqa: E402

START_S = 20
SAFETY_NET_S = 120  # a server ends by itself when even the fixture was killed
STALLED = 0.05  # share of a device's cycles that a busy machine misses and no force is let through; quiet ones miss 0.002 to 0.02

SCENE = """title = "Live test: a block and a ball on the floor, far from each other"
step_s = 0.001

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 1
force_limit_n = 50
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]

[[body]]
name = "ball"
position_m = [2, 0, 0.1]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
"""


def find_program(name):
    """Path of a built program, or None."""
    folder = pathlib.Path(os.environ.get("TACTUS_BIN") or REPOSITORY / "build" / "release" / "bin")
    path = folder / name
    return path if path.is_file() else None


def require_program(name):
    path = find_program(name)
    if path is None:
        pytest.skip(f"{name} is not built: looked in $TACTUS_BIN and build/release/bin")
    return path


def kill_group(process):
    """Ends a process and its children, whatever state they are in."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Server:
    """A tactusd of its own. `start()` after `kill()` is a restart on the same ports."""

    def __init__(self, folder, *flags, scene=SCENE):
        self.program = require_program("tactusd")
        self.scene_file = folder / "live.toml"
        self.scene_file.write_text(scene)
        self.log_file = folder / "tactusd.log"
        self.flags = [str(flag) for flag in flags]
        self.port = self.realtime_port = self.web_port = 0
        self.duration_s = SAFETY_NET_S
        self.environment = {"XDG_STATE_HOME": str(folder)}  # over this process's; black boxes go there
        self.process = None

    def command(self):
        own = ["--scene", str(self.scene_file), "--control-port", str(self.port), "--realtime-port", str(self.realtime_port),
               "--web-port", str(self.web_port), "--duration-s", str(self.duration_s)]  # fmt: skip
        return [str(self.program), *own, *self.flags]

    def start(self):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                                            env={**os.environ, **self.environment})  # fmt: skip
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in self.process.stdout] + [lines.put(b"")], daemon=True).start()
        self._await_ports(lines)
        return self

    def _await_ports(self, lines):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                line = lines.get(timeout=end - time.monotonic())
            except queue.Empty:
                break
            found = re.match(rb"tactusd: listening control=\S*:(\d+) realtime=(?:\S*:)?(\d+)(?: web=(\d+))?", line)
            if found:
                self.port, self.realtime_port, self.web_port = int(found[1]), int(found[2]), int(found[3] or 0)
                return
            if not line:
                break
        kill_group(self.process)
        pytest.fail(f"tactusd did not start: {self.log()}")

    def connect(self, **options):
        return tactus.connect("127.0.0.1", self.port, **options)

    def log(self):
        return self.log_file.read_text(errors="replace")

    def kill(self):
        if self.process is not None:
            kill_group(self.process)

    def terminate(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=10)

    def run_to_end(self):
        """For a server that should refuse to start: (exit code, all that it wrote)."""
        done = subprocess.run(self.command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=START_S, start_new_session=True)
        return done.returncode, done.stdout.decode(errors="replace")


@pytest.fixture
def make_server(tmp_path):
    """make_server(*flags, scene=TEXT): a Server that is not running yet; killed at the end."""
    made = []

    def make(*flags, **options):
        folder = tmp_path / f"server-{len(made)}"
        folder.mkdir()
        made.append(Server(folder, *flags, **options))
        return made[-1]

    yield make
    for server in made:
        server.kill()


@pytest.fixture
def server(make_server):
    return make_server().start()


@pytest.fixture
def client(server):
    with server.connect(name="tester") as connected:
        yield connected


@pytest.fixture
def run_program():
    """Runs a program with its own process group; returns subprocess.CompletedProcess."""

    def run(*arguments, timeout=20, **options):
        process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True, **options)  # fmt: skip
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            kill_group(process)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return run


def record_sent(folder):
    """Writes what each session of this process sends to a file of the folder, as tests/fuzz/seeds.py reads it: door (255: a request, otherwise
    the type of a datagram), length (4 bytes), payload. Without keys, headers and macs."""
    folder.mkdir(parents=True, exist_ok=True)
    files, numbers, lock = weakref.WeakKeyDictionary(), itertools.count(), threading.Lock()

    def write(link, door, message):
        payload = message.SerializeToString()
        with lock:
            if link not in files:
                files[link] = open(folder / f"{os.getpid()}-{next(numbers)}.sent", "wb")
            files[link].write(struct.pack("<BI", door, len(payload)) + payload)
            files[link].flush()

    send_request, send_datagram = Link.send_request, Link.send_datagram

    def request(link, message):
        write(link, 255, message)
        send_request(link, message)

    def datagram(link, kind, message):
        write(link, kind, message)
        return send_datagram(link, kind, message)

    Link.send_request, Link.send_datagram = request, datagram


if "TACTUS_RECORD_SENT" in os.environ:
    record_sent(pathlib.Path(os.environ["TACTUS_RECORD_SENT"]))


class RawSession:
    """A client without manners: handshake as usual, then any bytes."""

    def __init__(self, server, token=b""):
        self.link = Link("127.0.0.1", server.port, "raw", token, 5.0)
        self.sequence = 0
        self.epoch = self.exchange("describe_scene").scene.scene_epoch

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def exchange(self, field, **values):
        return self.link.exchange(field, **values)

    def seal(self, kind, payload, **changed):
        """A datagram that is right but for `changed`: key, session, sequence."""
        self.sequence += 1
        fields = dict(key=self.link.key, kind=kind, session=self.link.session, sequence=self.sequence, payload=payload)
        return wire.seal_datagram(**{**fields, **changed})

    def send(self, data):
        self.link.udp.send(data)

    def command(self, packet):
        """Sends a CommandPacket as it is; returns its sequence."""
        self.send(self.seal(wire.COMMAND, packet.SerializeToString()))
        return self.sequence

    def verdict(self, sequence, timeout_s=3.0):
        """Name of the verdict of a command, read from the states; None when none comes."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            for kind, _, payload, *_ in self.link.receive_datagrams():
                packet = StatePacket.FromString(payload) if kind == wire.STATE else StatePacket()
                for its_sequence, code in zip(packet.verdict_sequence, packet.verdict_code):
                    if its_sequence == sequence:
                        return VerdictCode(code).name
            time.sleep(0.002)
        return None


@pytest.fixture
def raw(server):
    with RawSession(server) as session:
        yield session


def eventually(condition, timeout_s=5.0):
    """True as soon as condition() is; False when it does not become so."""
    end = time.monotonic() + timeout_s
    while not (found := condition()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return found


def counts(parameters):
    """refused_by_reason as a dict."""
    return {p.key: int(p.value) for p in parameters}


def assert_still_ticking(client):
    """The loop goes on: states of newer ticks come."""
    before = client.latest().tick
    assert eventually(lambda: client.latest().tick > before + 20), "the loop has stopped ticking"


@pytest.fixture(scope="module")
def browser():
    """One headless Chromium for all tests of a file."""
    from browser import Browser  # only where it is asked for

    opened = Browser()
    yield opened
    opened.close()
