"""Whatever comes over the network is refused by name and counted, and the loop goes on."""
import math
import socket
import struct
import time

import pytest
from conftest import RawSession, assert_still_ticking, counts, eventually

from tactus import wire
from tactus.errors import ProtocolError
from tactus.messages import CommandPacket, ErrorCode, GrantPacket, Ping, Reply, Request

PING = Ping(client_send_ns=1).SerializeToString()


def damaged(raw):
    """Datagrams refused before they could be given to a client: reason -> datagrams."""
    good = raw.seal(wire.PING, PING)

    def changed(index, value, data=good):
        return data[:index] + bytes([value]) + data[index + 1 :]

    return {
        "datagram_too_short": [b"", b"T", good[:31]],
        "datagram_too_long": [good + b"\0" * 1400, b"\0" * 9000],
        "datagram_magic": [b"\0" * 100, changed(0, 0)],
        "datagram_version": [changed(2, 0), changed(2, 2), changed(2, 255)],
        "datagram_type": [changed(3, 0), changed(3, 6), changed(3, 255), raw.seal(wire.STATE, PING), raw.seal(wire.PONG, PING)],
        "datagram_session": [raw.seal(wire.PING, PING, session=raw.link.session ^ 1)],
        "datagram_mac": [changed(len(good) - 1, good[-1] ^ 1), changed(17, 99), good[:-1], raw.seal(wire.PING, PING, key=bytes(32))],
    }


def test_damaged_datagrams(client, raw):
    client.read()
    sent = damaged(raw)
    for datagrams in sent.values():
        for datagram in datagrams:
            raw.send(datagram)
    total = sum(map(len, sent.values()))
    assert eventually(lambda: client.statistics().datagrams_refused >= total)
    statistics = client.statistics()
    assert statistics.datagrams_refused == total
    assert counts(statistics.refused_by_reason) == {reason: len(datagrams) for reason, datagrams in sent.items()}
    assert_still_ticking(client)


def packet(raw, **changed):
    fields = dict(scene_epoch=raw.epoch, body_id=[1], wrench=[1.0, 0, 0, 0, 0, 0])
    return CommandPacket(**{**fields, **changed})


BAD_COMMANDS = {
    "nan": (dict(wrench=[math.nan, 0, 0, 0, 0, 0]), "REFUSED_NOT_FINITE"),
    "infinite": (dict(wrench=[0, 0, 0, 0, 0, -math.inf]), "REFUSED_NOT_FINITE"),
    "nan point": (dict(point=[0, math.nan, 0]), "REFUSED_NOT_FINITE"),
    "absurd force": (dict(wrench=[1e300, 0, 0, 0, 0, 0]), "REFUSED_OUT_OF_RANGE"),
    "too few numbers": (dict(wrench=[1.0, 0, 0, 0, 0]), "REFUSED_OUT_OF_RANGE"),
    "too many numbers": (dict(wrench=[1.0] * 7), "REFUSED_OUT_OF_RANGE"),
    "wrench without a body": (dict(body_id=[]), "REFUSED_OUT_OF_RANGE"),
    "too many rows": (dict(body_id=[1] * 65, wrench=[]), "REFUSED_OUT_OF_RANGE"),
    "the same body twice": (dict(body_id=[1, 1], wrench=[1.0] * 12), "REFUSED_OUT_OF_RANGE"),
    "unknown frame": (dict(frame=[7]), "REFUSED_OUT_OF_RANGE"),
    "unknown body": (dict(body_id=[4_000_000_000]), "REFUSED_UNKNOWN_BODY"),
    "fixed body": (dict(body_id=[0]), "REFUSED_NOT_FREE"),
    "stale epoch": (dict(scene_epoch=12345), "REFUSED_STALE_EPOCH"),
    "not leased": (dict(body_id=[2]), "REFUSED_NOT_LEASED"),
}


