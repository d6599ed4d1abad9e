"""Slow models beside the tick, and the shadow: the beat goes on in every mode, what is pushed arrives, and the stream says what it is.

`deepest` at 100 Hz stands for any slow model: which one it is makes no difference to the machinery.
"""
import math
import statistics

import pytest
from conftest import REPOSITORY

import tactus

CONFIG = "[model.deepest]\nrate_hz = 100\n[log]\nlevel = \"debug\"\n"
TICKS_PER_STEP = 10
STEP_S = 0.001
PERIOD_US = 1000

SPACE = """title = "Live test: two blocks in space"
step_s = 0.001
gravity_m_per_s2 = [0, 0, 0]

[[body]]
name = "block"
mass_kg = 2
force_limit_n = 50
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]

[[body]]
name = "other"
position_m = [3, 0, 0]
linear_velocity_m_per_s = [0, 0.25, 0]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
"""


@pytest.fixture
def slow_server(make_server, tmp_path):
    config = tmp_path / "slow.toml"
    config.write_text(CONFIG)

    def make(*flags, **options):
        return make_server("--config", config, *flags, **options).start()

    return make


def watch(stream, count):
    """The next states."""
    stream.skip()
    return [stream.read() for _ in range(count)]


def test_switching_while_running(slow_server):
    with slow_server().connect() as client:
        stream = client.subscribe()
        client.set_model("deepest")
        states = watch(stream, 1000)
        # The beat is that of before: a state a tick, and a tick that does next to nothing. How many beats a shared machine leaves out is no
        # matter of the server's; that nothing blocks the tick is shown in tick_thread.
        assert states[-1].tick - states[0].tick >= 990
        assert statistics.median(s.work_us for s in states) < PERIOD_US / 2
        extrapolated = sum(bool(s.status & tactus.Status.EXTRAPOLATED) for s in states)
        late = sum(bool(s.status & tactus.Status.SOLVE_LATE) for s in states)
        counted = client.statistics()
        assert 0.85 * len(states) <= extrapolated + late <= 1.95 * len(states)
        assert counted.model == "deepest"
        assert counted.solver.rate_hz == pytest.approx(100) and counted.solver.ticks_per_step == TICKS_PER_STEP
        assert counted.solver.solves >= 50 and counted.solver.solve_us.count == counted.solver.solves
        # counted.tick is that of the question: what is counted is read after it, and before the tick of the next question.
        assert states[0].tick - TICKS_PER_STEP <= counted.solver.adoption_tick <= client.statistics().tick
        assert states[-1]["block"].p_WB[2] == pytest.approx(0.1, abs=2e-3)  # it stands, as before
        client.set_model("penalty")
        assert client.statistics().solver.rate_hz == 0
        assert not any(s.status & tactus.Status.EXTRAPOLATED for s in watch(stream, 100))


@pytest.mark.parametrize("slow_first", [False, True])
def test_switching_keeps_motion(slow_server, slow_first):
    """Nothing acts in space: whatever model is in charge, and whenever it changes, each body keeps its line and its velocity."""
    with slow_server("--lockstep", scene=SPACE).connect() as client, client.lockstep() as lockstep:
        names = ["deepest", "penalty"] if slow_first else ["penalty", "deepest"]
        for turn in range(12):
            client.set_model(names[turn % 2])
            state = lockstep.step(7 + 5 * turn)
            assert state["other"].v_WB == pytest.approx((0, 0.25, 0), abs=1e-12)
            assert state["other"].p_WB == pytest.approx((3, 0.25 * state.tick * STEP_S, 0), abs=1e-9)


def test_what_is_pushed_arrives(slow_server):
    """Impulses commanded between the steps of a slow model, and across switches, are all in the momentum."""
    with slow_server("--lockstep", scene=SPACE).connect() as client, client.lockstep() as lockstep:
        stream = client.subscribe(["block"], wrench=True)
        client.set_model("deepest")
        impulse = 0.0
        for tick in range(300):
            if tick in (101, 203):
                client.set_model("penalty" if tick == 101 else "deepest")
            if tick % 7 < 3:
                client.push("block", force=(3 + tick % 5, 0, 0), deadline_s=0.001)
            lockstep.step()
        for _ in range(60):
            state = lockstep.step()
        for state in [stream.read() for _ in range(360)]:
            impulse += STEP_S * state["block"].force_W[0]
        assert impulse > 0.3
        assert 2 * state["block"].v_WB[0] == pytest.approx(impulse, abs=1e-9)


