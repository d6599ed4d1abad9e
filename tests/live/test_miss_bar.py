"""The beat under load, beside a loop that steps the same world with the same rights and does nothing else: tests/bench/miss_bar measures
and judges, these tests show that it measures what it says."""
import subprocess
import sys

import pytest
from conftest import REPOSITORY, require_program

SKIPPED = 77


def miss_bar(*flags):
    folder = require_program("tactus_load").parent
    command = [sys.executable, REPOSITORY / "tests" / "bench" / "miss_bar", "--bin", folder, *flags]
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=120)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    return done.returncode, done.stdout + done.stderr


def test_the_bar_is_measured_under_its_load():
    """The verdict is for the command, on a quiet machine: misses of a shared one come in clusters and say nothing about the server. Here:
    the clients were served all through the run, and the beats of both kinds were counted and judged."""
    code, said = miss_bar("--seconds", 9, "--block-s", 1.5, "--like-for-like")
    assert "no valid measurement" not in said, said
    assert "miss_bar: " + ("passed" if code == 0 else "FAILED") in said, said


def test_the_bar_sees_a_step_that_does_not_fit():
    """A pile whose step needs longer than the period must not pass beside a loop that only sleeps."""
    code, said = miss_bar("--seconds", 7, "--block-s", 1.5, "--n", 900)
    assert code == 1 and "FAILED: simulation" in said, said