def test_bad_commands_are_judged_by_name(client, raw):
    raw.exchange("acquire_lease", channels=["body/block/wrench"], duration_ms=10_000)
    raw.exchange("subscribe")
    expected = {}
    for what, (changes, reason) in BAD_COMMANDS.items():
        assert raw.verdict(raw.command(packet(raw, **changes))) == reason, what
        expected["VERDICT_" + reason] = expected.get("VERDICT_" + reason, 0) + 1
    raw.send(raw.seal(wire.COMMAND, b"\xff\xff\xff\xff"))
    assert raw.verdict(raw.sequence) == "REFUSED_MALFORMED"
    expected["VERDICT_REFUSED_MALFORMED"] = 1
    assert raw.verdict(raw.command(packet(raw))) == "APPLIED"  # and a good one still works
    mine = next(c for c in client.statistics().clients if c.name == "raw")
    assert counts(mine.refused_by_reason) == expected
    assert mine.commands_refused == sum(expected.values()) and mine.commands_applied == 1
    assert_still_ticking(client)


def test_leased_by_another(client, raw):
    with client.claim("block"):
        raw.exchange("subscribe")
        assert raw.verdict(raw.command(packet(raw))) == "REFUSED_LEASED_BY_OTHER"
        assert client.push("block", force=(1, 0, 0)).verdict().applied


def test_replayed_and_outdated_sequences(client, raw):
    raw.exchange("acquire_lease", channels=["body/block/wrench"], duration_ms=10_000)
    raw.exchange("subscribe")
    datagram = raw.seal(wire.COMMAND, packet(raw).SerializeToString())
    raw.send(datagram)
    assert raw.verdict(raw.sequence) in ("APPLIED", "SUPERSEDED")
    for _ in range(3):
        raw.send(datagram)
    raw.sequence += 100
    raw.command(packet(raw))
    raw.send(raw.seal(wire.COMMAND, packet(raw).SerializeToString(), sequence=raw.sequence - 80))  # behind the window

    def refused():
        mine = next(c for c in client.statistics().clients if c.name == "raw")
        return counts(mine.refused_by_reason).get("VERDICT_REFUSED_OLD_SEQUENCE", 0)

    assert eventually(lambda: refused() == 4), refused()


def test_deadlines_are_capped(client, raw):
    raw.exchange("acquire_lease", channels=["body/block/wrench"], duration_ms=10_000)
    raw.exchange("subscribe")
    stream = client.subscribe(["block"], wrench=True)
    raw.command(packet(raw, deadline_us=4_000_000_000))
    on = next(s.tick for s in stream.states(3) if s["block"].force_W[0] > 0)
    off = next(s.tick for s in stream.states(3) if s["block"].force_W[0] == 0)
    assert 195 < off - on < 230  # 200 ms, and the ramp of 10 ms


def test_a_refused_grant_gets_a_verdict(make_server):
    """In lockstep nothing is published by itself: the present state brings it."""
    server = make_server("--lockstep").start()
    with server.connect(name="holder") as holder, RawSession(server) as raw, holder.claim("world"):
        raw.exchange("subscribe")
        for grant, code in ((GrantPacket(scene_epoch=raw.epoch, run_to_tick=1), "REFUSED_NOT_LEASED"),
                            (GrantPacket(scene_epoch=raw.epoch ^ 1, run_to_tick=1), "REFUSED_STALE_EPOCH"),
                            (None, "REFUSED_MALFORMED")):  # fmt: skip
            raw.send(raw.seal(wire.PING, PING))  # so that it is heard
            raw.send(raw.seal(wire.GRANT, grant.SerializeToString() if grant else b"\xff"))
            assert raw.verdict(raw.sequence) == code
        assert holder.statistics().tick == 0


def test_bad_grants_change_nothing(client, raw):
    before = client.latest()
    raw.exchange("subscribe")
    for grant in (GrantPacket(scene_epoch=raw.epoch, run_to_tick=before.tick + 5000), GrantPacket(scene_epoch=1, run_to_tick=1 << 63)):
        raw.send(raw.seal(wire.GRANT, grant.SerializeToString()))
    raw.send(raw.seal(wire.GRANT, b"\xff"))
    raw.send(raw.seal(wire.PING, b"\xff"))
    assert_still_ticking(client)
    assert client.latest().tick < before.tick + 5000