def run_in_lockstep(client):
    with client.lockstep() as lockstep:
        client.reset()
        client.set_model("deepest")
        for tick in range(120):
            client.push("block", force=(6, tick % 4, -5), at=(0.05, 0, 0.1))
            lockstep.step()
        return lockstep.state_hash()


def test_lockstep_gives_the_same_bits(slow_server):
    hashes = []
    for _ in range(2):
        with slow_server().connect() as client:
            hashes += [run_in_lockstep(client), run_in_lockstep(client)]
    assert len(set(hashes)) == 1, [f"{h:016x}" for h in hashes]


def test_snapshot_and_reset_under_a_slow_model(slow_server):
    with slow_server("--model", "deepest", "--lockstep").connect() as client, client.lockstep() as lockstep:
        assert client.statistics().model == "deepest"
        lockstep.step(40)  # at the end of a step nothing is under way
        snapshot = client.snapshot()
        lockstep.step(60)
        there = lockstep.state_hash()
        client.set_model("penalty")
        lockstep.step(25)
        client.restore(snapshot)
        assert client.statistics().model == "deepest"
        lockstep.step(60)
        assert lockstep.state_hash() == there
        client.reset()
        lockstep.step(100)
        assert lockstep.state_hash() == there


@pytest.mark.parametrize("model", ["lcp", "st", "ap", "lnc", "peg"])
def test_time_steppers_take_over_and_hand_back(make_server, model):
    """By the defaults: 100 Hz. What stands keeps standing, and each change has its answer."""
    with make_server().start().connect() as client:
        for name in (model, "penalty", model, "deepest"):
            client.set_model(name)
            states = watch(client.subscribe(["block"]), 150)
            assert client.statistics().model == name
            assert states[-1]["block"].p_WB[2] == pytest.approx(0.1, abs=2e-3)
            extrapolated = any(s.status & tactus.Status.EXTRAPOLATED for s in states[100:])
            assert extrapolated == (name == model)


STANDING = """title = "Live test: a leaning stack, a box that slides, bodies that nothing touches"
step_s = 0.001

[[material]]
name = "default"
static_friction = 0.3

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
""" + "".join(f"""
[[body]]
name = "{name}"
position_m = {position}
mass_kg = 1
{more}
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
""" for name, position, more in [
    ("low", [0, 0, 0.1], ""), ("mid", [0.02, 0, 0.3], ""), ("top", [0, 0.01, 0.5], ""),
    ("slider", [2, 0, 0.1], "linear_velocity_m_per_s = [1, 0, 0]"), ("faller", [4, 0, 1000], ""),
    ("flyer", [6, 0, 50], "gravity_scale = 0\nlinear_velocity_m_per_s = [0.1, 0.25, 0]\nangular_velocity_rad_per_s = [0, 0, 2]"),
])  # fmt: skip
MODELS = ["penalty", "deepest", "lcp", "st", "ap", "lnc", "peg"]


@pytest.mark.parametrize("first", MODELS)
def test_every_model_hands_over_to_every_other(make_server, first):
    """Amid a step, with boxes in contact: nothing jumps, what stands keeps standing, and momentum is what gravity and friction made of it."""
    with make_server("--lockstep", scene=STANDING).start().connect() as client, client.lockstep() as lockstep:
        for second in MODELS:
            client.reset()
            client.set_model(first)
            states = [lockstep.step() for _ in range(63)]
            client.set_model(second)
            states += [lockstep.step() for _ in range(60)]
            client.set_model("penalty")  # after it all that was under way is in the state
            states += [lockstep.step() for _ in range(2 * TICKS_PER_STEP)]
            time = (states[-1].tick - states[0].tick + 1) * STEP_S
            assert len(states) == round(time / STEP_S)
            end = states[-1]
            assert end["faller"].v_WB == pytest.approx((0, 0, -9.81 * time), abs=1e-9)
            assert end["flyer"].v_WB == pytest.approx((0.1, 0.25, 0), abs=1e-12)
            assert end["flyer"].w_WB == pytest.approx((0, 0, 2), abs=1e-9)
            assert end["slider"].v_WB[0] == pytest.approx(1 - 0.3 * 9.81 * time, abs=1e-3)  # deepest rocks: 3e-4
            for name, height in (("low", 0.1), ("mid", 0.3), ("top", 0.5)):
                assert end[name].p_WB[2] == pytest.approx(height, abs=1e-3), (first, second, name)
            for before, after in zip(states, states[1:]):
                for name in ("low", "mid", "top", "slider"):
                    assert math.dist(before[name].p_WB, after[name].p_WB) < 2e-3, (first, second, name)


