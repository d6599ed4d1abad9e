"""One connection to a server: control channel (TCP), real-time channel (UDP), handshake and keys.

Sending is safe from any thread. Receiving belongs to one thread.
"""
import collections
import contextlib
import hmac
import itertools
import os
import platform
import select
import socket
import struct
import sys
import threading
import time

from google.protobuf.message import DecodeError

from . import wire
from .errors import (
    AuthenticationError,
    ConnectError,
    LinkLost,
    ProtocolError,
    TimedOut,
    VersionMismatch,
    handshake_error,
    request_error,
)
from .messages import ErrorCode, Reply, Request

_LAST_WORDS = (ErrorCode.WRONG_KEY, ErrorCode.MALFORMED, ErrorCode.NOT_AUTHENTICATED, ErrorCode.VERSION)
_RECEIVE_BUFFER_BYTES = 1 << 20
_DATAGRAMS_PER_TURN = 64
_SILENT_PEER_MS = 3000
# Linux tells when a datagram reached this machine, and how many found the socket full (SO_TIMESTAMPNS, SO_RXQ_OVFL; asm-generic/socket.h).
_SO_TIMESTAMPNS, _SO_RXQ_OVFL = 35, 40
_TELLS_ARRIVALS = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64", "armv7l", "i686", "riscv64")
_LAG_MAX_NS = 60_000_000_000  # longer: the system's clock was set in between
_FIRST_ANSWER_S, _ANSWER_S = 0.3, 2.5  # pings go out twice a second


def make_request(request_id: int, field: str, values: dict) -> Request:
    """A Request whose oneof `field` holds `values`."""
    request = Request(id=request_id, **{field: values})
    getattr(request, field).SetInParent()
    return request