class RawControl:
    """A control connection that sends any bytes."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.reader = wire.FrameReader(b"S", lambda payload: True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_plain(self, message):
        payload = message.SerializeToString()
        self.socket.sendall(struct.pack("<I", len(payload)) + payload)

    def replies(self):
        """All replies until the server closes."""
        out = []
        while True:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return out
            if not data:
                return out
            self.reader.feed(data)
            while (payload := self.reader.next()) is not None:
                out.append(Reply.FromString(payload))


def hello(**changed):
    fields = dict(version_major=1, version_minor=0, client_name="raw", nonce=b"n" * 32)
    return Request(id=1, hello={**fields, **changed})


@pytest.mark.parametrize(
    "what, data, code",
    [
        ("oversize", struct.pack("<I", 5 << 20), ErrorCode.MALFORMED),
        ("huge", b"\xff\xff\xff\xff", ErrorCode.MALFORMED),
        ("http", b"GET / HTTP/1.1\r\n\r\n", ErrorCode.MALFORMED),
        ("garbage", struct.pack("<I", 4) + b"\xff\xff\xff\xff", ErrorCode.MALFORMED),
        ("major version", hello(version_major=2), ErrorCode.VERSION),
        ("short nonce", hello(nonce=b"n"), ErrorCode.BAD_VALUE),
        ("bad name", hello(client_name="a b\n"), ErrorCode.BAD_VALUE),
    ],
)
def test_bad_first_frames(client, server, what, data, code):
    with RawControl(server.port) as control:
        if isinstance(data, bytes):
            control.socket.sendall(data)
        else:
            control.send_plain(data)
        replies = control.replies()
    assert [r.error.code for r in replies] == [code], what
    assert replies[0].error.text
    assert_still_ticking(client)


def test_requests_before_the_handshake(client, server):
    with RawControl(server.port) as control:
        control.send_plain(Request(id=7, get_statistics={}))
        control.send_plain(Request(id=8, authenticate={}))
        control.socket.shutdown(socket.SHUT_WR)
        replies = control.replies()
    assert [(r.id, r.error.code) for r in replies] == [(7, ErrorCode.NOT_AUTHENTICATED), (8, ErrorCode.NOT_AUTHENTICATED)]
    assert_still_ticking(client)


def test_a_frame_with_a_wrong_mac_closes(client, raw):
    frame = bytearray(raw.link._writer.frame(Request(id=9, get_statistics={}).SerializeToString()))
    frame[-1] ^= 1
    raw.link.tcp.sendall(frame)
    with pytest.raises(Exception) as caught:
        while True:
            for reply in raw.link.receive_control():
                assert reply.error.code == ErrorCode.WRONG_KEY
    assert not isinstance(caught.value, (AssertionError, ProtocolError))
    assert eventually(lambda: counts(client.statistics().refused_by_reason).get("control_mac") == 1)
    assert_still_ticking(client)


def test_unknown_and_unnumbered_requests(client, raw):
    def answer(payload):
        raw.link.tcp.sendall(raw.link._writer.frame(payload))
        return raw.link._next_reply(time.monotonic() + 5)

    unknown = answer(Request(id=9).SerializeToString() + b"\xba\x3e\x00")  # field 999
    assert unknown.id == 9 and unknown.error.code == ErrorCode.UNKNOWN_REQUEST
    assert answer(Request(list_scenes={}).SerializeToString()).error.code == ErrorCode.BAD_VALUE
    assert_still_ticking(client)


def test_connections_that_say_nothing_or_half(client, server):
    """They cost the others nothing, and are closed when 5 s are over."""
    silent = socket.create_connection(("127.0.0.1", server.port))
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(struct.pack("<I", 100) + b"half")
    began = time.monotonic()
    try:
        assert_still_ticking(client)
        for connection in (silent, half):
            connection.settimeout(15)
            while connection.recv(4096):
                pass
        assert 4 < time.monotonic() - began < 15
    finally:
        silent.close()
        half.close()


def test_the_server_is_full_and_says_so(client, server):
    sessions = []
    try:
        with pytest.raises(Exception, match="FULL"):
            for _ in range(70):
                sessions.append(RawSession(server))
        assert len(sessions) >= 7  # with the client: at least eight at once
        assert_still_ticking(client)
    finally:
        for session in sessions:
            session.link.close()
    assert eventually(lambda: RawSession(server).link.close() is None)