LEAN = 0.7  # of the rod, from the floor [rad]
ROD = f"""title = "Live test: Painleve's rod: sliding forwards on its lower end it jams"
step_s = 0.001
model = "lcp"

[[material]]
name = "default"
static_friction = 3
dynamic_friction = 3

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[body]]
name = "rod"
mass_kg = 1
position_m = [0, 0, {math.sin(LEAN) + 0.01}]
orientation_wxyz = [{math.cos(math.pi / 4 - LEAN / 2)}, 0, {-math.sin(math.pi / 4 - LEAN / 2)}, 0]
linear_velocity_m_per_s = [2, 0, 0]
[[body.shape]]
kind = "capsule"
radius_m = 0.01
length_m = 2
"""


def test_contacts_without_forces_are_counted_on_the_wire(make_server):
    """Coulomb's law has no forces for the rod's first step: the stream tells so in the tick that adopts it, the statistics ever after."""
    with make_server("--lockstep", scene=ROD).start().connect() as client, client.lockstep() as lockstep:
        told = [lockstep.step().inconsistent for _ in range(40)]
        assert told[0] == 0 and max(told) == 1
        assert client.statistics().solver.inconsistent >= 1
        assert client.statistics().solver.failures == 0


TOWER = """title = "Live test: a tower that no exact method has memory for"
step_s = 0.001
model = "st"

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[generate]]
kind = "stack"
name = "cube"
count = 60
size_m = [0.2, 0.2, 0.2]
mass_kg = 1
"""


def test_what_a_solver_cannot_do_is_told(make_server, tmp_path):
    """Limits that fit only a small island: the step is swept, and the stream and the statistics say that it fell back and that it failed. The tower is
    held all the same: a step that is not solved is not left out."""
    config = tmp_path / "small.toml"
    config.write_text("[limits]\nproblem_rows = 64\npivot_rows = 16\n")
    with make_server("--config", config, "--lockstep", scene=TOWER).start().connect() as client, client.lockstep() as lockstep:
        states = [lockstep.step() for _ in range(100)]
        assert states[0].solver_fallbacks == 0 and states[0].solver_failures == 0  # none is adopted yet
        assert max(s.solver_fallbacks for s in states) == 1
        assert max(s.solver_failures for s in states) == 1
        counted = client.statistics().solver
        assert counted.fallbacks >= 4 and counted.failures >= 4
        fall = 0.5 * 9.81 * (100 * STEP_S) ** 2  # of what nothing holds
        assert states[-1]["cube_59"].p_WB[2] > 59.5 * 0.2 - 0.5 * fall
        client.set_model("penalty")
        assert [lockstep.step() for _ in range(2 * TICKS_PER_STEP)][-1].solver_failures == 0


ARM = f"""title = "Live test: an arm that nothing pulls at"
gravity_m_per_s2 = [0, 0, 0]

[[robot]]
name = "arm"
urdf = "{REPOSITORY}/config/robots/arm7.urdf"
joint_positions = {{ elbow = 1.0 }}
"""


