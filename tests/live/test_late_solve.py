"""A solve that is late: the stream and the statistics say so, the world goes on with the velocities it has, and the beat with it.

Late by as much as wanted on any machine: the solver's thread alone is held (ptrace), all others run on.
"""
import ctypes
import os
import pathlib
import statistics

import pytest
from conftest import eventually

import tactus

STEP_S = 0.001
TICKS_PER_STEP = 500  # long: on a busy machine a thread let go may be another 100 ms late
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ALL_THREADS = 0x40000000  # __WALL
CONFIG = "[model.st]\nrate_hz = 2\n"

SCENE = """title = "Live test: a body that flies, one that is moved, a block that stands"
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
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]

[[body]]
name = "flyer"
position_m = [3, 0, 5]
linear_velocity_m_per_s = [0, 0.25, 0]
mass_kg = 1
gravity_scale = 0
[[body.shape]]
kind = "sphere"
radius_m = 0.1

[[body]]
name = "mover"
mode = "kinematic"
position_m = [-3, 0, 5]
linear_velocity_m_per_s = [0, 0.5, 0]
[[body.shape]]
kind = "sphere"
radius_m = 0.1
"""

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def solver_thread(server):
    """The one that solves for the model in charge, or None."""
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "tactus-solver":
            return int(task.name)
    return None


class Held:
    """The thread stands still inside `with`; ended by the one that began it."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        if libc.ptrace(SEIZE, self.thread, None, None) != 0:
            pytest.skip(f"a single thread cannot be held here: {os.strerror(ctypes.get_errno())}")
        assert libc.ptrace(INTERRUPT, self.thread, None, None) == 0
        os.waitpid(self.thread, ALL_THREADS)

    def __exit__(self, *_):
        assert libc.ptrace(DETACH, self.thread, None, None) == 0


@pytest.fixture
def slow(make_server, tmp_path):
    config = tmp_path / "late.toml"
    config.write_text(CONFIG)
    server = make_server("--config", config, "--model", "st", scene=SCENE).start()
    with server.connect() as client:
        assert eventually(lambda: client.statistics().solver.solves > 0)
        yield server, client, client.subscribe()


def states_until(stream, tick):
    """All that come, to this tick."""
    states = [stream.read()]
    while states[-1].tick < tick:
        states.append(stream.read())
    return states


def read_held(server, stream, hold_ticks):
    """States of so many ticks from the middle of a step on, the solver held, and of two steps after that."""
    stream.skip()
    now = stream.read().tick
    middle = states_until(stream, now - now % TICKS_PER_STEP + 3 * TICKS_PER_STEP // 2)[-1].tick
    # It has long solved the step under way; what it cannot begin is the next one, due a step after that.
    with Held(solver_thread(server)):
        held = states_until(stream, middle + hold_ticks)
    return held, states_until(stream, held[-1].tick + 2 * TICKS_PER_STEP)


def is_late(state):
    return bool(state.status & tactus.Status.SOLVE_LATE)


def assert_the_beat_went_on(held):
    """Each tick has its state, at its time: a tick that waited for the solver would have left out most of these."""
    assert [b.tick - a.tick for a, b in zip(held, held[1:])] == [1] * (len(held) - 1)
    assert held[-1].ticks_missed - held[0].ticks_missed < 0.3 * len(held)
    assert statistics.median(s.work_us for s in held) < 0.5e6 * STEP_S


def test_late_within_a_step(slow):
    """Told, extrapolated over, made up for: nobody sees it in the motion, and no time is lost."""
    server, client, stream = slow
    before = client.statistics().solver
    held, after = read_held(server, stream, TICKS_PER_STEP * 8 // 5)  # due after three halves of a step
    counted = client.statistics().solver
    late = [s for s in held + after if is_late(s)]
    assert 10 <= len(late) < TICKS_PER_STEP
    assert eventually(lambda: "model st does not hold its 2 Hz" in server.log())
    assert counted.late_solves == before.late_solves + 1  # once, however many ticks
    assert counted.ticks_lost == before.ticks_lost
    assert not is_late(after[-1])
    assert_the_beat_went_on(held)
    for state in held + after:
        t = state.tick * STEP_S
        assert state["flyer"].p_WB == pytest.approx((3, 0.25 * t, 5), abs=1e-9)
        assert state["mover"].p_WB == pytest.approx((-3, 0.5 * t, 5), abs=1e-9)
        assert state["block"].p_WB == pytest.approx((0, 0, 0.1), abs=1e-4)
        assert bool(state.status & tactus.Status.EXTRAPOLATED) or state.tick % TICKS_PER_STEP == 0
    assert any(s.tick % TICKS_PER_STEP == 0 and not s.status & tactus.Status.EXTRAPOLATED for s in after)  # the grid stayed


def test_late_by_more_than_a_step(slow):
    """Bodies move on for one step, then they stand; what time falls behind by is counted, and only what is prescribed goes on."""
    server, client, stream = slow
    before = client.statistics().solver
    held, after = read_held(server, stream, 4 * TICKS_PER_STEP)
    counted = client.statistics().solver
    assert_the_beat_went_on(held)
    lost = counted.ticks_lost - before.ticks_lost
    assert lost > TICKS_PER_STEP
    assert counted.late_solves == before.late_solves + 1
    first = next(s for s in held if is_late(s)).tick
    stood = [s for s in held if is_late(s) and s.tick > first + TICKS_PER_STEP]
    assert len(stood) > TICKS_PER_STEP
    assert len({s["flyer"].p_WB[1] for s in stood}) == 1
    last = after[-1]
    assert not is_late(last)
    assert last["flyer"].p_WB[1] == pytest.approx(0.25 * STEP_S * (last.tick - lost), abs=1e-9)
    for state in held + after:
        assert state["mover"].p_WB[1] == pytest.approx(0.5 * STEP_S * state.tick, abs=1e-9)
