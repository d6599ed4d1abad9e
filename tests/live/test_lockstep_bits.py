"""Lockstep gives the same bits: 10,000 cycles with commands, twice over UDP and twice over TCP, and with many ticks a message."""
import math

import pytest

CYCLES = 10_000


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """A client in lockstep, of a server of its own."""
    from conftest import Server

    server = Server(tmp_path_factory.mktemp("stepped"), "--lockstep")
    server.duration_s = 900
    server.start()
    try:
        with server.connect(name="stepper") as client, client.claim("world", "block"):
            yield client
    finally:
        server.kill()


def force(tick):
    """Any, but the same for the same tick: pushes, pulls, lifts, and pauses in which the last one runs out."""
    if tick % 500 > 450:
        return None
    return (25 * math.sin(0.01 * tick), 10 * math.cos(0.003 * tick), 12 * math.sin(0.02 * tick))


def by_datagram(client, ticks, each=1):
    with client.lockstep(stream=client.subscribe(["block"])) as lockstep:
        client.reset()
        while lockstep.tick < ticks:
            if (wanted := force(lockstep.tick)) is not None:
                client.push("block", force=wanted)
            lockstep.step(each)
        return lockstep.tick, lockstep.state_hash()


def by_request(client, ticks, each=1, command_each=1):
    """The grants over TCP; a datagram that was sent before a ping was answered has been read."""
    connection = client.connection
    epoch = client.reset().scene_epoch
    tick = 0
    while tick < ticks:
        if tick % command_each == 0 and (wanted := force(tick)) is not None:
            client.push("block", force=wanted)
            connection.barrier(5.0)
        reply = connection.request("grant", run_to_tick=tick + each, scene_epoch=epoch).grant
        tick = reply.tick
    return tick, reply.state_hash


def test_ten_thousand_cycles_are_the_same_bits_over_udp_and_over_tcp(stepped):
    runs = [by_datagram(stepped, CYCLES), by_datagram(stepped, CYCLES), by_request(stepped, CYCLES), by_request(stepped, CYCLES)]
    assert runs[0][0] == CYCLES
    assert len(set(runs)) == 1, [f"{tick} {state_hash:016x}" for tick, state_hash in runs]


def test_the_commands_decide_the_bits(stepped):
    """So that the test above can fail: one push more, and the end is another."""
    expected = by_request(stepped, 50)
    connection = stepped.connection
    stepped.reset()
    stepped.push("ball", force=(1e-9, 0, 0))
    connection.barrier(5.0)
    for tick in range(50):
        stepped.push("block", force=force(tick))
        connection.barrier(5.0)
        reply = connection.request("grant", run_to_tick=tick + 1).grant
    assert reply.tick == expected[0] and reply.state_hash != expected[1]


def test_how_many_ticks_a_message_grants_changes_no_bit(stepped):
    """A command every ten ticks: granted one by one, or ten at once, by either way."""
    one_by_one = by_request(stepped, 3000, each=1, command_each=10)
    assert by_request(stepped, 3000, each=10, command_each=10) == one_by_one
    assert by_datagram(stepped, 3000, each=10) == one_by_one


def test_without_commands_one_grant_is_as_good_as_ten_thousand(stepped):
    connection = stepped.connection
    hashes = set()
    for each in (1, 137, CYCLES):
        stepped.reset()
        tick = 0
        while tick < CYCLES:
            reply = connection.request("grant", run_to_tick=min(CYCLES, tick + each)).grant
            tick = reply.tick
        hashes.add((tick, reply.state_hash))
    assert len(hashes) == 1, hashes
