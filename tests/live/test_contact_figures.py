"""What the contact models know of their own coherence and exactness: the same figures in the stream, the statistics, /metrics, `tactus` and tactus-sim.

In lockstep and with a step every tick, so that the figures of each step can be added up and must give the totals.
"""
import json

import pytest
from conftest import eventually, require_program
from test_metrics import scrape, value

import tactus

CONFIG = "[model.lcp]\nrate_hz = 1000\n[record]\nstate_hz = 1000\n"
TICKS = 500
KINDS = ("pieces", "collisions", "evaluations", "bisections", "breaks", "stops", "unresolved", "exhausted")

# A ball and the floor are a pair in closed form; an egg on a lens, and above the floor, are searched for.
FALL = """title = "Live test: a ball falls on the floor, an egg on a lens"
step_s = 0.001
{model}

[[material]]
name = "default"
restitution = 0.5
static_friction = 0.3

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[body]]
name = "ball"
position_m = [2, 0, 0.2]
linear_velocity_m_per_s = [0.5, 0, 0]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1

[[body]]
name = "lens"
mode = "fixed"
position_m = [0, 0, 0.2]
[[body.shape]]
kind = "ellipsoid"
radii_m = [0.5, 0.5, 0.1]

[[body]]
name = "egg"
position_m = [0.02, 0, 0.4]
mass_kg = 1
[[body.shape]]
kind = "ellipsoid"
radii_m = [0.06, 0.06, 0.09]
"""
EXACT = FALL.format(model='model = "lcp"\nlcp_stepper = "exact"')

# Rolls over poles that are flatter than what a step has pieces for (config/README.md).
# Each ball bounces ever faster; six that end in the same step have more collisions in it than a step has pieces.
# More balls strike the floor in one step, each at its own time, than a step has pieces (128).
RAIN = """title = "Live test: balls that strike one after the other"
model = "lcp"
lcp_stepper = "exact"
step_s = 0.005

[[material]]
name = "default"
restitution = 0.97

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
""" + "".join(f"""
[[body]]
name = "ball_{k}"
position_m = [{0.3 * (k % 12):.1f}, {0.3 * (k // 12):.1f}, {0.102 + 3e-6 * k:.7f}]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
""" for k in range(140))


@pytest.fixture
def lcp_server(make_server, tmp_path):
    config = tmp_path / "every_tick.toml"
    config.write_text(CONFIG)
    return lambda *flags, **options: make_server("--config", config, "--lockstep", *flags, **options).start()


