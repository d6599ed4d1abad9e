"""Parts, verdicts, columns, clock."""
import pytest

import tactus.state
from tactus import VerdictCode
from tactus.messages import StatePacket, VerdictPacket
from tactus.state import Assembler, ClockEstimate, State
from tactus.verdicts import LOST_AFTER_S, VerdictLog


def packet(tick, part=0, parts=1, epoch=1, bodies=(), start_ns=0):
    p = StatePacket(scene_epoch=epoch, tick=tick, part=part, parts=parts, tick_start_ns=start_ns or tick)
    for body in bodies:
        p.body_id.append(body)
        p.pose.extend([body, 0, 0, 1, 0, 0, 0])
        p.velocity.extend([body, 1, 2, 3, 4, 5])
    return p


def test_parts_in_any_order_make_one_state():
    assembler = Assembler()
    assert assembler.add(packet(1, 2, 3), 3) is None
    assert assembler.add(packet(1, 0, 3), 1) is None
    assert [p.part for p in assembler.add(packet(1, 1, 3), 4)] == [0, 1, 2]


def test_a_lost_part_costs_its_tick_only():
    assembler = Assembler()
    complete = []
    for tick in range(1, 9):
        for part in (0, 1):
            if (tick, part) != (2, 1):
                complete.append(assembler.add(packet(tick, part, 2), 2 * tick + part))
    assert [c[0].tick for c in complete if c] == [1, 3, 4, 5, 6, 7, 8]
    for tick in (20, 21, 22, 23):
        assembler.add(packet(tick, 0, 2), 100 + tick)
    assert assembler.incomplete == 1


def test_ticks_may_go_back_but_packets_may_not():
    assembler = Assembler()
    assert assembler.add(packet(100), 1)
    assert assembler.add(packet(50), 2)  # restored
    assert assembler.add(packet(99), 1) is None  # came late
    assert assembler.reordered == 1


def judged(*rows):
    p = packet(1)
    for sequence, code in rows:
        p.verdict_sequence.append(sequence)
        p.verdict_code.append(code)
        p.verdict_tick.append(9)
        p.verdict_age_us.append(120)
        p.verdict_item.append(0)
    return p


def test_repeated_verdicts_count_once_and_come_in_order():
    log = VerdictLog()
    assert log.add(judged((2, VerdictCode.CLAMPED), (1, VerdictCode.APPLIED)))
    assert log.add(judged((3, VerdictCode.APPLIED), (2, VerdictCode.CLAMPED), (1, VerdictCode.APPLIED)))
    assert not log.add(judged((3, VerdictCode.APPLIED), (2, VerdictCode.CLAMPED)))
    assert [v.sequence for v in log.take_fresh()] == [1, 2, 3] and log.take_fresh() == []
    assert log.counts == {"APPLIED": 2, "CLAMPED": 1}
    assert log.find(2).name == "CLAMPED" and log.find(2).applied and log.find(9) is None


def test_a_replay_of_a_command_is_seen_beside_its_own_verdict():
    log = VerdictLog()
    log.add(judged((1, VerdictCode.APPLIED)))
    assert log.add(judged((1, VerdictCode.REFUSED_OLD_SEQUENCE), (1, VerdictCode.APPLIED)))
    assert log.counts == {"APPLIED": 1, "REFUSED_OLD_SEQUENCE": 1}


def test_a_verdict_code_of_a_newer_server_does_not_break_the_client():
    log = VerdictLog()
    log.add(judged((1, 99)))
    assert log.find(1).name == "CODE_99" and log.find(1).refused


def numbered(number, *verdicts):
    packet = judged(*verdicts)
    packet.verdict_number = number
    return packet


def test_a_gap_in_the_numbers_is_known_and_what_the_server_dropped_is_named():
    log = VerdictLog()
    log.add(numbered(1, (1, VerdictCode.APPLIED)))
    assert log.received == 1
    log.add(numbered(6, (6, VerdictCode.APPLIED), (5, VerdictCode.APPLIED)))
    assert log.received == 1  # 2 to 4 are missing
    packet = VerdictPacket(number=4, dropped=3, sequence=[4], code=[1], tick=[9], age_us=[1], item=[0])
    assert "verdicts 2 to 3 were lost by the link" in log.add_verdicts(packet)
    assert log.received == 6 and log.numbers_lost == 2 and log.add_verdicts(packet) == ""


def test_a_command_is_lost_only_when_later_ones_were_seen_long_ago_and_no_verdict_is_missing():
    log = VerdictLog()
    for sequence in (1, 2):
        log.sent(sequence)
    log.add(numbered(2, (2, VerdictCode.APPLIED)))
    assert not log.heard(2, 10.0, False) and not log.heard(2, 10 + 2 * LOST_AFTER_S, False)  # number 1 is missing: it may be of command 1
    log.add(numbered(2, (2, VerdictCode.APPLIED), (7, VerdictCode.APPLIED)))
    assert log.heard(2, 11.0, False)
    assert log.find(1).lost and log.counts == {"APPLIED": 2, "LOST": 1}
    log.sent(3)
    assert not log.heard(3, 12.0, False) and not log.heard(3, 13.0, False)  # nothing later was seen
    assert not log.heard(4, 14.0, True) and not log.heard(4, 15.0, True)  # lockstep
    assert not log.heard(4, 16.0, False) and log.heard(4, 17.0, False) and log.find(3).lost


def columns(state):
    return [[float(v) for v in row] for row in state.pose], [[float(v) for v in row] for row in state.velocity]


@pytest.mark.parametrize("with_numpy", [True, False])
def test_columns_join_the_parts(monkeypatch, with_numpy):
    if not with_numpy:
        monkeypatch.setattr(tactus.state, "numpy", None)
    state = State([packet(1, 0, 2, bodies=(3, 1)), packet(1, 1, 2, bodies=(2,))], 0, {1: "a", 2: "b", 3: "c"})
    assert state.bodies == ["c", "a", "b"] and list(state.body_id) == [3, 1, 2]
    pose, velocity = columns(state)
    assert [row[0] for row in pose] == [3, 1, 2] and velocity[1] == [1, 1, 2, 3, 4, 5]
    assert state["b"].p_WB == (2, 0, 0) and state[1].w_WB == (3, 4, 5) and state["a"].force_W is None
    assert state.wrench is None and len(state.contact) == 0 and state.contacts == []
    assert "a" in state and "z" not in state
    with pytest.raises(KeyError, match="it holds: c, a, b"):
        state["z"]


def test_clock_finds_offset_and_round_trip_under_one_sided_delays():
    clock = ClockEstimate()
    assert clock.offset_s is None
    for delay in (900, 100, 500):
        sent = 1_000_000 + delay
        received_there = sent + 100_000 + delay  # their clock is 100 us ahead
        clock.add(sent, received_there, received_there + 50, sent + 2 * delay + 50)
    assert clock.round_trip_s == pytest.approx(200e-9)
    assert clock.offset_s == pytest.approx(100e-6, abs=1e-9)
    clock.add(0, 5, 6, 7)  # nothing was echoed
    assert clock.samples == 3
