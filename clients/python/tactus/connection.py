"""The part of a client that lives in its receive thread: replies, streams, reconnecting, renewing, heartbeats."""
import math
import os
import selectors
import socket
import threading
import time

from . import wire
from .arrivals import Arrivals
from .errors import (
    AuthenticationError,
    ConnectError,
    LinkLost,
    NotArmed,
    ProtocolError,
    StoodStill,
    TactusError,
    TimedOut,
    UsedAfterFork,
    VersionMismatch,
    request_error,
)
from .intake import Intake
from .leases import LeaseKeeper
from .link import Link, make_request
from .messages import CommandPacket, EventKind, Ping
from .scene import Event, EventLog, Scene
from .state import ClockEstimate
from .verdicts import VerdictLog

HEARTBEAT_S = 0.25
UPKEEP_S = 0.2
BACKOFF_FIRST_S, BACKOFF_LAST_S = 0.05, 1.0
EVENTS_KEPT = 1024
PROBE_S = 5.0  # without a reply: a request, so that the server hears of us where datagrams do not arrive
STANDSTILL_S = wire.DEADLINE_CAP_S  # a program that stood still longer than any command lives does not go on commanding by itself
TURN_S = 0.05  # the receive thread looks at the clock so often while this program commands


def awake_s() -> float:
    """A monotonic clock that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def stood_still_text(seconds: float) -> str:
    return f"this program stood still for {seconds:.1f} s, longer than its commands live"


class _Pending:
    """A request under way: its reply, or why none will come."""

    def __init__(self, handler=None):
        self.handler = handler
        self.reply = None
        self.error = None


class Connection:
    """Keeps one Link alive. Everything shared between threads is guarded by `lock`; `changed` is notified on every change."""

    def __init__(self, open_link, reconnect: bool, timeout_s: float):
        self._open_link = open_link
        self._reconnect = reconnect
        self._timeout_s = timeout_s
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.closed = False
        self.up = False
        self.armed = True
        self.disarm_reason = ""
        self.in_lockstep = False  # by this client: the world waits, and so may the program
        self._commanded_at = 0.0  # the last command, and the last turn of the receive thread, by awake_s()
        self._turned_at = awake_s()
        self.lost_leases = []
        self.reconnects = 0
        self.scene = None
        self.subscriptions = []
        self.verdicts = VerdictLog()
        self.clock = ClockEstimate()
        self.leases = LeaseKeeper(self)
        self._events = EventLog(EVENTS_KEPT)
        self._pending = {}
        self.answered_ping_ns = 0  # send time of the newest ping that was answered
        self.tools = {}  # newest TOOL of each tool that a device holds (subscribe with tools=True)
        self.granted_tick = None  # lockstep on a link with faults: up to where the server has run; None: its links are sound
        self.arrivals = Arrivals()
        self.intake = Intake(self)
        self._own_changes = 0
        self._replied_at = time.monotonic()
        self._refreshing = False
        self._untold = []  # SCENE_CHANGED until the new scene is known
        self._down_reason = ""
        self._made_in = os.getpid()
        self._forked = None  # in a child of the process that made this client: why nothing works here
        self.link = open_link()
        try:
            self._prepare(self.link)
        except BaseException:
            self.link.close()
            raise
        self._wake_in, self._wake_out = socket.socketpair()
        self.up = True
        self._thread = threading.Thread(target=self._run, name="tactus-receive", daemon=True)
        self._thread.start()

    # --- for user threads

    def request(self, field: str, **values):
        """Sends a request and waits for its reply; raises what the server's error says."""
        timeout_s = values.pop("wait_s", self._timeout_s)
        pending = _Pending()
        try:
            self._send(field, values, pending)
            with self.lock:
                self.changed.wait_for(lambda: pending.reply or pending.error, timeout_s)
        finally:
            self._forget(pending)
        if pending.error:
            raise pending.error
        if pending.reply is None:
            raise TimedOut(f"the server did not answer {field} within {timeout_s:g} s")
        if pending.reply.HasField("error"):
            raise request_error(pending.reply.error)
        return pending.reply

    def request_later(self, field: str, handler, **values) -> None:
        """Sends a request; `handler(reply)` runs on the receive thread. Silent when the connection is down."""
        try:
            self._send(field, values, _Pending(handler))
        except LinkLost:
            pass  # whoever handles the loss of the link also handles what hung on it

    def send_command(self, packet, more=()) -> int:
        """Sends a CommandPacket, or the first of the parts of a command and `more` of them; raises LinkLost when the connection is down,
        NotArmed when it came back meanwhile."""
        with self.lock:
            link = self._link_up()
            self.require_armed()
            self._commanded_at = awake_s()
            self._stamp(packet, link)
            self.arrivals.answered(packet.expected_tick, packet.client_send_ns)
            sequence = link.send_datagrams(wire.COMMAND, [packet, *more])
            self.verdicts.sent(sequence)
            return sequence

    def end_loop(self) -> None:
        """Tells the server that no command is missed from now on. Datagrams may be lost: twice."""
        with self.lock:
            link = self.link if self.up else None
        for _ in range(2 if link is not None else 0):
            self.heartbeat(link, ends=1)

    def heartbeat(self, link, **fields):
        """With a challenge: shows the server that this client is where its datagrams come from (behind NAT that is not its TCP address)."""
        packet = CommandPacket(scene_epoch=self.scene.scene_epoch, **fields)
        self._stamp(packet, link)
        link.send_datagram(wire.COMMAND, packet)

    def _stamp(self, packet, link):
        """What the server judges the link by, and which verdicts have arrived."""
        with self.lock:
            packet.verdicts_received = self.verdicts.received
            packet.client_recv_ns = self.arrivals.at(packet.expected_tick)
            packet.states_received = self.arrivals.states
            packet.states_due = self.arrivals.due
        packet.states_lost = link.datagrams_lost_on_the_way
        packet.client_send_ns = time.monotonic_ns()

    def send_grant(self, packet) -> int:
        with self.lock:
            link = self._link_up()
        packet.client_send_ns = time.monotonic_ns()
        return link.send_datagram(wire.GRANT, packet)

    def nudge(self) -> None:
        """Sends a ping, if the connection is up."""
        if self.up:
            self._ping(self.link)

    def barrier(self, timeout_s: float) -> bool:
        """Waits until the server has read what was sent on the real-time channel before; false when no answer came."""
        with self.lock:
            try:
                sent_ns = self._ping(self._link_up())
            except LinkLost:
                return False
            self.changed.wait_for(lambda: self.answered_ping_ns >= sent_ns or not self.up, timeout_s)
            return self.answered_ping_ns >= sent_ns

    def subscribe(self, subscription) -> None:
        reply = self.request("subscribe", **subscription.wish)
        with self.lock:
            subscription.renewed(reply.subscription.id)
            self.subscriptions.append(subscription)

    def unsubscribe(self, subscription) -> None:
        with self.lock:
            if subscription not in self.subscriptions:
                return
            self.subscriptions.remove(subscription)
        try:
            self.request("unsubscribe", id=subscription.id)
        except TactusError:
            pass  # the connection or the subscription is gone already

    def changing_scene(self):
        """A context in which a new scene epoch is this client's own doing, so that it stays armed."""
        return _OwnChange(self)

    def adopt_own_scene(self, description) -> None:
        """The scene that this client loaded or reset: known, and its streams running, when this returns."""
        self._adopt(description)
        with self.lock:
            self.changed.wait_for(lambda: not self._refreshing or not self.up, self._timeout_s)

    def take_events(self) -> list:
        with self.lock:
            return self._events.take()

    def wait_event(self, kinds, timeout_s):
        """Removes and returns the oldest event of these kinds."""

        def find():
            return self._events.find(kinds)

        with self.lock:
            if not self.changed.wait_for(find, timeout_s):
                raise TimedOut(f"no event {' or '.join(kinds)} within {timeout_s} s")
            event = find()
            self._events.remove(event)
            return event

    def disarm(self, reason: str) -> None:
        with self.lock:
            self.armed, self.disarm_reason = False, reason

    def stood_still(self, seconds: float) -> None:
        """Commands wait for arm(): the world has moved on since this program last looked."""
        self.disarm(stood_still_text(seconds))

    def _look_at_clock(self):
        """Suspended or in a debugger the receive thread does not turn. Whoever wakes first finds it: this thread, or a command."""
        with self.lock:
            turned_at, now = self._turned_at, awake_s()
            was_commanding = turned_at - self._commanded_at < STANDSTILL_S
            if now - turned_at > STANDSTILL_S and was_commanding and self.armed and not self.in_lockstep:
                self.stood_still(now - turned_at)

    def require_armed(self) -> None:
        """Raises NotArmed with the reason."""
        if self._forked is not None:
            raise self._forked
        self._look_at_clock()
        if not self.armed and self.disarm_reason.startswith("this program"):
            raise StoodStill(f"{self.disarm_reason}: look at scene and state, then call arm() to go on")
        if not self.armed:
            raise NotArmed(f"commands are held back since {self.disarm_reason}: look at scene and state, then call arm()")

    def down_text(self) -> str:
        """Why the connection is down; empty when it is up."""
        if self.up:
            return ""
        if self._forked is not None:
            return str(self._forked)
        if self.closed:
            return "this client is closed" if not self._down_reason else f"the connection is lost for good: {self._down_reason}"
        return f"the connection is down ({self._down_reason}) and is being made anew"

    def after_fork(self) -> None:
        """In a forked child: lets go of everything, without a word to the server. Sockets and session are the parent's, the receive
        thread is not here, and whoever held the lock at the fork cannot give it back."""
        self._forked = UsedAfterFork(
            f"this client was made in process {self._made_in}, and this is its child {os.getpid()}: "
            "connect again after the fork (the parent's client goes on)"
        )
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.closed, self.up, self.armed = True, False, False
        self._pending = {}
        self.leases.after_fork(str(self._forked))
        for subscription in self.subscriptions:
            subscription.end(self._forked)
        for end in (self.link, self._wake_in, self._wake_out):
            end.let_go() if end is self.link else end.close()
    def why_silent(self) -> str:
        """Why nothing comes on the real-time channel; empty when nothing is known to be wrong with it."""
        return self.down_text() or self.link.silence()

    def close(self) -> None:
        if self._forked is not None:
            return
        with self.lock:
            already, self.closed, self.up = self.closed, True, False
            self.changed.notify_all()
            if not already:
                self._wake_in.send(b"x")
        self._thread.join()
        self._wake_in.close()
        self._wake_out.close()

    # --- receive thread

    def _run(self):
        try:
            while not self.closed:
                try:
                    self._serve()
                except (LinkLost, ProtocolError) as error:
                    self._lose(error)
                    self._come_back()
                except Exception as error:  # noqa: BLE001  a mistake of ours must not leave a client that waits for ever
                    self._lose(ProtocolError(f"the client could not take in what came ({type(error).__name__}: {error})"))
                    self._sleep(BACKOFF_LAST_S)
                    self._come_back()
        finally:
            self.link.close()

    def _serve(self):
        """Until the link falls or the client is closed."""
        link = self.link
        for reply in link.take_early_replies():
            self._take_reply(reply)
        with selectors.DefaultSelector() as selector:
            selector.register(link.tcp, selectors.EVENT_READ, lambda: self._take_replies(link))
            selector.register(link.udp, selectors.EVENT_READ, lambda: self.intake.take(link))
            selector.register(self._wake_out, selectors.EVENT_READ, lambda: None)
            next_upkeep = next_heartbeat = 0.0
            self._turned_at = awake_s()
            while not self.closed:
                self._look_at_clock()
                self._turned_at = awake_s()
                now = time.monotonic()
                if now >= next_upkeep:
                    next_upkeep = now + UPKEEP_S
                    self.leases.upkeep()
                if now >= next_heartbeat:
                    next_heartbeat = now + HEARTBEAT_S
                    self._beat(link)
                commanding = awake_s() - self._commanded_at < 2 * STANDSTILL_S
                next_turn = min(next_upkeep, next_heartbeat, now + TURN_S if commanding else math.inf)
                for key, _ in selector.select(max(0.0, next_turn - now)):
                    key.data()

    def _beat(self, link):
        if time.monotonic() - self._replied_at > PROBE_S:
            self._replied_at = time.monotonic()
            self.request_later("list_leases", lambda reply: None)
        self.heartbeat(link)
        self._ping(link)

    def _ping(self, link) -> int:
        sent_ns = time.monotonic_ns()
        link.send_datagram(wire.PING, Ping(client_send_ns=sent_ns))
        return sent_ns

    def _take_replies(self, link):
        for reply in link.receive_control():
            self._take_reply(reply)

    def _take_reply(self, reply):
        self._replied_at = time.monotonic()
        if reply.id == 0:
            if reply.HasField("error"):
                raise LinkLost(str(request_error(reply.error)))
            if reply.HasField("event"):
                self._take_event(reply.event)
            return
        with self.lock:
            pending = self._pending.pop(reply.id, None)
            if pending is None:
                return
            pending.reply = reply
            self.changed.notify_all()
        if pending.handler is not None:
            pending.handler(reply)

    def _take_event(self, event):
        kind = EventKind(event.kind).name if event.kind in EventKind._value2member_map_ else f"EVENT_{event.kind}"
        if kind == "LEASE_LOST":
            self.leases.lost(event.text, "the server took it away (expired or taken over)")
        if kind == "STOPPED":
            self.disarm(f"{event.text} stopped everything")
        told = Event(kind, event.tick, event.text, event.scene_epoch, event.count or 1)
        if kind == "SCENE_CHANGED" and event.scene_epoch != self.scene.scene_epoch:
            self._scene_is_new(told)
        else:
            self.emit(told)

    # --- scene changes

    def _scene_is_new(self, event):
        """Another epoch was announced: ask what it holds. States of it are left aside until the answer is here, and the event is
        told when the streams run again: who hears of it reads no state of the old scene."""
        if not self._own_changes:
            self.disarm(f"the scene changed (new scene_epoch {event.scene_epoch:#010x})")

        def adopt(reply):
            self._adopt(reply.scene)
            self.request_later("list_leases", lambda _: self._tell())  # replies come in order

        with self.lock:
            self._untold.append(event)
        self.request_later("describe_scene", adopt)

    def _tell(self):
        with self.lock:
            told, self._untold = self._untold, []
            for event in told:
                self.emit(event)

    def _adopt(self, description):
        with self.lock:
            if description.scene_epoch in (0, self.scene.scene_epoch):
                return
            self.scene = Scene(description)
            self._refreshing = True
            subscriptions = list(self.subscriptions)
        for lease in self.leases.held():
            if lease.automatic:
                self.leases.lost(lease.channels[0], "the scene changed")
                self.request_later("release_lease", lambda reply: None, lease=lease.id)
        for subscription in subscriptions:
            self.request_later("unsubscribe", lambda reply: None, id=subscription.id)
            self.request_later("subscribe", self._resubscribed(subscription), **subscription.wish)
        self.request_later("list_leases", lambda reply: self._refreshed())  # replies come in order: this one after all others

    def _resubscribed(self, subscription):
        def handle(reply):
            with self.lock:
                if reply.HasField("error"):
                    self._give_up(subscription, request_error(reply.error))
                else:
                    subscription.renewed(reply.subscription.id)

        return handle

    def _refreshed(self):
        with self.lock:
            self._refreshing = False
            self.changed.notify_all()

    def _give_up(self, subscription, error):
        subscription.error = error
        if subscription in self.subscriptions:
            self.subscriptions.remove(subscription)
        self.emit(Event("SUBSCRIPTION_LOST", 0, str(error), self.scene.scene_epoch))

    # --- losing the link and coming back

    def _lose(self, error):
        with self.lock:
            self.up = False
            self._refreshing = False
            self._down_reason = str(error)
            self.disarm(f"the connection fell ({error})")
            self.lost_leases = self.leases.drop_all("the connection fell")
            pending, self._pending = list(self._pending.values()), {}
            for entry in pending:
                entry.error = LinkLost(f"the connection fell before the server answered: {error}")
            if not self._reconnect:
                self.closed = True
            self.emit(Event("LINK_LOST", 0, str(error), self.scene.scene_epoch))
        self.link.close()

    def _come_back(self):
        backoff_s = BACKOFF_FIRST_S
        while not self.closed:
            try:
                link = self._open_link()
            except (AuthenticationError, VersionMismatch) as error:
                self._lost_for_good(error)
                return
            except Exception as error:  # noqa: BLE001  no place, no answer, no descriptor left: all may pass
                backoff_s = self._try_later(error, backoff_s)
                continue
            try:
                self._prepare(link)
            except Exception as error:  # noqa: BLE001
                link.close()
                backoff_s = self._try_later(error, backoff_s)
                continue
            with self.lock:
                self.link = link
                self.up = not self.closed
                self.reconnects += 1
                self._down_reason = ""
                self.emit(Event("RECONNECTED", 0, link.build, self.scene.scene_epoch))
                self._tell()
            return

    def _try_later(self, error, backoff_s):
        """Waits; returns how long to wait the next time. Says why once for each new reason."""
        reason = str(error) or type(error).__name__
        with self.lock:
            if reason != self._down_reason:
                self._down_reason = reason
                self.emit(Event("RECONNECT_FAILED", 0, reason, self.scene.scene_epoch))
        self._sleep(backoff_s)
        return min(2 * backoff_s, BACKOFF_LAST_S)

    def _prepare(self, link):
        """Learns the scene and renews the subscriptions on a fresh link, before the receive thread serves it."""
        description = link.exchange("describe_scene").scene
        with self.lock:
            self.scene = Scene(description)
            self.verdicts.new_session()
            self.arrivals.restart(link.step_s)
            self.clock = ClockEstimate()
            subscriptions = list(self.subscriptions)
        for subscription in subscriptions:
            try:
                reply = link.exchange("subscribe", **subscription.wish)
            except LinkLost:
                raise
            except TactusError as error:
                with self.lock:
                    self._give_up(subscription, error)
            else:
                with self.lock:
                    subscription.renewed(reply.subscription.id)

    def _lost_for_good(self, error):
        with self.lock:
            self.closed = True
            self._down_reason = str(error)
            self.emit(Event("LINK_LOST", 0, f"for good: {error}", self.scene.scene_epoch))

    def _sleep(self, seconds):
        with self.lock:
            self.changed.wait_for(lambda: self.closed, seconds)

    # --- shared

    def _send(self, field, values, pending):
        with self.lock:
            link = self._link_up()
            request = make_request(link.next_id(), field, values)
            self._pending[request.id] = pending
        try:
            link.send_request(request)
        except BaseException:
            self._forget(pending)
            raise

    def _forget(self, pending):
        """No reply is awaited any more; harmless when it has come."""
        with self.lock:
            self._pending = {number: entry for number, entry in self._pending.items() if entry is not pending}

    def _link_up(self):
        if self._forked is not None:
            raise self._forked
        if not self.up:
            raise LinkLost(self.down_text())
        return self.link

    def emit(self, event):
        with self.lock:
            self._events.add(event)
            self.changed.notify_all()


class _OwnChange:
    def __init__(self, connection):
        self._connection = connection

    def __enter__(self):
        with self._connection.lock:
            self._connection._own_changes += 1

    def __exit__(self, *_):
        with self._connection.lock:
            self._connection._own_changes -= 1