class Link:
    """Connects and shakes hands on construction; raises ConnectError or a subclass when it cannot."""

    def __init__(self, host: str, port: int, name: str, token: bytes, timeout_s: float):
        self.timeout_s = timeout_s
        self._ids = itertools.count(1)
        self._sequences = itertools.count(1)
        self._tcp_lock = threading.Lock()
        self._udp_lock = threading.Lock()
        self._writer = wire.FrameWriter(b"C")
        self._reader = wire.FrameReader(b"S", self._is_last_word)
        self._let_in = False
        self._window = wire.ReplayWindow()
        self._first_sequence = None
        self._early_replies = []  # events that came while a reply was awaited
        self.datagrams_received = 0
        self.datagrams_overflowed = 0  # reached this machine while nobody read, and found the socket full
        self._heard_s = time.monotonic()
        self.refused = collections.Counter()  # datagrams refused, by reason
        self.tcp = self._connect(host, port)
        self.udp = None
        try:
            self._shake_hands(name, token)
            self.udp = self._open_realtime()
        except BaseException:
            self.close()
            raise

    def next_id(self) -> int:
        return next(self._ids)

    def send_request(self, request: Request) -> None:
        """Raises LinkLost when the connection has fallen."""
        payload = request.SerializeToString()
        if len(payload) + wire.MAC_BYTES > wire.CONTROL_INBOUND_MAX:
            raise ValueError(f"the request has {len(payload)} bytes; the server takes up to {wire.CONTROL_INBOUND_MAX} (1 MiB): ask for less")
        with self._tcp_lock:  # frames must leave in the order of their counters
            frame = self._writer.frame(payload)
            try:
                self.tcp.sendall(frame)
            except BaseException as error:  # Ctrl-C, too: half a frame may have left, and nothing can follow it
                self.shut_down()
                if isinstance(error, OSError):
                    raise LinkLost(f"the connection to the server fell while sending: {error}") from error
                raise

    def send_datagram(self, kind: int, message) -> int:
        """Seals and sends; returns the datagram's sequence number. A datagram that the network refuses counts as lost."""
        return self.send_datagrams(kind, [message])

    def send_datagrams(self, kind: int, messages: list) -> int:
        """Sends several with sequence numbers that follow each other; returns the first one's."""
        payloads = [message.SerializeToString() for message in messages]
        with self._udp_lock:
            sequences = [next(self._sequences) for _ in payloads]
            for sequence, payload in zip(sequences, payloads):
                datagram = wire.seal_datagram(self.key, kind, self.session, sequence, payload)
                try:
                    self.udp.send(datagram)
                except OSError:
                    self.refused["send"] += 1
        return sequences[0]

    def receive_control(self) -> list:
        """Replies that have arrived; call when `tcp` is readable."""
        self._receive_bytes()
        return self._decoded()

    def receive_datagrams(self) -> list:
        """(type, sequence, payload, received_ns, arrived_ns) of accepted datagrams; call when `udp` is readable. arrived_ns: when it had
        reached this machine, which may be long before a program that hung came to read it."""
        out = []
        for _ in range(_DATAGRAMS_PER_TURN):
            try:
                data, notes, _, _ = self.udp.recvmsg(2048, 128, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:  # a refused port reported by the peer's kernel: the control channel decides whether the link is lost
                break
            received_ns = time.monotonic_ns()
            opened = wire.open_datagram(self.key, self.session, data)
            if isinstance(opened, str):
                self.refused[opened] += 1
            elif opened[0] not in (wire.STATE, wire.PONG, wire.SHADOW, wire.GRANTED, wire.TOOL, wire.VERDICTS, wire.CHALLENGE):
                self.refused["type"] += 1
            elif not self._window.accept(opened[1]):
                self.refused["old sequence"] += 1
            else:
                self._count(opened[1])
                out.append((*opened, received_ns, self._arrived_ns(notes, received_ns)))
        return out

    def _arrived_ns(self, notes, received_ns):
        """By the kernel's word; by the time of reading where it has none."""
        arrived_ns = received_ns
        for level, kind, data in notes:
            if level != socket.SOL_SOCKET:
                continue
            if kind == _SO_RXQ_OVFL:
                (self.datagrams_overflowed,) = struct.unpack("I", data)
            elif kind == _SO_TIMESTAMPNS:  # of the clock on the wall: how long ago it was is the same on ours
                seconds, ns = struct.unpack("@ll", data)
                lag_ns = time.time_ns() - seconds * 1_000_000_000 - ns
                arrived_ns = received_ns - (lag_ns if 0 < lag_ns < _LAG_MAX_NS else 0)
        return arrived_ns

    @property
    def datagrams_lost_on_the_way(self) -> int:
        """Of datagrams_lost, those that never reached this machine."""
        return max(0, self.datagrams_lost - self.datagrams_overflowed)

    @property
    def datagrams_lost(self) -> int:
        """Gaps in the server's sequence numbers so far."""
        if self._first_sequence is None:
            return 0
        return max(0, self._window.newest - self._first_sequence + 1 - self.datagrams_received)

    def silence(self) -> str:
        """Why nothing is heard on the real-time channel, where nothing has been for seconds; empty otherwise."""
        silent_s = time.monotonic() - self._heard_s
        if silent_s < (_ANSWER_S if self.datagrams_received else _FIRST_ANSWER_S):
            return ""
        return f"UDP port {self.realtime_port} answers nothing: firewall, or the wrong address"

    def exchange(self, field: str, **values) -> Reply:
        """Sends a request and waits for its reply on the caller's thread; for use before a receive thread runs."""
        request = make_request(self.next_id(), field, values)
        self.send_request(request)
        deadline = time.monotonic() + self.timeout_s
        while True:
            reply = self._next_reply(deadline)
            if reply.id == request.id or (reply.id == 0 and reply.HasField("error")):
                if reply.HasField("error"):
                    raise (request_error if self._let_in else handshake_error)(reply.error)
                return reply
            self._early_replies.append(reply)

    def take_early_replies(self) -> list:
        """What came beside the replies that exchange() awaited."""
        out = [*self._early_replies, *self._decoded()]
        self._early_replies.clear()
        return out

    def shut_down(self) -> None:
        """Ends the connection for whoever reads it, in this process and at the server."""
        with contextlib.suppress(OSError):
            self.tcp.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.shut_down()  # a forked child may hold a copy of the socket
        self.let_go()

    def let_go(self) -> None:
        """Closes the sockets of this process only, without a word to the server: for a forked child."""
        self.tcp.close()
        if self.udp is not None:
            self.udp.close()

    def _connect(self, host, port):
        try:
            tcp = socket.create_connection((host, port), self.timeout_s)
        except OSError as error:
            raise ConnectError(
                f"no Tactus server answers at {host}:{port} ({error}); start one with server/run, or check host and control port"
            ) from error
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_PEER_MS)
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        return tcp

    def _open_realtime(self):
        address = self.tcp.getpeername()
        udp = socket.socket(self.tcp.family, socket.SOCK_DGRAM)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        if _TELLS_ARRIVALS:
            udp.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            udp.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
        udp.connect((address[0], self.realtime_port, *address[2:]))
        return udp

    def _shake_hands(self, name, token):
        nonce = os.urandom(wire.NONCE_BYTES)
        try:
            hello = self.exchange(
                "hello", version_major=wire.VERSION_MAJOR, version_minor=wire.VERSION_MINOR, client_name=name, nonce=nonce
            ).hello
            if hello.version_major != wire.VERSION_MAJOR:
                raise VersionMismatch(
                    f"the server speaks version {hello.version_major}.{hello.version_minor}, this client {wire.VERSION_MAJOR}."
                    f"{wire.VERSION_MINOR}; install the client that belongs to the server"
                )
            self.session = hello.session
            self.realtime_port = hello.realtime_port
            self.build = hello.build
            self.step_s = hello.step_s
            self.role = hello.role
            if hello.needs_token:
                self._authenticate(token, nonce, hello.nonce)
            elif token:
                raise AuthenticationError(
                    "this server says that it needs no token, so it cannot show that it is the server you mean: "
                    "start tactusd with --token-file, or connect without token= and token_file="
                )
            else:
                self.key = self._writer.key = self._reader.key = hello.key
        except (LinkLost, ProtocolError, TimedOut) as error:
            raise ConnectError(f"the handshake failed: {error}") from error
        if len(self.key) != wire.KEY_BYTES:
            raise ConnectError(f"the server's key has {len(self.key)} bytes instead of {wire.KEY_BYTES}: not a Tactus server?")
        self._let_in = True

    def _authenticate(self, token, nonce_client, nonce_server):
        if not token:
            raise AuthenticationError("this server needs a token: pass token_file= with the file that tactusd was given by --token-file")
        self.key = self._reader.key = wire.session_key(token, nonce_client, nonce_server)
        proof = wire.handshake_proof(token, "client", nonce_client, nonce_server)
        reply = self.exchange("authenticate", proof=proof).authenticate
        if not hmac.compare_digest(reply.proof, wire.handshake_proof(token, "server", nonce_client, nonce_server)):
            raise AuthenticationError("the server could not prove that it knows the token: this may be another server than you think")
        self._writer.key = self.key
        self.role = reply.role

    def _is_last_word(self, payload):
        """True for an Error that a server may send without a mac just before it closes: any one until it has let us in."""
        try:
            reply = Reply.FromString(payload)
        except DecodeError:
            return False
        return reply.HasField("error") and (not self._let_in or reply.error.code in _LAST_WORDS)

    def _next_reply(self, deadline):
        """One frame at a time: the frame behind the HelloReply may have a mac already, so it must wait for the key."""
        poll = select.poll()
        poll.register(self.tcp, select.POLLIN)
        while (reply := self._next_decoded()) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(1000 * left):
                raise TimedOut(f"the server did not answer within {self.timeout_s} s")
            self._receive_bytes()
        return reply

    def _receive_bytes(self):
        try:
            data = self.tcp.recv(1 << 16)
        except OSError as error:
            raise LinkLost(f"the connection to the server fell: {error}") from error
        if not data:
            raise LinkLost("the server closed the connection")
        self._reader.feed(data)

    def _next_decoded(self):
        if (payload := self._reader.next()) is None:
            return None
        try:
            return Reply.FromString(payload)
        except DecodeError as error:
            raise ProtocolError("a control frame that does not decode: is this a Tactus control port?") from error

    def _decoded(self):
        return list(iter(self._next_decoded, None))

    def _count(self, sequence):
        self.datagrams_received += 1
        self._heard_s = time.monotonic()
        if self._first_sequence is None:
            self._first_sequence = sequence
