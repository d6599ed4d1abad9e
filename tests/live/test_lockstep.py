"""Lockstep's round trip, beside a bare UDP echo and the step, measured by one program in one run."""
import json

from conftest import REPOSITORY, require_program


# What waking two processes costs differs between machines by more than the round trip itself (server/README.md), so no time is judged here;
# `tactus latency --lockstep` says how a machine stands.
def test_a_granted_tick_is_measured_beside_echo_and_step(make_server, run_program):
    scene = (REPOSITORY / "config" / "scenes" / "default.toml").read_text()
    server = make_server("--lockstep", scene=scene).start()
    done = run_program(require_program("tactus"), "latency", "--lockstep", "--seconds", "2", "--body", "ball", "--json", "--host", f"127.0.0.1:{server.port}")
    assert done.returncode == 0, done.stdout + done.stderr
    measured = json.loads(done.stdout)
    print(measured)
    grant, echo, step = (measured[name] for name in ("grant_to_state_us", "bare_echo_us", "step_us"))
    assert grant["count"] > 200 and echo["count"] > 200 and step["count"] > 200
    assert grant["p50"] > step["p50"] > 0  # a granted tick is a step and its way
    assert measured["ratio_p50"] > 0
