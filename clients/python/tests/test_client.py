"""The client against a server in the same process."""
import pathlib
import random
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tactus
from fake_server import FakeServer
from tactus import wire
from tactus.client import split_address
from tactus.messages import EventKind, Reply


def test_scenes_and_scene(client):
    assert client.scenes() == {"default": "Default", "other": "Other"}
    assert client.scene["block"].mode == "free" and "floor" in client.scene
    with pytest.raises(KeyError, match="it has: block, ball, floor"):
        client.scene["blok"]


def test_an_event_may_come_with_the_very_hello():
    """Both in one read: the event has a mac already, whose key stands in the HelloReply."""

    class Eager(FakeServer):
        def _hello(self, session, request):
            writes = []
            session.tcp, tcp = type("Held", (), {"sendall": lambda _, data: writes.append(data)})(), session.tcp
            super()._hello(session, request)
            session.send(Reply(event={"kind": EventKind.MODEL_CHANGED, "text": "deepest"}))
            session.tcp = tcp
            tcp.sendall(b"".join(writes))

    with Eager() as server, tactus.connect("127.0.0.1", server.port) as client:
        assert client.wait_event("MODEL_CHANGED").text == "deepest"


def test_states_stream_in_order_and_know_the_clock(client):
    ticks = [state.tick for state in client.states(duration_s=0.3)]
    assert len(ticks) > 30 and ticks == sorted(set(ticks))
    assert 0 < client.round_trip_s < 0.5 and abs(client.clock_offset_s) < 0.25  # one machine, one clock


def test_push_moves_the_body_and_is_judged(client):
    before = client.read()["block"]
    verdict = client.push("block", force=(5, 0, 0), deadline_s=0.2).verdict()
    assert verdict.name == "APPLIED" and verdict.applied and not verdict.refused
    assert client.push("block", force=(500, 0, 0)).verdict().name == "CLAMPED"
    assert client.latest()["block"].v_WB[0] > before.v_WB[0]
    assert client.push("floor", force=(1, 0, 0)).verdict().name == "REFUSED_NOT_FREE"


def test_nonsense_is_refused_before_it_is_sent(client, server):
    for arguments in (dict(force=(1, 2)), dict(force=(float("nan"), 0, 0)), dict(frame="tool"), dict(deadline_s=0.3), dict(deadline_s=0)):
        with pytest.raises(ValueError):
            client.push("block", **arguments)
    with pytest.raises(KeyError, match="no body 'blok'"):
        client.push("blok")
    assert server.commands == []


def test_rows_carry_frame_and_point(client, server):
    client.command({"block": tactus.Wrench((1, 0, 0), at=(0, 0, 0.5)), "ball": tactus.Wrench((0, 1, 0), frame="body")}).verdict()
    command = server.commands[-1]
    assert list(command.body_id) == [0, 1] and list(command.frame) == [0, 1] and list(command.point) == [0, 0, 0.5, 0, 0, 0]


def test_control_counts_what_became_of_its_commands(client, server):
    seen = []

    def callback(state):
        seen.append(state.tick)
        return tactus.STOP if len(seen) == 50 else {"block": tactus.Wrench((1, 0, 0))}

    report = client.control(["block"], callback)
    assert report.cycles == 50 and report.commands == 49
    assert report.verdicts == {"APPLIED": 49} and report.applied_ratio == 1
    assert server.commands[-1].wrench[0] == 0  # the last word is zero
    assert server.leases == {}


def test_control_ends_with_zero_when_the_callback_raises(client, server):
    def callback(state):
        if server.commands:
            raise RuntimeError("user's mistake")
        return {"block": tactus.Wrench((1, 0, 0))}

    with pytest.raises(RuntimeError, match="user's mistake"):
        client.control(["block"], callback)
    assert list(server.commands[-1].wrench) == [0] * 6 and server.leases == {}


