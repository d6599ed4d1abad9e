"""The stream of states: its rate, its contents, and that nobody disturbs another's."""
import multiprocessing
import threading
import time

from conftest import assert_still_ticking, counts

import tactus
from tactus import wire
from tactus.link import Link
from tactus.messages import CommandPacket


def test_one_state_a_tick_on_a_grid_of_1_khz(client):
    client.read()
    states = list(client.states(duration_s=1.5))
    first, last = states[0], states[-1]
    ticks = last.tick - first.tick
    grid_points = ticks + last.ticks_missed - first.ticks_missed
    server_s = (last.tick_start_ns - first.tick_start_ns) / 1e9
    assert 990 < grid_points / server_s < 1010  # late ticks are skipped and counted, never lost sight of
    assert len(states) > 0.9 * ticks  # and nearly each one arrives
    assert abs((last.sim_time_s - first.sim_time_s) - 0.001 * ticks) < 1e-6
    assert [s.tick for s in states] == sorted({s.tick for s in states})
    assert 0 < last.real_time_factor < 1.1


def test_what_a_state_holds(client):
    stream = client.subscribe(["ball", "block"], wrench=True, contacts=True)
    time.sleep(0.2)  # at rest
    state = stream.newest()
    assert set(state.bodies) == {"block", "ball"}
    assert abs(state["block"].p_WB[2] - 0.1) < 2e-3 and abs(sum(q * q for q in state["block"].q_WB) - 1) < 1e-9
    assert state["ball"].force_W == (0, 0, 0)
    touching = [c for c in state.contacts if "block" in (c.body_a, c.body_b)]
    assert touching and all("floor" in (c.body_a, c.body_b) for c in touching)
    up_on_block = sum(c.force_A_W[2] if c.body_a == "block" else -c.force_A_W[2] for c in touching)
    assert 0.8 < up_on_block / 9.81 < 1.2  # it carries its weight
    assert state.contacts_count >= len(touching) > 0


def test_decimation_precision_and_an_unknown_body(client):
    coarse = client.subscribe(decimation=10, single_precision=True)
    ticks = [state.tick for state in coarse.states(0.5)]
    assert len(ticks) > 20 and all(b - a >= 10 or b // 10 > a // 10 for a, b in zip(ticks, ticks[1:]))
    assert abs(coarse.latest()["ball"].p_WB[0] - 2) < 1e-3
    try:
        client.subscribe(["nobody"])
        raise AssertionError("an unknown body was accepted")
    except tactus.NotFound as error:
        assert "nobody" in str(error)


def test_clock_and_round_trip(client):
    list(client.states(0.3))
    client.connection.barrier(1.0)
    assert 0 < client.round_trip_s < 0.1
    assert abs(client.clock_offset_s) < 0.05  # one machine, one clock


def test_many_observers_see_the_same_world(server, client):
    observers = [server.connect(name=f"observer-{i}") for i in range(4)]
    try:
        seen = [{s.tick: s.pose.tobytes() for s in o.states(0.4)} for o in [client, *observers]]
    finally:
        for observer in observers:
            observer.close()
    assert all(len(ticks) > 50 for ticks in seen)
    with server.connect() as late:
        assert late.read().scene_epoch == client.scene_epoch


def arrived_ratio(client, duration_s):
    """States that arrived per tick that went by."""
    client.default_subscription().skip()
    states = list(client.states(duration_s))
    return len(states) / (states[-1].tick - states[0].tick + 1)


def flood(port, stop):
    """As many commands a second as one process can send."""
    link = Link("127.0.0.1", port, "flooder", b"", 5.0)
    packet = CommandPacket(scene_epoch=1, body_id=[1], wrench=[1.0] * 6)
    while not stop.is_set():
        for _ in range(500):
            link.send_datagram(wire.COMMAND, packet)
    link.close()


def test_a_flooder_disturbs_nobody(server, client):
    client.read()
    quiet = arrived_ratio(client, 0.5)
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    flooder = context.Process(target=flood, args=(server.port, stop), daemon=True)
    flooder.start()
    try:
        time.sleep(0.3)
        flooded = arrived_ratio(client, 1.0)
        assert client.push("block", force=(0, 0, 1)).verdict(3).applied
        statistics = next(c for c in client.statistics().clients if c.name == "flooder")
    finally:
        stop.set()
        flooder.join(5)
        flooder.kill()
    assert flooded > 0.7 * quiet
    assert statistics.commands_refused > 1000
    assert {"VERDICT_REFUSED_QUEUE_FULL", "VERDICT_REFUSED_STALE_EPOCH"} <= set(counts(statistics.refused_by_reason))


def test_a_client_that_never_reads_disturbs_nobody(server, client):
    lazy = Link("127.0.0.1", server.port, "lazy", b"", 5.0)
    try:
        for _ in range(4):
            lazy.exchange("subscribe", velocity=True, contacts=True)
        lazy.send_datagram(wire.COMMAND, CommandPacket())
        stop = threading.Event()

        def ask_and_never_listen():
            from tactus.link import make_request

            while not stop.wait(0.01):
                lazy.send_request(make_request(lazy.next_id(), "describe_scene", {}))

        asker = threading.Thread(target=ask_and_never_listen, daemon=True)
        asker.start()
        client.read()
        assert arrived_ratio(client, 0.8) > 0.8
        stop.set()
        asker.join()
        assert_still_ticking(client)
    finally:
        lazy.close()