def simulated(run_program, tmp_path, scene, ticks):
    """tactus-sim's JSON of so many steps of the same scene."""
    file = tmp_path / "simulated.toml"
    file.write_text(scene)
    done = run_program(require_program("tactus-sim"), file, "--seconds", str(ticks * 0.001), timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(message, names):
    return {name: getattr(message, name) for name in names}


def scraped(server, ticks):
    """What /metrics says of them, under the names of the statistics."""
    families = scrape(server)
    assert value(families, "tactus_ticks", "_total") == ticks
    count = lambda name, **labels: value(families, f"tactus_{name}", "_total", **labels)  # noqa: E731
    witnesses = {"hits": count("witnesses", found="hit"), "misses": count("witnesses", found="miss"),
                 "closed_hits": count("witnesses_closed", found="hit"), "closed_misses": count("witnesses_closed", found="miss"),
                 "fallbacks": count("witness_fallbacks"), "unknown": count("witness_unknown")}  # fmt: skip
    kinds = {"collisions": "collision", "breaks": "break", "stops": "stop"}
    exact = {name: count("exact_discontinuities", kind=kinds[name]) if name in kinds else count(f"exact_{name}") for name in KINDS}
    return witnesses, exact


def test_the_figures_of_the_exact_stepper_are_the_same_wherever_they_are_told(lcp_server, run_program, tmp_path):
    server = lcp_server(scene=EXACT)
    with server.connect() as client, client.lockstep() as lockstep:
        states = [lockstep.step() for _ in range(TICKS)]
        solver = client.statistics().solver
        witnesses, exact = scraped(server, TICKS)
        told = run_program(require_program("tactus"), "status", "--json", "--host", f"127.0.0.1:{server.port}")
    simulation = simulated(run_program, tmp_path, EXACT, TICKS)
    added = {name: sum(getattr(state, f"exact_{name}") for state in states) for name in KINDS}

    # Both fall and bounce: what must be there is there.
    assert added["collisions"] >= 4 and added["evaluations"] >= added["collisions"] and added["pieces"] >= TICKS + added["collisions"]
    assert added["unresolved"] == added["exhausted"] == 0
    assert exact == added == figures(solver.exact, KINDS) == simulation["exact"]
    assert all(0 < s.exact_event_time_s <= 0.001 for s in states if s.exact_collisions > 0)
    assert all(s.exact_event_time_s == 0 for s in states if s.exact_pieces == 1 and s.exact_collisions + s.exact_breaks + s.exact_stops == 0)

    assert witnesses == figures(solver.witnesses, witnesses) == simulation["witnesses"]
    assert witnesses["hits"] > 10 * witnesses["misses"] > 0  # the egg is searched for anew now and then, and followed between
    assert witnesses["closed_hits"] > 50 and 1 <= witnesses["closed_misses"] <= 2  # the ball, and the floor that it meets once

    assert told.returncode == 0, told.stderr
    shown = json.loads(told.stdout)["solver"]
    assert shown["exact"] == added and {name: shown["witnesses"][name] for name in witnesses} == witnesses


def test_other_models_count_pairs_and_no_exact_steps(make_server, run_program, tmp_path):
    scene = FALL.format(model='model = "penalty"')
    server = make_server("--lockstep", scene=scene).start()
    with server.connect() as client, client.lockstep() as lockstep:
        halfway = lockstep.step(TICKS // 2) and client.statistics().solver.witnesses
        last = lockstep.step(TICKS // 2)
        solver = client.statistics().solver
        witnesses, exact = scraped(server, TICKS)
    assert witnesses == figures(solver.witnesses, witnesses) == simulated(run_program, tmp_path, scene, TICKS)["witnesses"]
    assert solver.witnesses.hits > halfway.hits > 0 and solver.witnesses.misses > 0
    # The ball bounces. Without the exact stepper a pair is forgotten while it is apart, so that each bounce is a first look; then it rolls.
    assert solver.witnesses.closed_misses > 1 and solver.witnesses.closed_hits > halfway.closed_hits
    assert not any(exact.values()) and exact == figures(solver.exact, KINDS) and last.exact_pieces == 0


def test_a_slow_step_is_counted_once_and_told_until_the_next(make_server):
    """At 100 Hz a step moves ten ticks: each of its states tells its figures, the totals have them once."""
    server = make_server("--lockstep", scene=EXACT).start()
    with server.connect() as client, client.lockstep() as lockstep:
        states = [lockstep.step() for _ in range(TICKS)]
        solver = client.statistics().solver
    assert solver.ticks_per_step == 10
    adopted = [s for s in states if s.exact_pieces and not s.status & tactus.Status.EXTRAPOLATED]
    assert len(adopted) == solver.solves == TICKS // 10
    assert figures(solver.exact, KINDS) == {name: sum(getattr(s, f"exact_{name}") for s in adopted) for name in KINDS}
    assert solver.exact.collisions >= 4
    assert sum(s.exact_pieces for s in states) > 9 * solver.exact.pieces


def test_watch_tells_the_newest_step(make_server, tmp_path, run_program):
    config = tmp_path / "every_tick.toml"
    config.write_text(CONFIG)
    server = make_server("--config", config, scene=EXACT).start()
    told = run_program(require_program("tactus"), "watch", "--json", "--seconds", "2.5", "--host", f"127.0.0.1:{server.port}")
    lines = [json.loads(line)["exact"] for line in told.stdout.splitlines()]
    assert lines, told.stderr
    assert all(set(line) == {*KINDS, "event_time_s"} and line["pieces"] >= 1 for line in lines)


def told_of(state):
    return [getattr(state, f"exact_{name}") for name in (*KINDS, "event_time_s")] + [state.status & (tactus.Status.EXACT_EXHAUSTED | tactus.Status.EXACT_UNRESOLVED)]


def test_a_step_that_ran_out_of_pieces_is_told_with_its_reason(make_server, run_program, tmp_path):
    recording = tmp_path / "rain.mcap"
    bit = tactus.Status.EXACT_EXHAUSTED
    config = tmp_path / "each_step.toml"
    config.write_text(CONFIG.replace("1000", "200"))
    server = make_server("--config", config, "--lockstep", "--record", recording, scene=RAIN).start()
    with server.connect() as client, client.lockstep() as lockstep:
        states = [lockstep.step() for _ in range(120)]
        cut = [s.tick for s in states if s.exact_exhausted]
        assert cut, "no step ran out of pieces: the scene shows nothing any more"
        assert cut == [s.tick for s in states if s.status & bit]
        assert [s.tick for s in states if s.exact_unresolved] == [s.tick for s in states if s.status & tactus.Status.EXACT_UNRESOLVED]
        assert client.statistics().solver.exact.exhausted == len(cut)
        assert eventually(lambda: "had too many pieces" in server.log(), timeout_s=20), server.log()
        words = run_program(require_program("tactus"), "status", "--host", f"127.0.0.1:{server.port}").stdout
        assert f"{len(cut)} steps CUT SHORT" in words, words
    assert server.terminate() == 0
    recorded = tactus.record.read(recording).states
    live = {s.tick: told_of(s) for s in states}
    assert len(recorded) > 110 and all(told_of(s) == live[s.tick] for s in recorded if s.tick in live)
    with make_server("--play", recording).start().connect() as viewer:
        viewer.pause()
        stream = viewer.subscribe()
        for tick in (cut[0], cut[0] - 1, cut[-1]):
            viewer.seek((tick - recorded[0].tick) * 0.005)
            shown = eventually(lambda tick=tick: (s := stream.latest()) and s.tick == tick and s)
            assert shown and told_of(shown) == live[tick]
