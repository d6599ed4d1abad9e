"""A server in the same process, written from proto/README.md alone, to test the client against: handshake, framing, streams, leases,
lockstep, and misbehaviour on request. Its physics: each body is a free mass, integrated by explicit Euler."""
import hashlib
import os
import socket
import struct
import threading
import time

from tactus import wire
from tactus.messages import CommandPacket, ErrorCode, EventKind, GrantPacket, Ping, Pong, Reply, Request, StatePacket, VerdictCode

STEP_S = 0.001
BODIES_A_PACKET = 2
SCENES = {"default": ["block", "ball", "floor"], "other": ["ring", "block", "floor"]}
FIXED = "floor"
FORCE_LIMIT_N = 100.0


class Body:
    def __init__(self, body_id, name):
        self.id, self.name = body_id, name
        self.x, self.v, self.force, self.expires = 0.0, 0.0, 0.0, 0


class Session:
    """One client."""

    def __init__(self, server, tcp):
        self.server, self.tcp = server, tcp
        self.number = int.from_bytes(os.urandom(4), "little")
        self.key = os.urandom(32)
        self.reader, self.writer = wire.FrameReader(b"C"), wire.FrameWriter(b"S")
        self.window = wire.ReplayWindow()
        self.sequence = 0
        self.address = None
        self.echo = (0, 0, 0)
        self.verdicts = []
        self.subscriptions = {}
        self.send_lock = threading.Lock()
        self.name = ""
        self.authenticated = server.token is None

    def send(self, reply):
        with self.send_lock:
            self.tcp.sendall(self.writer.frame(reply.SerializeToString()))

    def datagram(self, kind, message):
        with self.send_lock:
            self.sequence += 1
            return wire.seal_datagram(self.key, kind, self.number, self.sequence, message.SerializeToString())


