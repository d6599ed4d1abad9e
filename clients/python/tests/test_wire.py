"""Framing, keys, windows."""
import hashlib
import hmac

import pytest

from tactus import wire
from tactus.errors import ProtocolError

KEY = bytes(range(32))


def test_hkdf_matches_rfc_5869_case_1():
    ikm, salt, info = b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA))
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    assert wire.hkdf_sha256(ikm, salt, info, 42).hex() == expected


def test_proof_is_an_hmac_over_both_nonces():
    client, server = b"c" * 32, b"s" * 32
    expected = hmac.new(b"secret", b"tactus.v1 client" + client + server, hashlib.sha256).digest()
    assert wire.handshake_proof(b"secret", "client", client, server) == expected


def test_frames_survive_any_cut_of_the_stream():
    writer, reader = wire.FrameWriter(b"C"), wire.FrameReader(b"C")
    payloads = [b"", b"a", b"x" * 5000]
    stream = writer.frame(payloads[0])
    writer.key = KEY
    stream += b"".join(writer.frame(p) for p in payloads[1:])
    out = []
    for byte in stream:
        reader.feed(bytes([byte]))
        while (payload := reader.next()) is not None:
            out.append(payload)
            reader.key = KEY  # after the first one
    assert out == payloads


@pytest.mark.parametrize("fault", ["payload", "mac", "direction", "counter", "no mac"])
def test_a_frame_that_was_touched_is_refused(fault):
    writer, reader = wire.FrameWriter(b"S" if fault == "direction" else b"C"), wire.FrameReader(b"C")
    writer.key = reader.key = KEY
    first, second = bytearray(writer.frame(b"hello")), bytearray(writer.frame(b"hello"))
    frame = second if fault == "counter" else first
    if fault == "payload":
        frame[4] ^= 1
    elif fault == "mac":
        frame[-1] ^= 1
    elif fault == "no mac":
        frame = b"\x05\0\0\0hello"
    reader.feed(frame)
    with pytest.raises(ProtocolError):
        reader.next()


def test_an_oversize_frame_is_refused_before_it_has_come():
    reader = wire.FrameReader(b"C")
    reader.feed((wire.CONTROL_FRAME_MAX + 1).to_bytes(4, "little"))
    with pytest.raises(ProtocolError):
        reader.next()


def test_datagram_faults_have_names():
    good = wire.seal_datagram(KEY, wire.PING, 7, 1, b"payload")
    assert wire.open_datagram(KEY, 7, good) == (wire.PING, 1, b"payload")

    def changed(index, value):
        return good[:index] + bytes([value]) + good[index + 1 :]

    assert wire.open_datagram(KEY, 7, good[:31]) == "size"
    assert wire.open_datagram(KEY, 7, good + b"\0" * 1400) == "size"
    assert wire.open_datagram(KEY, 7, changed(0, 0)) == "magic"
    assert wire.open_datagram(KEY, 7, changed(2, 9)) == "version"
    assert wire.open_datagram(KEY, 7, changed(3, 99)) == "type"
    assert wire.open_datagram(KEY, 8, good) == "session"
    assert wire.open_datagram(KEY, 7, changed(20, 0)) == "mac"
    assert wire.open_datagram(KEY, 7, changed(8, 9)) == "mac"
    with pytest.raises(ValueError):
        wire.seal_datagram(KEY, wire.COMMAND, 7, 1, b"\0" * 1369)


def test_window_takes_each_sequence_once_within_64():
    window = wire.ReplayWindow()
    assert [window.accept(s) for s in (5, 5, 3, 3, 4, 69, 5, 6, 6)] == [True, False, True, False, True, True, False, True, False]
    assert window.accept(1000) and not window.accept(936) and window.accept(937)