@pytest.mark.parametrize("model", ["lcp", "st", "ap", "lnc", "peg"])
def test_robots_under_a_slow_model(make_server, model):
    """Torques commanded between its steps turn a joint; switching keeps coordinates and rates."""
    with make_server("--lockstep", scene=ARM).start().connect() as client:
        client.subscribe(joints=["arm"])
        gained = []
        with client.lockstep() as lockstep, client.claim("joint/arm/*"):
            arm = lockstep.step().robot("arm")
            for name in ("penalty", model, "penalty", model):
                was = arm
                client.set_model(name)
                arm = lockstep.step().robot("arm")
                for i in range(7):
                    assert float(arm.q[i] - was.q[i]) == pytest.approx(STEP_S * float(was.dq[i]), abs=1e-5)
                    assert float(arm.dq[i]) == pytest.approx(float(was.dq[i]), abs=1e-3)
                before = float(arm.dq[6])
                for tick in range(100):
                    if tick % 7 < 3:
                        client.command(joints={"arm/wrist_3": tactus.Effort(0.5 + 0.1 * (tick % 5))}, deadline_s=0.001)
                    lockstep.step()
                for _ in range(60):
                    arm = lockstep.step().robot("arm")
                gained.append(float(arm.dq[6]) - before)
            counted = client.statistics().solver
        # How much: unit actuation_slow_test. Not the same here: in a tick of 1 ms the light wrist comes to its limit of 3 rad/s, which cuts
        # the effort; a step of 10 ms takes the mean, which stays below.
        assert min(gained[:2]) > 0.005
        assert counted.failures == 0 and counted.late_solves == 0


def test_paused_switch_answers(slow_server):
    with slow_server("--model", "deepest").connect() as client, client.claim("world"):
        client.pause()
        client.set_model("penalty")
        client.step(2 * TICKS_PER_STEP)
        client.resume()
        assert client.statistics().solver.rate_hz == 0


def test_a_rate_above_the_tick_is_refused(make_server, tmp_path):
    config = tmp_path / "fast.toml"
    for key, text in [("model.deepest", "rate_hz = 1500"), ("model.peg", "rate_hz = 1500"), ("shadow", 'model = "st"\nrate_hz = 1500')]:
        config.write_text(f"[{key}]\n{text}\n")
        code, said = make_server("--config", config).run_to_end()
        assert code == 1
        assert f"fast.toml:{1 + len(text.splitlines())}: {key}.rate_hz: found 1500, expected 1 to 1000" in said
    config.write_text('[shadow]\nmodel = "pgs"\n')
    code, said = make_server("--config", config).run_to_end()
    assert code == 1
    assert "fast.toml:2: shadow.model: found 'pgs', expected one of penalty, deepest, lcp, st, ap, lnc, peg" in said


def test_the_shadow_of_the_same_motion_is_the_same(slow_server):
    with slow_server(scene=SPACE).connect() as client:
        stream = client.subscribe(shadow=True)
        client.set_shadow("deepest", 100)
        rows = [stream.shadow() for _ in range(20)]
        assert {r.ticks for r in rows} == {TICKS_PER_STEP}
        assert [b.tick - a.tick >= TICKS_PER_STEP for a, b in zip(rows, rows[1:])] == [True] * 19
        for row in rows:
            assert set(row.difference) == {"block", "other"}
            assert max(max(d) for d in row.difference.values()) < 1e-9


def test_the_shadow_sees_what_another_model_makes_of_contact(slow_server):
    with slow_server().connect() as client:
        stream = client.subscribe(["block"], shadow=True, decimation=1000)
        client.set_shadow("deepest", 50)
        seen = []
        for _ in range(30):
            client.push("block", force=(0, 0, -20))
            seen.append(stream.shadow()["block"])
        assert max(d.position_m for d in seen) > 0 and max(d.velocity_m_per_s for d in seen) > 0
        assert max(d.position_m for d in seen) < 0.05
        shadow = client.statistics().shadow
        assert shadow.model == "deepest" and shadow.rate_hz == pytest.approx(50) and shadow.comparisons >= 30
        assert shadow.position_m.body in ("block", "ball")
        assert shadow.position_m.since_start >= shadow.position_m.value > 0
        client.set_shadow(None)
        assert client.statistics().shadow.model == ""


def test_bad_wishes_are_refused(slow_server):
    with slow_server().connect() as client:
        for model, rate in [("no-such", 0), ("deepest", -5), ("deepest", 2000), ("deepest", float("nan"))]:
            with pytest.raises(tactus.TactusError):
                client.set_shadow(model, rate)
        assert client.statistics().shadow.model == ""
        for key, value, said in [("peg.angle_rad", "nan", "peg.angle_rad: found 'nan', expected a number from 0 to 0.5"),
                                 ("friction_directions", "0", "an even number from 4 to 32"),
                                 ("lcp_method", "qp", "qp not beside lcp_friction coulomb"),
                                 ("mu", "1", "'mu': no such parameter; expected one of gains, ")]:  # fmt: skip
            with pytest.raises(tactus.TactusError, match=said):
                client.set_parameter(key, value)
