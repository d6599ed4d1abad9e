"""What a client tells of its states: when they arrived, and which of them it could have answered."""
from tactus.arrivals import KEPT, Arrivals

MS = 1_000_000


def fed(times):
    arrivals = Arrivals()
    arrivals.restart(0.001)
    for tick, ns in enumerate(times, 1):
        arrivals.add(tick, ns)
    return arrivals


def test_evenly_spaced_states_are_all_due_but_the_newest():
    assert fed([i * MS for i in range(100)]).due == 99


def test_of_bunched_states_a_client_answers_as_many_as_it_has_time_for():
    arrivals = fed([0])
    for _ in range(100):
        arrivals.answered(1, MS // 2)  # it usually needs half a period
    for tick in range(2, 102):
        arrivals.add(tick, 10 * MS + tick)  # all at once
    arrivals.add(102, 20 * MS)
    assert arrivals.states == 102
    assert 2 <= arrivals.due <= 3


def test_a_state_of_two_subscriptions_counts_once():
    arrivals = fed([0, MS])
    arrivals.add(2, MS)
    assert arrivals.states == 2


def test_the_arrival_of_a_state_is_known_as_long_as_a_hang_may_last():
    arrivals = fed([i * MS for i in range(KEPT + 10)])
    assert arrivals.at(11) == 10 * MS  # 8 s ago
    assert arrivals.at(10) == arrivals.at(10**9) == 0


def test_states_that_found_the_socket_full_were_this_programs_to_answer():
    arrivals = fed([i * MS for i in range(100)])
    arrivals.add(100 + 50, 150 * MS, overflowed=6 * 49)  # in six datagrams each
    assert (arrivals.states, arrivals.due) == (100 + 50, 100 + 49)
    arrivals.add(150 + 20, 170 * MS, overflowed=6 * 49)  # lost on the way: nothing more overflowed
    assert (arrivals.states, arrivals.due) == (151, 150)
