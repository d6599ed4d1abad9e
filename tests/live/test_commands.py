"""Commands: what they do, whose they are, how they end, and that each one is judged."""
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import REPOSITORY, eventually

import tactus


def test_a_push_moves_the_body_and_is_applied(client):
    stream = client.subscribe(["block"], wrench=True)
    before = stream.read()["block"]
    report = client.control(["block"], lambda state: {"block": tactus.Wrench(force=(20, 0, 0))}, duration_s=0.5)
    after = stream.newest()["block"]
    assert after.p_WB[0] > before.p_WB[0] + 0.1
    assert report.commands > 50 and report.applied_ratio > 0.5
    # Never refused, never clamped; on a busy machine one may come too late, which is said.
    assert set(report.verdicts) <= {"APPLIED", "SUPERSEDED", "EXPIRED"}, report.verdicts


def test_point_and_frame_of_a_push(client):
    """A force up at the ball's side turns it; a force along the body's own axis follows its turning."""
    with client.lockstep() as lockstep:
        client.push("ball", force=(0, 0, 30), at=(0.05, 0, 0), deadline_s=0.05)
        state = lockstep.step(50)
        assert state["ball"].w_WB[1] < -0.5 and state["ball"].v_WB[2] > 0.1


def test_too_much_force_is_clamped_and_said_so(client):
    stream = client.subscribe(["block"], wrench=True)
    verdict = client.push("block", force=(0, 400, 0), deadline_s=0.1).verdict()
    assert verdict.name == "CLAMPED"
    state = next(s for s in stream.states(2) if s.tick >= verdict.tick)
    assert max(abs(f) for f in state["block"].force_W) == pytest.approx(50)


def forces_after(stream, verdict):
    """Tick -> commanded force in x, from the tick at which the command was applied."""
    return {s.tick - verdict.tick: s["block"].force_W[0] for s in stream.states(0.4) if s.tick >= verdict.tick}


def test_a_command_ends_at_its_deadline(client):
    stream = client.subscribe(["block"], wrench=True)
    client.claim("block")
    verdict = client.push("block", force=(2, 0, 0), deadline_s=0.1).verdict()
    force = forces_after(stream, verdict)
    # The deadline counts from the sender's clock: what the way to the tick took is gone from the 100 ticks.
    held = [f for tick, f in force.items() if tick < 60]
    over = [f for tick, f in force.items() if tick > 112]
    assert held and set(held) == {2.0}  # held as sent
    assert over and set(over) == {0.0}  # and then nothing, for good
    ramp = [force[t] for t in sorted(force) if 60 <= t <= 112]
    assert ramp == sorted(ramp, reverse=True)
    assert client.wait_event("COMMANDS_EXPIRED").text == "body/block/wrench"


def test_a_killed_sender_leaves_no_force(server, client):
    stream = client.subscribe(["block"], wrench=True)
    program = f"""
        import tactus
        with tactus.connect("127.0.0.1", {server.port}, name="doomed") as c:
            c.control(["block"], lambda state: {{"block": tactus.Wrench(force=(3, 0, 0))}}, deadline_s=0.1)
    """
    doomed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], env={"PYTHONPATH": str(REPOSITORY / "clients/python")}, start_new_session=True
    )
    try:
        assert eventually(lambda: stream.newest()["block"].force_W[0] == 3.0)
    finally:
        doomed.kill()
        doomed.wait()
    end = stream.newest().tick + 400
    assert eventually(lambda: stream.newest()["block"].force_W == (0, 0, 0))
    assert all(s["block"].force_W == (0, 0, 0) for s in stream.states(0.3) if s.tick >= end)
    assert eventually(lambda: client.leases() == [])


def test_leaving_takes_the_force_along(server, client):
    stream = client.subscribe(["block"], wrench=True)
    with server.connect(name="guest") as guest:
        guest.push("block", force=(3, 0, 0), deadline_s=0.2).verdict()
    left = stream.newest().tick
    assert eventually(lambda: stream.newest()["block"].force_W == (0, 0, 0))
    assert stream.newest().tick - left < 150  # before the deadline of 200 ticks
    assert client.leases() == []


def test_the_second_client_watches_and_is_refused(server, client):
    with client.claim("block"), server.connect(name="second") as second:
        with pytest.raises(tactus.LeasedByOther, match="tester"):
            second.push("block", force=(1, 0, 0))
        with pytest.raises(tactus.LeasedByOther):
            second.claim("ball", "block")  # all or nothing
        assert [entry.channel for entry in second.leases()] == ["body/block/wrench"]
        with pytest.raises(tactus.LeasedByOther):
            second.claim("block", take_over=True)  # a session without a token may not
        assert second.push("ball", force=(1, 0, 0)).verdict().applied
        client.push("block", force=(10, 0, 0), deadline_s=0.2).verdict()
        before = second.latest()["block"].p_WB[0]
        assert eventually(lambda: second.latest()["block"].p_WB[0] > before + 1e-3)


def test_a_lease_that_is_not_renewed_expires(server, client):
    with server.connect(name="sleepy") as sleepy:
        lease = sleepy.claim("block", duration_s=0.3)
        lease.renew_at = time.monotonic() + 60
        assert sleepy.wait_event("LEASE_LOST", timeout_s=5).text == "body/block/wrench"
        assert not lease.held
        assert client.push("block", force=(1, 0, 0)).verdict().applied


def test_stepping_and_loading_need_the_world(server, client):
    with client.claim("world"), server.connect(name="second") as second:
        for forbidden in (second.pause, second.reset, lambda: second.set_model("deepest"), lambda: second.load("default")):
            with pytest.raises(tactus.LeasedByOther):
                forbidden()
