"""Lockstep's round trip, beside a bare UDP echo and the step, measured by one program in one run."""
import json
import threading

import tactus
from conftest import REPOSITORY, eventually, require_program

PILE = (REPOSITORY / "config" / "scenes" / "pile.toml").read_text()


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


# A tick of the exact stepper takes a second in a heap of 300; others must not have to wait for one at every turn of a conversation.
def test_slow_ticks_leave_others_time_for_a_conversation(make_server):
    server = make_server("--lockstep", "--model", "lcp", "--set", "n=300", "--set", "lcp_stepper=exact", scene=PILE).start()
    with server.connect(name="granter", timeout_s=60) as granter, granter.claim("world"):
        done = threading.Event()

        def grant():
            try:
                granter.connection.request("grant", run_to_tick=10_000, scene_epoch=granter.scene_epoch)
            except tactus.TactusError:
                pass  # the test has ended before
            done.set()

        threading.Thread(target=grant, daemon=True).start()
        with server.connect(name="other", timeout_s=60) as other:
            assert eventually(lambda: other.statistics().tick > 160, 60)  # they have landed on each other
            first = other.statistics().tick
            for _ in range(8):
                last = other.statistics().tick
            assert not done.is_set() and last - first <= 4, f"{last - first} ticks for eight questions"
        server.kill()