class FakeServer:
    """`with FakeServer() as s:` listens on `s.port`. `stop()` and `start()` play a restart on the same port."""

    def __init__(self, token=None, rate_hz=500, lockstep=False):
        self.token, self.rate_hz, self.started_in_lockstep = token, rate_hz, lockstep
        self.port = 0
        self.lock = threading.RLock()
        self.filter_datagrams = lambda datagrams: datagrams  # tests drop, repeat or shuffle here
        self.lose_commands = False  # as if the network had
        self.version_major = 1
        self.full_at = None  # "hello" or "authenticate": there whoever comes is turned away, without a mac
        self.instead = {}  # request -> what is done(session, request) instead of serving it; True: it is served after that
        self.requests = []  # names, in the order of arrival
        self.commands = []  # CommandPackets that were accepted
        self.datagrams_refused = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.stopping = False
        self.sessions, self.leases, self.snapshots = [], {}, {}
        self.lockstep, self.paused = self.started_in_lockstep, False
        self._load("default")
        self.listener = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        self.port = self.listener.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.settimeout(0.1)
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self._accept, self._receive, self._tick_loop)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        """As a killed process: connections fall, the ports are free."""
        self.stopping = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop_clients()
        for thread in self.threads:
            thread.join()
        self.udp.close()

    def drop_clients(self):
        with self.lock:
            sessions, self.sessions = self.sessions, []
            self.leases.clear()
        for session in sessions:
            try:
                session.tcp.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def emit(self, kind, text=""):
        event = Reply(event={"kind": kind, "tick": self.tick, "text": text, "scene_epoch": self.epoch})
        for session in list(self.sessions):
            session.send(event)

    # --- threads

    def _accept(self):
        while not self.stopping:
            try:
                tcp, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(Session(self, tcp),), daemon=True).start()

    def _serve(self, session):
        try:
            while data := session.tcp.recv(65536):
                session.reader.feed(data)
                while (payload := session.reader.next()) is not None:
                    self._handle(session, Request.FromString(payload))
        except (OSError, wire.ProtocolError):
            pass
        finally:
            with self.lock:
                if session in self.sessions:
                    self.sessions.remove(session)
                self.leases = {c: h for c, h in self.leases.items() if h[0] is not session}
            session.tcp.close()

    def _receive(self):
        while not self.stopping:
            try:
                data, address = self.udp.recvfrom(2048)
            except (TimeoutError, OSError):
                continue
            with self.lock:
                self._take_datagram(data, address)

    def _take_datagram(self, data, address):
        number = int.from_bytes(data[4:8], "little")
        session = next((s for s in self.sessions if s.number == number), None)
        opened = wire.open_datagram(session.key, number, data) if session else "session"
        if isinstance(opened, str):
            self.datagrams_refused.append(opened)
            return
        kind, sequence, payload = opened
        if kind == wire.COMMAND and self.lose_commands:
            return
        now = time.monotonic_ns()
        if not session.window.accept(sequence):
            self._judge(session, sequence, VerdictCode.REFUSED_OLD_SEQUENCE)
            return
        session.address = address
        if kind == wire.PING:
            sent = Ping.FromString(payload).client_send_ns
            pong = Pong(client_send_ns=sent, server_recv_ns=now, server_send_ns=time.monotonic_ns(), tick=self.tick)
            self.udp.sendto(session.datagram(wire.PONG, pong), address)
        elif kind == wire.COMMAND:
            command = CommandPacket.FromString(payload)
            session.echo = (command.client_send_ns, now, sequence)
            if command.body_id:
                self._judge(session, sequence, self._command(session, command))
        elif kind == wire.GRANT:
            grant = GrantPacket.FromString(payload)
            if self._may_world(session) and self.lockstep:
                self._run_to(grant.run_to_tick)
                self._stream_to(session)

    def _tick_loop(self):
        while not self.stopping:
            time.sleep(1 / self.rate_hz)
            with self.lock:
                if self.lockstep:
                    continue
                if not self.paused:
                    self._advance()
                for session in self.sessions:
                    self._stream_to(session)

    # --- the world

    def _load(self, name):
        self.scene = name
        self.epoch = int.from_bytes(os.urandom(4), "little") | 1
        self.tick = 0
        self.bodies = [Body(i, n) for i, n in enumerate(SCENES[name])]
        self.model = "penalty"

    def _advance(self):
        self.tick += 1
        for body in self.bodies:
            if self.tick > body.expires:
                body.force = 0.0
            body.v += STEP_S * body.force
            body.x += STEP_S * body.v

    def _run_to(self, tick):
        while self.tick < tick:
            self._advance()

    def hash(self):
        data = struct.pack("<Q", self.tick) + b"".join(struct.pack("<ddd", b.x, b.v, b.force) for b in self.bodies)
        return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")

    def _command(self, session, command):
        if command.scene_epoch != self.epoch:
            return VerdictCode.REFUSED_STALE_EPOCH
        clamped = False
        for row, body_id in enumerate(command.body_id):
            if body_id >= len(self.bodies):
                return VerdictCode.REFUSED_UNKNOWN_BODY
            body = self.bodies[body_id]
            holder = self.leases.get(f"body/{body.name}/wrench", (None,))[0]
            if body.name == FIXED:
                return VerdictCode.REFUSED_NOT_FREE
            if holder is not session:
                return VerdictCode.REFUSED_NOT_LEASED if holder is None else VerdictCode.REFUSED_LEASED_BY_OTHER
            force = command.wrench[6 * row]
            clamped |= abs(force) > FORCE_LIMIT_N
            body.force = max(-FORCE_LIMIT_N, min(FORCE_LIMIT_N, force))
            body.expires = self.tick + -(-(command.deadline_us or 20000) // 1000)
        self.commands.append(command)
        return VerdictCode.CLAMPED if clamped else VerdictCode.APPLIED

    def _judge(self, session, sequence, code):
        session.verdicts = [(sequence, code, self.tick + 1, 17, 0), *session.verdicts][:8]

    # --- streams

    def _stream_to(self, session):
        if session.address is None:
            return
        out = [session.datagram(wire.STATE, p) for s in session.subscriptions.items() for p in self._packets(session, *s)]
        for datagram in self.filter_datagrams(out):
            try:
                self.udp.sendto(datagram, session.address)
            except OSError:
                pass

    def _packets(self, session, subscription_id, wish):
        bodies = [b for b in self.bodies if (b.name in wish.bodies if wish.bodies else b.name != FIXED)]
        groups = [bodies[i : i + BODIES_A_PACKET] for i in range(0, len(bodies), BODIES_A_PACKET)] or [[]]
        now = time.monotonic_ns()
        for part, group in enumerate(groups):
            packet = StatePacket(
                scene_epoch=self.epoch, tick=self.tick, part=part, parts=len(groups), sim_time_s=self.tick * STEP_S,
                tick_start_ns=now, send_ns=now, subscription=subscription_id, real_time_factor=1.0,
                status_bits=2 * self.lockstep + self.paused,
            )  # fmt: skip
            packet.echo_client_send_ns, packet.echo_server_recv_ns, packet.echo_sequence = session.echo
            packet.body_id.extend(b.id for b in group)
            packet.pose.extend(v for b in group for v in (b.x, 0, 0, 1, 0, 0, 0))
            if wish.velocity:
                packet.velocity.extend(v for b in group for v in (b.v, 0, 0, 0, 0, 0))
            if wish.wrench:
                packet.wrench.extend(v for b in group for v in (b.force, 0, 0, 0, 0, 0))
            for row in session.verdicts:
                for field, value in zip(("sequence", "code", "tick", "age_us", "item"), row):
                    getattr(packet, "verdict_" + field).append(value)
            yield packet

    # --- requests

    def _handle(self, session, request):
        field = request.WhichOneof("body")
        self.requests.append(field)
        if field == self.full_at:
            session.tcp.sendall(wire.FrameWriter(b"S").frame(Reply(id=request.id, error={"code": ErrorCode.FULL, "text": "all places are taken"}).SerializeToString()))
            return session.tcp.shutdown(socket.SHUT_RDWR)
        if field in self.instead and not self.instead[field](session, request):
            return
        with self.lock:
            if field == "hello":
                return self._hello(session, request)
            if field == "authenticate":
                return self._authenticate(session, request)
            reply = Reply(id=request.id)
            try:
                getattr(self, "_on_" + field)(session, getattr(request, field), reply)
            except Refusal as refusal:
                reply = Reply(id=request.id, error={"code": refusal.code, "text": refusal.text})
            session.send(reply)

    def _hello(self, session, request):
        if self.version_major != request.hello.version_major:
            session.send(Reply(id=request.id, error={"code": ErrorCode.VERSION, "text": f"this server speaks {self.version_major}.0"}))
            return session.tcp.shutdown(socket.SHUT_RDWR)
        session.name, session.nonce_client, session.nonce_server = request.hello.client_name, request.hello.nonce, os.urandom(32)
        reply = Reply(id=request.id)
        hello = reply.hello
        hello.version_major, hello.nonce, hello.session = 1, session.nonce_server, session.number
        hello.needs_token, hello.realtime_port, hello.build = self.token is not None, self.udp.getsockname()[1], "fake"
        hello.scene_epoch, hello.step_s = self.epoch, STEP_S
        if self.token is None:
            hello.key, hello.role = session.key, "control"
            self.sessions.append(session)
        session.send(reply)
        if self.token is None:
            session.reader.key = session.writer.key = session.key

    def _authenticate(self, session, request):
        nonces = session.nonce_client, session.nonce_server
        if request.authenticate.proof != wire.handshake_proof(self.token, "client", *nonces):
            session.send(Reply(id=request.id, error={"code": ErrorCode.WRONG_KEY, "text": "the token is not this server's"}))
            return session.tcp.shutdown(socket.SHUT_RDWR)
        session.key = session.reader.key = session.writer.key = wire.session_key(self.token, *nonces)
        self.sessions.append(session)
        proof = wire.handshake_proof(self.token, "server", *nonces)
        session.send(Reply(id=request.id, authenticate={"proof": proof, "role": "control"}))

    def _may_world(self, session):
        return self.leases.get("world", (None,))[0] is session

    def _need_world(self, session):
        if not self._may_world(session):
            raise Refusal(ErrorCode.NOT_LEASED, "this needs the lease world")

    def _on_list_scenes(self, session, wish, reply):
        reply.scene_list.current = self.scene
        for name in SCENES:
            reply.scene_list.scenes.add(name=name, title=name.title())

    def _on_describe_scene(self, session, wish, reply):
        scene = reply.scene
        scene.name, scene.scene_epoch, scene.step_s, scene.model = self.scene, self.epoch, STEP_S, self.model
        scene.models.extend(["penalty", "deepest"])
        for body in self.bodies:
            scene.bodies.add(id=body.id, name=body.name, mode="fixed" if body.name == FIXED else "free", mass_kg=1, force_limit_n=100)

    def _on_load_scene(self, session, wish, reply):
        self._need_world(session)
        if wish.name not in SCENES:
            raise Refusal(ErrorCode.BAD_SCENE, f"{wish.name}.toml:3: key mass_kg: expected a positive number")
        self._load(wish.name)
        self.emit(EventKind.SCENE_CHANGED)
        self._on_describe_scene(session, wish, reply)

    def _on_reset(self, session, wish, reply):
        self._need_world(session)
        self._load(self.scene)
        self.emit(EventKind.SCENE_CHANGED)
        self._on_describe_scene(session, wish, reply)

    def _on_subscribe(self, session, wish, reply):
        unknown = [b for b in wish.bodies if b not in SCENES[self.scene]]
        if unknown:
            raise Refusal(ErrorCode.NOT_FOUND, f"no body {unknown[0]}")
        number = int.from_bytes(os.urandom(4), "little")
        session.subscriptions[number] = wish
        reply.subscription.id = number

    def _on_unsubscribe(self, session, wish, reply):
        if session.subscriptions.pop(wish.id, None) is None:
            raise Refusal(ErrorCode.NOT_FOUND, "no such subscription")
        reply.done.SetInParent()

    def _on_acquire_lease(self, session, wish, reply):
        for channel in wish.channels:
            holder = self.leases.get(channel, (session,))[0]
            if holder is not session and not wish.take_over:
                raise Refusal(ErrorCode.LEASED_BY_OTHER, f"{channel} is held by {holder.name}")
        number = int.from_bytes(os.urandom(4), "little")
        self.leases.update({c: (session, number) for c in wish.channels})
        reply.lease.lease, reply.lease.duration_ms = number, wish.duration_ms or 2000

    def _on_renew_lease(self, session, wish, reply):
        if not any(h == (session, wish.lease) for h in self.leases.values()):
            raise Refusal(ErrorCode.NOT_FOUND, "no such lease")
        reply.lease.lease = wish.lease

    def _on_release_lease(self, session, wish, reply):
        self.leases = {c: h for c, h in self.leases.items() if h != (session, wish.lease)}
        reply.done.SetInParent()

    def _on_list_leases(self, session, wish, reply):
        for channel, (holder, _) in self.leases.items():
            reply.leases.leases.add(channel=channel, client=holder.name, left_ms=1500)

    def _on_pause(self, session, wish, reply):
        self._need_world(session)
        self.paused = True
        reply.done.SetInParent()

    def _on_resume(self, session, wish, reply):
        self._need_world(session)
        self.paused = False
        reply.done.SetInParent()

    def _on_step(self, session, wish, reply):
        self._need_world(session)
        if not self.paused:
            raise Refusal(ErrorCode.WRONG_STATE, "Step needs a paused world: Pause first")
        self._run_to(self.tick + (wish.ticks or 1))
        reply.grant.tick, reply.grant.state_hash = self.tick, self.hash()

    def _on_set_lockstep(self, session, wish, reply):
        self._need_world(session)
        self.lockstep = wish.on
        reply.done.SetInParent()

    def _on_grant(self, session, wish, reply):
        self._need_world(session)
        if not self.lockstep:
            raise Refusal(ErrorCode.WRONG_STATE, "Grant needs lockstep")
        self._run_to(wish.run_to_tick)
        reply.grant.tick, reply.grant.state_hash = self.tick, self.hash()

    def _on_take_snapshot(self, session, wish, reply):
        state = struct.pack("<Q", self.tick) + b"".join(struct.pack("<ddd", b.x, b.v, b.force) for b in self.bodies)
        self.snapshots[wish.name] = state
        snapshot = reply.snapshot
        snapshot.name, snapshot.tick, snapshot.state_hash, snapshot.state = wish.name, self.tick, self.hash(), state
        snapshot.scene_epoch = self.epoch

    def _on_restore_snapshot(self, session, wish, reply):
        self._need_world(session)
        state = wish.state or self.snapshots.get(wish.name)
        if state is None:
            raise Refusal(ErrorCode.NOT_FOUND, f"no snapshot {wish.name}")
        (self.tick,) = struct.unpack_from("<Q", state)
        for i, body in enumerate(self.bodies):
            body.x, body.v, body.force = struct.unpack_from("<ddd", state, 8 + 24 * i)
        reply.done.SetInParent()

    def _on_set_model(self, session, wish, reply):
        self._need_world(session)
        if wish.name not in ("penalty", "deepest"):
            raise Refusal(ErrorCode.BAD_VALUE, f"no model {wish.name}; there are: penalty deepest")
        self.model = wish.name
        reply.done.SetInParent()

    def _on_set_parameter(self, session, wish, reply):
        self._need_world(session)
        reply.done.SetInParent()

    def _on_get_link_faults(self, session, wish, reply):
        reply.link_faults.session = session.number

    def _on_get_statistics(self, session, wish, reply):
        statistics = reply.statistics
        statistics.tick, statistics.lockstep, statistics.paused, statistics.scene = self.tick, self.lockstep, self.paused, self.scene
        statistics.state_hash, statistics.scene_epoch, statistics.model, statistics.rate_hz = self.hash(), self.epoch, self.model, self.rate_hz


class Refusal(Exception):
    def __init__(self, code, text):
        self.code, self.text = code, text
