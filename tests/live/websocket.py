"""A WebSocket client for the tests: as much of RFC 6455 as they need, and as much misconduct as they want."""
import base64
import hashlib
import hmac
import os
import socket
import struct

from tactus import wire
from tactus.messages import Reply, Request

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def http(port, head, body=b"", timeout_s=10):
    """Sends bytes, returns all that comes back until the server closes (or falls silent)."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as s:
        s.sendall(head + body)
        out = b""
        try:
            while chunk := s.recv(65536):
                out += chunk
        except (TimeoutError, ConnectionError):
            pass
        return out


def get(port, path, **headers):
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    answer = http(port, "\r\n".join([*lines, "", ""]).encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode("latin1"), body


def status_of(head):
    return int(head.split()[1]) if head.startswith("HTTP/") else 0


class Closed(Exception):
    """The server closed the WebSocket: code and reason, or 0 for a socket that just ended."""

    def __init__(self, code=0, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class WebSocket:
    def __init__(self, port, origin=None, protocol="tactus.v1", host=None, timeout_s=10):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16))
        lines = [b"GET / HTTP/1.1", b"Host: " + (host or f"127.0.0.1:{port}").encode(), b"Upgrade: websocket", b"Connection: Upgrade",
                 b"Sec-WebSocket-Key: " + key, b"Sec-WebSocket-Version: 13"]  # fmt: skip
        lines += [b"Origin: " + origin.encode()] if origin else []
        lines += [b"Sec-WebSocket-Protocol: " + protocol.encode()] if protocol else []
        self.socket.sendall(b"\r\n".join([*lines, b"", b""]))
        self.buffer = b""
        try:
            while b"\r\n\r\n" not in self.buffer:
                self._more()
        except (Closed, ConnectionError):
            pass
        self.head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.accepted = self.head.startswith(b"HTTP/1.1 101")
        if self.accepted:
            assert base64.b64encode(hashlib.sha1(key + GUID).digest()) in self.head

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _more(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise Closed
        self.buffer += chunk

    def _take(self, n):
        while len(self.buffer) < n:
            self._more()
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def send(self, payload, opcode=BINARY, final=True, masked=True, length=None, reserved=0):
        n = len(payload) if length is None else length
        size = bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 65536 else b"\x7f" + struct.pack(">Q", n)
        size = bytes([size[0] | (0x80 if masked else 0)]) + size[1:]
        mask = os.urandom(4) if masked else b""
        body = bytes(b ^ mask[i % 4] for i, b in enumerate(payload)) if masked and len(payload) < 4096 else payload
        if masked and len(payload) >= 4096:
            mask = b"\0\0\0\0"
        self.socket.sendall(bytes([(0x80 if final else 0) | reserved << 4 | opcode]) + size + mask + body)

    def receive(self):
        """The next message; answers pings. Raises Closed."""
        message = b""
        while True:
            first, second = self._take(2)
            n = second & 0x7F
            if n >= 126:
                n = struct.unpack(">H", self._take(2))[0] if n == 126 else struct.unpack(">Q", self._take(8))[0]
            payload = self._take(n)
            opcode = first & 0x0F
            if opcode == CLOSE:
                raise Closed(struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 0, payload[2:].decode(errors="replace"))
            if opcode == PING:
                self.send(payload, PONG)
            if opcode in (CONTINUATION, TEXT, BINARY):
                message += payload
                if first & 0x80:
                    return message


class Viewer(WebSocket):
    """One that has shaken hands: requests, replies, states, all with macs."""

    def __init__(self, port, name="raw-viewer", token=b"", **options):
        super().__init__(port, **options)
        assert self.accepted, self.head
        self.states, self.events, self.next_id, self.sent, self.received = [], [], 1, 0, 0
        self.key = None
        nonce = os.urandom(32)
        hello = self.exchange("hello", version_major=1, client_name=name, nonce=nonce).hello
        if hello.needs_token:
            proof = wire.handshake_proof(token, "client", nonce, hello.nonce)
            self.ask("authenticate", proof=proof)
            self.key = wire.session_key(token, nonce, hello.nonce)
            self.sent = 0
            assert self.reply().authenticate.proof == wire.handshake_proof(token, "server", nonce, hello.nonce)
        else:
            self.key = hello.key
        self.epoch = hello.scene_epoch

    def mac(self, direction, counter, payload):
        return hmac.digest(self.key, direction + struct.pack("<Q", counter) + payload, "sha256")[:16]

    def ask(self, field, **values):
        request = Request(id=self.next_id)
        self.next_id += 1
        target = getattr(request, field)
        if isinstance(target, bytes):
            setattr(request, field, values["bytes"])
        else:
            target.SetInParent()
            for key, value in values.items():
                if isinstance(value, (list, tuple)):
                    getattr(target, key).extend(value)
                else:
                    setattr(target, key, value)
        payload = request.SerializeToString()
        if self.key:
            payload += self.mac(b"C", self.sent, payload)
            self.sent += 1
        self.send(payload)
        return request.id

    def take(self):
        """The next Reply, its mac checked; states and events are kept aside, too."""
        frame = self.receive()
        if self.key:
            payload, mac = frame[:-16], frame[-16:]
            assert mac == self.mac(b"S", self.received, payload), "a frame's mac is wrong"
            self.received += 1
            frame = payload
        reply = Reply.FromString(frame)
        if reply.WhichOneof("body") == "state":
            self.states.append(reply.state)
        if reply.HasField("event"):
            self.events.append(reply.event)
        return reply

    def reply(self):
        while True:
            reply = self.take()
            if reply.id != 0 or reply.HasField("error"):
                return reply

    def exchange(self, field, **values):
        wanted = self.ask(field, **values)
        while (reply := self.reply()).id != wanted:
            pass
        return reply
