"""A controller under test, as a CI job runs it: `PYTHONPATH=clients/python pytest clients/python/examples`.

The world runs in lockstep, so the results are the same on every machine and in every run.
"""
import pytest

import tactus
from tactus import testing

SCENE = """title = "A block on the floor"
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 2
force_limit_n = 60
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
"""
MASS_KG, FRICTION, GRAVITY = 2.0, 0.5, 9.81
SPEED_M_PER_S = 0.2


def along_x(t):
    """The trajectory: off after half a second, at constant speed."""
    return (SPEED_M_PER_S * max(0.0, t - 0.5), 0.0, 0.1)


def controller(state):
    """A spring and a damper along the trajectory, and what friction takes. The same function serves `client.control()`."""
    block, wanted = state["block"], along_x(state.sim_time_s)
    speed = SPEED_M_PER_S if state.sim_time_s > 0.5 else 0.0
    friction = FRICTION * MASS_KG * GRAVITY if speed else 0.0
    return {"block": tactus.Wrench(force=(400 * (wanted[0] - block.p_WB[0]) + 60 * (speed - block.v_WB[0]) + friction, 0, 0))}


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    scene = tmp_path_factory.mktemp("scene") / "block.toml"
    scene.write_text(SCENE)
    with testing.simulation(scene) as simulation:
        yield simulation


def test_it_tracks_with_less_than_two_percent_of_commands_lost(sim):
    run = sim.run(controller, seconds=5, bodies=["block"])
    run.tracks("block", along_x, within=0.02)
    run.tracks("block", along_x, within=0.005, after_s=1.5)
    run.tracks(lambda state: state["block"].v_WB[0], SPEED_M_PER_S, within=0.01, after_s=1.5)
    run.loss_below(0.02)
    run.no_faults()


def test_every_run_ends_in_the_same_bits(sim):
    first = sim.run(controller, seconds=1, bodies=["block"])
    second = sim.run(controller, seconds=1, bodies=["block"])
    first.same_bits(second)


def test_a_slower_controller_tracks_less_well(sim):
    """Ten ticks a message: the controller at 100 Hz."""
    run = sim.run(controller, seconds=3, bodies=["block"], every=10)
    assert len(run.states) == 301
    run.tracks("block", along_x, within=0.03).loss_below(0.02).no_faults()


def test_it_holds_over_a_link_that_loses_and_delays(sim):
    """Three ticks to the server and up to two more, one command in a hundred lost: the same ones in each run."""
    link = dict(up=dict(delay_us=3000, jitter_us=2000, loss=0.01), down=dict(delay_us=1000, loss=0.01), seed=7)
    first, second = (sim.run(controller, seconds=2, bodies=["block"], link=link) for _ in range(2))
    first.tracks("block", along_x, within=0.04).no_faults().loss_below(0.1)
    assert first.loss > 0
    first.same_bits(second)