def test_close_sends_zero_and_releases(server):
    with tactus.connect("127.0.0.1", server.port) as client:
        client.push("block", force=(1, 0, 0), deadline_s=0.2).verdict()
        assert [entry.channel for entry in client.leases()] == ["body/block/wrench"]
    assert list(server.commands[-1].wrench) == [0] * 6
    assert server.leases == {}


def test_end_of_program_sends_zero(server):
    program = f"""
        import tactus
        c = tactus.connect("127.0.0.1", {server.port})
        c.push("block", force=(1, 0, 0), deadline_s=0.2).verdict()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=10, env={"PYTHONPATH": ":".join(sys.path)})
    assert [command.wrench[0] for command in server.commands] == [1, 0]


def test_second_client_is_refused_until_the_first_releases(client, server):
    with tactus.connect("127.0.0.1", server.port, name="second") as second, client.claim("block") as lease:
        with pytest.raises(tactus.LeasedByOther, match="held by"):
            second.push("block", force=(1, 0, 0))
        assert second.read().tick > 0
        lease.release()
        assert second.push("block", force=(1, 0, 0)).verdict().applied


def test_leases_renew_and_idle_ones_end(client, server, monkeypatch):
    monkeypatch.setattr(tactus.leases, "AUTOMATIC_IDLE_S", 0.3)
    with client.claim("ball", duration_s=0.6):
        client.push("block", force=(1, 0, 0))
        time.sleep(0.8)
        assert "renew_lease" in server.requests
        assert [entry.channel for entry in client.leases()] == ["body/ball/wrench"]
        with pytest.raises(tactus.TactusError, match="already"):
            client.claim("ball")


def test_lease_lost_is_seen(client, server):
    lease = client.claim("block")
    server.leases.clear()
    server.emit(EventKind.LEASE_LOST, "body/block/wrench")
    assert client.wait_event("LEASE_LOST").text == "body/block/wrench"
    assert not lease.held


def test_the_lost_lease_is_the_one_that_is_named(client, server):
    lease = client.claim("block")
    for other in ("body/block2/wrench", "body/block", "body/bloc/wrench", ""):
        server.emit(EventKind.LEASE_LOST, other)
        assert client.wait_event("LEASE_LOST").text == other
    assert lease.held


def test_world_requests_claim_the_world_for_their_time(client, server):
    client.pause()
    assert client.statistics().paused and server.leases == {}
    assert client.step(5).tick == client.statistics().tick
    client.resume()
    with pytest.raises(tactus.WrongState):
        client.step()
    client.set_model("deepest")
    assert client.refresh_scene().model == "deepest"
    with pytest.raises(tactus.BadValue, match="there are: penalty deepest"):
        client.set_model("magic")


def test_snapshot_and_restore(client):
    client.pause()
    kept = client.snapshot("here")
    client.step(10)
    client.restore("here")
    assert client.statistics().state_hash == kept.state_hash
    client.step(10)
    client.restore(kept)
    assert client.statistics().state_hash == kept.state_hash and client.snapshot().tick == kept.tick


def run_in_lockstep(port, ticks):
    with tactus.connect("127.0.0.1", port) as client:
        with client.lockstep() as lockstep:
            client.reset()
            for tick in range(ticks):
                client.push("block", force=(tick % 3 - 1, 0, 0))
                state = lockstep.step()
            return state.tick, lockstep.state_hash(), state["block"].p_WB


def test_lockstep_twice_is_the_same():
    with FakeServer() as server:
        first, second = run_in_lockstep(server.port, 50), run_in_lockstep(server.port, 50)
        assert first == second and first[0] == 50


def test_lockstep_survives_lost_grants_and_states(server, client):
    rng = random.Random(1)
    with client.lockstep() as lockstep:
        server.filter_datagrams = lambda datagrams: [] if rng.random() < 0.2 else datagrams
        start = lockstep.tick
        for _ in range(20):
            lockstep.step(3)
        assert lockstep.tick == start + 60
        kept = client.snapshot()
        lockstep.step(5)
        client.restore(kept)
        assert lockstep.tick == kept.tick and lockstep.step(1).tick == kept.tick + 1
    assert not client.statistics().lockstep


def test_lockstep_notices_a_lost_command(server, client):
    with client.lockstep() as lockstep:
        client.push("block", force=(1, 0, 0))
        lockstep.step()
        server.lose_commands = True
        lost = client.push("block", force=(1, 0, 0))
        with pytest.raises(tactus.LockstepError, match=str(lost.sequence)):
            lockstep.step()


def test_shuffled_repeated_and_foreign_datagrams(server, client):
    rng = random.Random(2)
    client.load("other")
    old = []

    def disturb(datagrams):
        old.extend(datagrams)
        if not old:
            return datagrams  # a tick between load and the first subscription
        noise = [rng.choice(old), b"", b"TC", rng.choice(old)[:-1] + b"\0", bytes(rng.randrange(256) for _ in range(60))]
        mixed = datagrams * 2 + noise
        rng.shuffle(mixed)
        return mixed

    server.filter_datagrams = disturb
    ticks = [state.tick for state in client.states(0.4)]
    assert len(ticks) > 30 and ticks == sorted(set(ticks))
    refused = client.link_statistics().datagrams_refused
    assert refused["old sequence"] > 0 and refused["mac"] > 0 and refused["size"] > 0
    assert client.connected


def test_load_renews_streams_and_stays_armed(client):
    client.read()
    epoch = client.scene_epoch
    scene = client.load("other")
    assert scene.name == "other" and scene.scene_epoch != epoch and client.armed
    state = client.read()
    assert state.scene_epoch == scene.scene_epoch and "ring" in state
    with pytest.raises(tactus.BadScene, match="key mass_kg"):
        client.load("broken")
    assert client.scene.name == "other"


def test_anothers_load_disarms(client, server):
    client.read()
    client.push("block", force=(1, 0, 0))
    with tactus.connect("127.0.0.1", server.port) as second:
        scene = second.load("other")
    client.wait_event("SCENE_CHANGED")
    state = client.read()  # none of the old scene is read from then on
    assert "ring" in state
    assert state.scene_epoch == scene.scene_epoch == client.scene_epoch
    with pytest.raises(tactus.NotArmed, match="the scene changed"):
        client.push("block")
    client.arm()
    assert client.push("block", force=(1, 0, 0)).verdict().applied


def test_restarts_are_survived_and_need_arming(server, client):
    epochs = {client.read().scene_epoch}
    lease = client.claim("ball")
    for restart in range(3):
        server.stop()
        server.commands.clear()
        server.start()
        client.wait_event("RECONNECTED")
        epochs.add(client.read().scene_epoch)
        assert not lease.held
        with pytest.raises(tactus.NotArmed, match="arm()"):
            client.push("block", force=(1, 0, 0))
        assert server.commands == []
        client.arm()
        assert lease.held
        assert client.push("block", force=(1, 0, 0)).verdict().applied
    assert len(epochs) == 4 and client.reconnects == 3


def test_states_iterates_across_a_restart(server, client):
    threading.Timer(0.2, lambda: (server.stop(), server.start())).start()
    assert len({state.scene_epoch for state in client.states(1.0)}) == 2


def test_control_ends_when_the_link_falls(server, client):
    threading.Timer(0.2, server.drop_clients).start()
    with pytest.raises(tactus.LinkLost):
        client.control(["block"], lambda state: {"block": tactus.Wrench((1, 0, 0))}, duration_s=5)
    client.wait_event("RECONNECTED")


def test_requests_under_way_fail_when_the_link_falls(server):
    with tactus.connect("127.0.0.1", server.port, reconnect=False) as client:
        server.drop_clients()
        client.wait_event("LINK_LOST")
        with pytest.raises(tactus.LinkLost, match="for good"):
            client.statistics()


def test_a_control_frame_with_a_wrong_mac_ends_the_link(server, client):
    session = server.sessions[0]
    frame = bytearray(session.writer.frame(Reply(event={"kind": EventKind.PAUSED}).SerializeToString()))
    frame[-1] ^= 1
    session.tcp.sendall(frame)
    assert "wrong mac" in client.wait_event("LINK_LOST").text
    client.wait_event("RECONNECTED")


def test_token_right_wrong_and_missing(tmp_path):
    path = tmp_path / "token"
    path.write_text("correct horse battery\n")
    path.chmod(0o600)
    with FakeServer(token=b"correct horse battery") as server:
        with tactus.connect("127.0.0.1", server.port, token_file=path) as client:
            assert client.role == "control" and client.read().tick > 0
        with pytest.raises(tactus.AuthenticationError, match="not this server's"):
            tactus.connect("127.0.0.1", server.port, token="wrong")
        with pytest.raises(tactus.AuthenticationError, match="token_file="):
            tactus.connect("127.0.0.1", server.port)


def test_a_server_that_does_not_know_the_token_is_not_trusted(monkeypatch):
    honest = wire.handshake_proof
    with FakeServer(token=b"t") as server:
        server._authenticate = lambda session, request: (
            setattr(session, "key", wire.session_key(b"t", session.nonce_client, session.nonce_server)),
            setattr(session.writer, "key", session.key),
            session.send(Reply(id=request.id, authenticate={"proof": honest(b"u", "server", b"", b"")})),
        )
        with pytest.raises(tactus.AuthenticationError, match="another server"):
            tactus.connect("127.0.0.1", server.port, token="t")


def test_other_major_version(server):
    server.version_major = 2
    with pytest.raises(tactus.VersionMismatch, match="2.0"):
        tactus.connect("127.0.0.1", server.port)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(tactus.ConnectError, match="server/run"):
        tactus.connect("127.0.0.1", port)


def test_something_else_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: listener.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), daemon=True).start()
        with pytest.raises(tactus.ConnectError, match="is this a Tactus control port"):
            tactus.connect("127.0.0.1", listener.getsockname()[1], timeout_s=2)


def test_a_slow_reader_keeps_the_newest(client, monkeypatch):
    monkeypatch.setattr(tactus.subscription, "QUEUE_MAX", 20)
    stream = client.subscribe()
    stream._queue = type(stream._queue)(maxlen=20)
    time.sleep(0.3)
    assert stream.dropped > 0 and client.link_statistics().states_dropped == stream.dropped
    newest = stream.latest().tick
    assert stream.newest().tick >= newest


@pytest.mark.parametrize(
    "text, expected",
    [("h", ("h", 17800)), ("h:5", ("h", 5)), ("[::1]:5", ("::1", 5)), ("::1", ("::1", 17800))],
)
def test_addresses(text, expected):
    assert split_address(text) == expected


def test_status_program(server, capsys):
    from tactus.__main__ import main

    assert main(["--host", f"127.0.0.1:{server.port}", "--json"]) == 0
    assert '"scene": "default"' in capsys.readouterr().out
    server.stop()
    assert main(["--host", f"127.0.0.1:{server.port}"]) == 1
    assert "server/run" in capsys.readouterr().err
    server.start()


@pytest.mark.parametrize("example", ["push_block.py", "lockstep_ci.py"])
def test_examples(example):
    path = pathlib.Path(__file__).resolve().parent.parent / "examples" / example
    with FakeServer() as server:
        arguments = ["--host", f"127.0.0.1:{server.port}"] + (["--ticks", "20"] if "lockstep" in example else [])
        done = subprocess.run([sys.executable, path, *arguments], env={"PYTHONPATH": ":".join(sys.path)}, timeout=10)
    assert done.returncode == 0
