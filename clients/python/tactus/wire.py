"""Framing, keys and message authentication of the wire (proto/README.md). Pure functions and small state, no socket."""
import hashlib
import hmac
import struct

from .errors import ProtocolError

VERSION_MAJOR = 1
VERSION_MINOR = 0
DEFAULT_CONTROL_PORT = 17800
DATAGRAM_MAX = 1400
HEADER_BYTES = 16
MAC_BYTES = 16
KEY_BYTES = 32
NONCE_BYTES = 32
CONTROL_FRAME_MAX = 4 << 20
CONTROL_INBOUND_MAX = 1 << 20  # of what a server takes
COMMAND_ROWS_MAX = 64
JOINT_ROWS_MAX = 128
DEADLINE_CAP_S = 0.2
REPLAY_WINDOW = 64

STATE, COMMAND, PING, PONG, GRANT, SHADOW, GRANTED, DEVICE, TOOL, VERDICTS, CHALLENGE = range(1, 12)
PAYLOAD_MAX = DATAGRAM_MAX - HEADER_BYTES - MAC_BYTES
COMMAND_PARTS_MAX = 8

_HEADER = struct.Struct("<2sBBIQ")
_LENGTH = struct.Struct("<I")
_COUNTER = struct.Struct("<Q")


def hkdf_sha256(ikm: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869."""
    key = hmac.digest(salt, ikm, "sha256")
    out = block = b""
    for index in range(1, -(-length // hashlib.sha256().digest_size) + 1):
        block = hmac.digest(key, block + info + bytes([index]), "sha256")
        out += block
    return out[:length]


def session_key(token: bytes, nonce_client: bytes, nonce_server: bytes) -> bytes:
    """The key of a session opened with a token."""
    return hkdf_sha256(token, nonce_client + nonce_server, b"tactus.v1 session", KEY_BYTES)


def handshake_proof(token: bytes, who: str, nonce_client: bytes, nonce_server: bytes) -> bytes:
    """Shows knowledge of the token without sending it; `who` is "client" or "server"."""
    return hmac.digest(token, b"tactus.v1 " + who.encode() + nonce_client + nonce_server, "sha256")


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")[:MAC_BYTES]


def control_mac(key: bytes, direction: bytes, counter: int, payload: bytes) -> bytes:
    """The mac of a control frame; direction b"C" (client to server) or b"S"."""
    return mac(key, direction + _COUNTER.pack(counter) + payload)


class FrameWriter:
    """Makes one direction's control frames; with a mac once `key` is set."""

    def __init__(self, direction: bytes):
        self.direction = direction
        self.key = None
        self._counter = 0

    def frame(self, payload: bytes) -> bytes:
        if self.key is None:
            return _LENGTH.pack(len(payload)) + payload
        tail = control_mac(self.key, self.direction, self._counter, payload)
        self._counter += 1
        return _LENGTH.pack(len(payload) + MAC_BYTES) + payload + tail


class FrameReader:
    """Cuts one direction's byte stream into payloads and checks their macs once `key` is set.

    `accept_plain(payload)` decides whether a frame whose mac is wrong may still pass as one without a mac: the server's
    last word ERROR_WRONG_KEY comes so.
    """

    def __init__(self, direction: bytes, accept_plain=lambda payload: False):
        self.direction = direction
        self.key = None
        self._accept_plain = accept_plain
        self._counter = 0
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self):
        """The next complete payload, or None when more bytes are needed."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > CONTROL_FRAME_MAX:
            raise ProtocolError(f"a control frame of {length} bytes exceeds {CONTROL_FRAME_MAX}: is this a Tactus control port?")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return body if self.key is None else self._open(body)

    def _open(self, body: bytes) -> bytes:
        payload, tail = body[:-MAC_BYTES], body[-MAC_BYTES:]
        if len(body) >= MAC_BYTES and hmac.compare_digest(tail, control_mac(self.key, self.direction, self._counter, payload)):
            self._counter += 1
            return payload
        if self._accept_plain(body):
            return body
        raise ProtocolError("a control frame with a wrong mac: the connection is not to be trusted and is closed")


def seal_datagram(key: bytes, kind: int, session: int, sequence: int, payload: bytes) -> bytes:
    """A complete datagram: header, payload, mac."""
    data = _HEADER.pack(b"TC", VERSION_MAJOR, kind, session, sequence) + payload
    if len(data) + MAC_BYTES > DATAGRAM_MAX:
        raise ValueError(f"a datagram of {len(data) + MAC_BYTES} bytes exceeds {DATAGRAM_MAX}: send fewer rows")
    return data + mac(key, data)


def open_datagram(key: bytes, session: int, data: bytes):
    """(type, sequence, payload) of a datagram, or the reason (a str) for which it is refused."""
    if not HEADER_BYTES + MAC_BYTES <= len(data) <= DATAGRAM_MAX:
        return "size"
    magic, version, kind, its_session, sequence = _HEADER.unpack_from(data)
    if magic != b"TC":
        return "magic"
    if version != VERSION_MAJOR:
        return "version"
    if not STATE <= kind <= CHALLENGE:
        return "type"
    if its_session != session:
        return "session"
    if not hmac.compare_digest(mac(key, data[:-MAC_BYTES]), data[-MAC_BYTES:]):
        return "mac"
    return kind, sequence, data[HEADER_BYTES:-MAC_BYTES]


class ReplayWindow:
    """Accepts each sequence number once, within 64 behind the newest."""

    def __init__(self):
        self.newest = 0
        self._seen = 0  # bit i: newest - i was accepted

    def accept(self, sequence: int) -> bool:
        if sequence > self.newest:
            shift = sequence - self.newest
            self._seen = ((self._seen << shift) | 1) & ((1 << REPLAY_WINDOW) - 1) if shift < REPLAY_WINDOW else 1
            self.newest = sequence
            return True
        behind = self.newest - sequence
        if behind >= REPLAY_WINDOW or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True
