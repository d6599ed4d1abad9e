"""The beat under load, beside a loop that steps the same world with the same rights and does nothing else: short form of
tests/bench/miss_bar, which says how it is judged."""
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


def test_clients_cost_the_beat_nothing():
    """Twice at most: misses of a shared machine come in clusters, those of a server that disturbs itself come each time."""
    runs = []
    for _ in range(2):
        code, said = miss_bar("--seconds", 13, "--block-s", 1.5, "--like-for-like")
        runs.append(said)
        if code == 0:
            return
    raise AssertionError(runs)


def test_the_bar_sees_a_step_that_does_not_fit():
    """A pile whose step needs longer than the period must not pass beside a loop that only sleeps."""
    code, said = miss_bar("--seconds", 7, "--block-s", 1.5, "--n", 900)
    assert code == 1 and "FAILED: simulation" in said, said
