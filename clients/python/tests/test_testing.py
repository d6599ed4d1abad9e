"""The checks of tactus.testing find what is wrong, and say the worst of it. Its runs against a server: ../examples."""
import math

import pytest

from tactus import testing
from tactus.messages import StatePacket, Status
from tactus.state import State, Verdict


def state(tick, x, status=0):
    packet = StatePacket(tick=tick, parts=1, sim_time_s=0.001 * tick, status_bits=status, body_id=[3])
    packet.pose.extend([x, 0, 0, 1, 0, 0, 0])
    packet.velocity.extend([0] * 6)
    return State([packet], 0, {3: "block"})


class Sent:
    def __init__(self, sequence):
        self.sequence = sequence


def run_of(xs, first_tick=100):
    run = testing.Run(None, 1)
    for i, x in enumerate(xs):
        run.add_state(state(first_tick + i, x))
    run.state_hash = 7
    return run


def commanded(codes):
    run = run_of([0.0])
    for i, _ in enumerate(codes):
        run.add_command(Sent(i + 1))
    run.add_verdicts([Verdict(i + 1, code, 5, 0, 0) for i, code in enumerate(codes) if code is not None])
    return run


def test_tracking_is_judged_by_the_worst_state():
    run = run_of([0.0, 0.1, 0.25, 0.3])
    line = lambda t: (100 * t, 0, 0)  # noqa: E731  t counts from the first state
    assert run.tracks("block", line, within=0.0501) is run
    with pytest.raises(AssertionError, match=r"block is 0.05 off its target at t = 0.002 s \(tick 102\): found \(0.25, 0, 0\), expected \(0.2, 0, 0\)"):
        run.tracks("block", line, within=0.0499)
    run.tracks("block", line, within=1e-9, after_s=0.003)
    run.tracks(lambda s: s["block"].p_WB[0], lambda t: 100 * t, within=0.0501)
    run.tracks("block", (0.15, 0, 0), within=0.1501)


def test_not_a_number_never_tracks():
    with pytest.raises(AssertionError, match="nan"):
        run_of([0.0, math.nan, 0.0]).tracks("block", (0, 0, 0), within=1e9)


def test_a_check_that_begins_after_the_end_is_no_pass():
    with pytest.raises(AssertionError, match="nothing to judge"):
        run_of([0.0, 0.0]).tracks("block", (0, 0, 0), within=1, after_s=1)


def test_loss_counts_what_was_never_applied():
    run = commanded([1, 2, None, 12, 1, 3, 4, 1])  # applied, clamped, none, not leased, applied, superseded, expired, applied
    assert (run.loss, run.lost_in_a_row, run.commands) == (3 / 8, 2, 8)
    run.loss_below(0.38)
    with pytest.raises(AssertionError, match=r"37.50% of 8 commands were lost, at most 2 in a row, expected below 37.50%: .*1 REFUSED_NOT_LEASED"):
        run.loss_below(0.375)
    with pytest.raises(AssertionError, match="no command was sent"):
        run_of([0.0]).loss_below(1.0)


def test_faults_are_named():
    run_of([0.0]).no_faults()
    run = run_of([0.0])
    run.add_state(state(101, 0.0, Status.BODY_FROZEN))
    with pytest.raises(AssertionError, match="fault at tick 101.*BODY_FROZEN"):
        run.no_faults()


def test_different_bits_are_found_where_they_first_differ():
    run_of([0.0, 0.5]).same_bits(run_of([0.0, 0.5]))
    other = run_of([0.0, 0.5000000000000001])
    other.state_hash = 8
    with pytest.raises(AssertionError, match="first at tick 101"):
        run_of([0.0, 0.5]).same_bits(other)
    other.state_hash = None
    with pytest.raises(AssertionError, match="real time"):
        run_of([0.0, 0.5]).same_bits(other)


def test_a_server_that_is_not_there_or_does_not_start_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("TACTUS_BIN", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(testing.ServerFailed, match="no tactusd in .*TACTUS_BIN"):
        testing.find_server()
    broken = tmp_path / "tactusd"
    broken.write_text("#!/bin/sh\necho 'no such scene' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(testing.ServerFailed, match="did not start:\nno such scene"), testing.simulation("x.toml"):
        pass
