"""A joint controller under test: computed torque on the planar arm, in lockstep. The same object serves `client.control_robot()`."""
from math import cos

import pytest
from computed_torque import AMPLITUDE, Tracker, W

from tactus import testing


@pytest.fixture(scope="module")
def sim():
    with testing.simulation("planar_arm") as simulation:
        yield simulation


def test_the_arm_tracks_for_five_seconds(sim):
    tracker = Tracker()
    run = sim.run(tracker, seconds=5, robot="arm")
    wanted = lambda t: [q + A * (1 - cos(W * t)) for q, A in zip(tracker.start, AMPLITUDE)]  # noqa: E731
    run.tracks(lambda state: state.robot("arm").q, wanted, within=0.003, after_s=1)
    run.loss_below(0.02).no_faults()


def test_every_run_of_the_arm_ends_in_the_same_bits(sim):
    first, second = (sim.run(Tracker(), seconds=1, robot="arm") for _ in range(2))
    first.same_bits(second)
