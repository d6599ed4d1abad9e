"""A server that dies and comes back under a running client."""
import os
import signal
import threading
import time

import pytest

import tactus

RESTARTS = 20


def test_twenty_restarts_under_a_running_client(server, client):
    stream = client.subscribe(["block"], wrench=True)
    epochs = [stream.read().scene_epoch]
    forces = []
    stop = threading.Event()

    def drive():
        """Goes on pushing, as a program would that does not look at the connection."""
        while not stop.is_set():
            try:
                client.push("block", force=(1, 0, 0))
                forces.append("sent")
            except (tactus.NotArmed, tactus.LinkLost, tactus.RequestError):
                pass
            time.sleep(0.002)

    driver = threading.Thread(target=drive, daemon=True)
    driver.start()
    try:
        for restart in range(RESTARTS):
            server.kill()
            client.wait_event("LINK_LOST", timeout_s=10)
            time.sleep(0.02)  # a push that was under way has returned
            forces.clear()
            server.start()
            assert client.wait_event("RECONNECTED", timeout_s=10)
            seen = [stream.read(5) for _ in range(10)]
            epochs.append(seen[-1].scene_epoch)
            assert not client.armed and forces == []
            assert all(s["block"].force_W == (0, 0, 0) for s in seen), f"restart {restart}: a force before arm()"
            client.arm()
            assert next(s for s in stream.states(5) if s["block"].force_W[0] > 0)
    finally:
        stop.set()
        driver.join()
    assert len(set(epochs)) == RESTARTS + 1
    assert client.reconnects == RESTARTS


def test_an_explicit_lease_comes_back_with_arm(server, client):
    lease = client.claim("block")
    server.kill()
    server.start()
    client.wait_event("RECONNECTED", timeout_s=10)
    assert not lease.held and client.leases() == []
    with pytest.raises(tactus.NotArmed, match="arm"):
        client.push("block", force=(1, 0, 0))
    client.arm()
    assert lease.held and [e.channel for e in client.leases()] == ["body/block/wrench"]


def test_a_control_loop_ends_with_the_link(server, client):
    threading.Timer(0.3, server.kill).start()
    with pytest.raises(tactus.LinkLost):
        client.control(["block"], lambda state: {"block": tactus.Wrench(force=(1, 0, 0))}, duration_s=10)
    server.start()
    client.wait_event("RECONNECTED", timeout_s=10)
    client.arm()
    assert client.control(["block"], lambda state: {"block": tactus.Wrench(force=(1, 0, 0))}, duration_s=0.2).commands > 10


def test_a_server_that_stands_still_is_not_given_up(server, client):
    """SIGSTOP for half a second: the stream pauses and goes on, on the same session."""
    client.read()
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(server.process.pid, signal.SIGCONT)
    client.default_subscription().skip()
    state = client.read(5)
    assert client.reconnects == 0
    later = [s for s in client.states(0.5)]
    assert later[-1].tick > state.tick and later[-1].ticks_missed > 0
