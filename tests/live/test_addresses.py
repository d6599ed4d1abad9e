"""Where datagrams go: to the client's own address and no other, from the address that was asked. Who does not see does not drive."""
import socket
import time

import pytest
import tactus
from conftest import counts, eventually
from tactus import wire
from tactus.messages import ChallengePacket, CommandPacket

TOKEN = b"a token for two addresses"
OTHER = "127.0.0.9"  # of this machine, and not where the control connection comes from


def socket_at(address):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.bind((address, 0))
    out.settimeout(1)
    return out


def received(udp, seconds):
    """(datagrams, bytes) that come in so long."""
    end, count, size = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        try:
            size += len(udp.recv(2048))
            count += 1
        except TimeoutError:
            pass
    return count, size


def beat(raw, **fields):
    return raw.seal(wire.COMMAND, CommandPacket(scene_epoch=raw.epoch, client_send_ns=1, **fields).SerializeToString())


def challenge_at(udp, raw):
    kind, _, payload = wire.open_datagram(raw.link.key, raw.link.session, udp.recv(2048))
    assert kind == wire.CHALLENGE
    return ChallengePacket.FromString(payload).challenge


def test_a_stream_is_not_pointed_at_somebody_else(server, raw):
    raw.exchange("subscribe", bodies=["*"], velocity=True)
    with socket_at(OTHER) as third:
        sent = beat(raw)
        third.sendto(sent, ("127.0.0.1", server.realtime_port))
        count, size = received(third, 1.5)
    assert count <= 1 and size <= len(sent), "more came than was sent: a third can be flooded"
    raw.send(beat(raw))
    assert eventually(lambda: any(kind == wire.STATE for kind, *_ in raw.link.receive_datagrams())), "the client's own address gets no states"


def test_challenges_are_rare_and_smaller_than_what_caused_them(server, raw):
    raw.exchange("subscribe", bodies=["*"])
    with socket_at(OTHER) as third:
        sent = 0
        start = time.monotonic()
        for _ in range(200):
            sent += third.sendto(beat(raw), ("127.0.0.1", server.realtime_port))
        count, size = received(third, 0.5)
        assert 1 <= count <= 2 + 10 * (time.monotonic() - start) and size < sent / 4


def test_whoever_answers_the_challenge_gets_the_stream_there(server, raw):
    raw.exchange("subscribe", bodies=["*"])
    with socket_at(OTHER) as behind_nat:
        to = ("127.0.0.1", server.realtime_port)
        behind_nat.sendto(beat(raw), to)
        number = challenge_at(behind_nat, raw)
        behind_nat.sendto(beat(raw, challenge=number ^ 2), to)  # a guess
        assert received(behind_nat, 0.3)[0] <= 1
        behind_nat.sendto(beat(raw, challenge=number), to)
        assert received(behind_nat, 1)[0] > 20
        with socket_at("127.0.0.8") as third:  # the answer holds for its address only
            third.sendto(beat(raw, challenge=number), to)
            assert received(third, 0.5)[0] <= 1


def test_a_client_behind_nat_answers_by_itself(server, monkeypatch):
    make = socket.socket

    def elsewhere(family=socket.AF_INET, kind=socket.SOCK_STREAM, *rest, **more):
        made = make(family, kind, *rest, **more)
        if kind == socket.SOCK_DGRAM:
            made.bind((OTHER, 0))
        return made

    monkeypatch.setattr("tactus.link.socket.socket", elsewhere)
    with server.connect(name="behind-nat") as client:
        monkeypatch.undo()
        client.subscribe()
        assert client.latest(20).tick >= 0


def test_answers_leave_from_the_address_that_was_asked(make_server, tmp_path):
    token = tmp_path / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o600)
    server = make_server("--listen", "0.0.0.0", "--token-file", token).start()
    for host in ("127.0.0.1", "127.0.0.2"):
        with tactus.connect(host, server.port, token_file=token, name="second-address") as client:
            client.subscribe()
            assert client.latest(20).tick >= 0, host
            assert client.push("ball", force=(1, 0, 0)).verdict(10).name in ("APPLIED", "SUPERSEDED")


# --- blind clients


def leased(raw, body="ball"):
    raw.exchange("acquire_lease", channels=[f"body/{body}/wrench"], duration_ms=60_000)
    return next(b.id for b in raw.exchange("describe_scene").scene.bodies if b.name == body)


def refused_blind(server):
    with server.connect(name="counter") as c:
        return sum(counts(s.refused_by_reason).get("VERDICT_REFUSED_BLIND", 0) for s in c.statistics().clients if s.name == "raw")


def push(raw, body, seconds, **fields):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        raw.command(CommandPacket(scene_epoch=raw.epoch, client_send_ns=1, body_id=[body], wrench=[1, 0, 0, 0, 0, 0], **fields))
        time.sleep(0.005)


def test_one_socket_answers_over_ipv6_and_ipv4(make_server, tmp_path):
    token = tmp_path / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o600)
    server = make_server("--listen", "::", "--token-file", token).start()
    for host in ("::1", "127.0.0.1"):
        with tactus.connect(host, server.port, token_file=token, name="either-family") as client:
            client.subscribe()
            assert client.latest(20).tick >= 0, host
            assert client.push("ball", force=(1, 0, 0)).verdict(10).name in ("APPLIED", "SUPERSEDED"), host


def test_whoever_hears_no_state_does_not_drive(server, raw):
    body = leased(raw)
    raw.exchange("subscribe", bodies=["*"])
    push(raw, body, 1.5)  # it acknowledges nothing
    assert refused_blind(server) > 50


def test_without_a_subscription_nobody_is_blind(server, raw):
    body = leased(raw)
    push(raw, body, 1.5)
    assert refused_blind(server) == 0


def test_whoever_acknowledges_drives(server, raw):
    body = leased(raw)
    raw.exchange("subscribe", bodies=["*"])
    for n in range(1, 200):
        raw.command(CommandPacket(scene_epoch=raw.epoch, client_send_ns=1, body_id=[body], wrench=[1, 0, 0, 0, 0, 0], states_received=n))
        time.sleep(0.005)
    assert refused_blind(server) == 0


def test_a_client_whose_udp_hears_nothing_says_so(server):
    with server.connect(name="deaf") as client:
        client.connection.link.receive_datagrams = lambda: time.sleep(0.01) or []
        client.connection.link.datagrams_received = 0
        client.connection.link._heard_s = time.monotonic()
        with pytest.raises(tactus.TimedOut, match=f"UDP port {server.realtime_port} answers nothing: firewall, or the wrong address"):
            client.subscribe().read(1.0)

