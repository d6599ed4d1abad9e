"""tactus-relay: the faulty link as a program of its own, between any two programs that speak UDP."""
import json
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import kill_group, require_program


SENT = 200  # fewer than any socket buffer holds, however long the relay waits for a processor


class Relay:
    """A relay in front of a socket of ours; `finish()` gives its JSON."""

    def __init__(self, *flags):
        self.far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.far.bind(("127.0.0.1", 0))
        self.far.settimeout(5)
        command = [require_program("tactus-relay"), "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{self.far.getsockname()[1]}", "--every-s", "0",
                   "--duration-s", "60", *flags]  # fmt: skip
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.port = int(re.match(r"tactus-relay: listening 127\.0\.0\.1:(\d+) to ", self.process.stdout.readline())[1])

    def client(self):
        near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        near.connect(("127.0.0.1", self.port))
        near.settimeout(5)
        return near

    def received(self, quiet_s=2.0):
        """Everything that comes until it has been quiet for so long."""
        self.far.settimeout(quiet_s)
        out = []
        try:
            while True:
                out.append(self.far.recv(2048))
        except TimeoutError:
            return out

    def finish(self):
        self.process.send_signal(signal.SIGINT)
        return json.loads(self.process.communicate(timeout=10)[0])


@pytest.fixture
def relay():
    made = []

    def make(*flags):
        made.append(Relay(*flags))
        return made[-1]

    yield make
    for one in made:
        kill_group(one.process)
        one.far.close()


def test_two_clients_pass_both_ways_and_are_told_apart(relay):
    r = relay()
    one, two = r.client(), r.client()
    for near, word in ((one, b"one"), (two, b"two")):
        near.send(word)
        data, address = r.far.recvfrom(100)
        assert data == word
        r.far.sendto(word + b" back", address)
        assert near.recv(100) == word + b" back"
    totals = r.finish()
    assert totals["clients"] == 2 and totals["up"]["sent"] == totals["down"]["sent"] == 2


def test_the_same_seed_loses_the_same_datagrams(relay):
    runs = []
    for seed in (5, 5, 6):
        r = relay("--up", "loss=0.3,loss_burst=3,duplicate=0.1", "--seed", seed)
        near = r.client()
        for i in range(SENT):
            near.send(i.to_bytes(4, "little"))
        arrived = r.received()
        totals = r.finish()
        assert totals["up"]["received"] == SENT
        assert len(arrived) == totals["up"]["sent"] == SENT - totals["up"]["lost"] + totals["up"]["duplicated"]
        runs.append((arrived, totals["up"]["sequence_hash"]))
    assert runs[0] == runs[1] != runs[2]
    assert len(set(runs[0][0])) < 0.9 * SENT


def test_a_delay_lasts_as_long_as_it_should(relay):
    r = relay("--both", "delay_us=20000")
    near = r.client()
    took = []
    for _ in range(20):
        began = time.monotonic()
        near.send(b"there")
        _, address = r.far.recvfrom(100)
        r.far.sendto(b"and back", address)
        near.recv(100)
        took.append(time.monotonic() - began)
    assert min(took) >= 0.04
    assert r.finish()["up"]["delay_us"]["p50"] == pytest.approx(20000, rel=0.04)


@pytest.mark.parametrize("flags, names", [
    (["--up", "loss=2"], ["--up", "loss", "found 2", "from 0 to 1"]),
    (["--down", "delay_us=-5"], ["--down", "delay_us", "found -5", "from 0 to 1e+06"]),
    (["--both", "speed=3"], ["--both", "speed", "unknown", "jitter_us"]),
    (["--up", "loss=0.9,loss_burst=1"], ["--up", "loss", "at most 0.5"]),
    (["--up", "fast"], ["--up", "fast", "KEY=VALUE"]),
    (["--to", "nowhere"], ["--to", "nowhere", "port"]),
    (["--to", "example:5"], ["--to", "numerical"]),
    (["--to", "127.0.0.1:0"], ["--to", "port '0'", "1 to 65535"]),
    (["--listen", "127.0.0.1:99999"], ["--listen", "99999", "65535"]),
    (["--listen", "127.0.0.1:9", "--to", "127.0.0.1:9"], ["--to", "relay to itself"]),
    (["--queue", "0"], ["--queue"]),
    (["--seed", "x"], ["--seed"]),
])  # fmt: skip
def test_impossible_parameters_are_refused_by_name(run_program, flags, names):
    given = [*flags]
    for flag, value in (("--listen", "127.0.0.1:0"), ("--to", "127.0.0.1:9")):
        if flag not in given:
            given += [flag, value]
    done = run_program(require_program("tactus-relay"), *given, "--duration-s", "5")
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert all(name in said for name in names), said
