"""A stream of states that the receive thread fills and user code reads."""
import collections
import time

from .errors import LinkLost, TimedOut
from .state import Assembler, ShadowState, State

QUEUE_MAX = 2048


class Subscription:
    """Made by Client.subscribe(). It survives reconnects and scene changes: the client subscribes again by itself.

    `read()` gives every state in order, `newest()` skips to the newest unread one, `latest()` gives the newest one, read or not.
    """

    def __init__(self, connection, wish: dict):
        self._connection = connection
        self.wish = wish  # fields of Subscribe
        self.id = 0  # of the server; changes on reconnect
        self.error = None  # why it could not be renewed
        self.dropped = 0  # states lost because user code read too slowly
        self._assembler = Assembler()
        self._queue = collections.deque(maxlen=QUEUE_MAX)
        self._latest = None
        self._shadow_parts = {}
        self._shadows = collections.deque(maxlen=QUEUE_MAX)

    @property
    def incomplete(self) -> int:
        """Ticks of which a packet was lost."""
        return self._assembler.incomplete

    @property
    def reordered(self) -> int:
        return self._assembler.reordered

    def read(self, timeout_s: float = 2.0) -> State:
        """The oldest state not read yet. Raises TimedOut when none comes."""
        self._wait(lambda: self._queue, timeout_s)
        with self._connection.lock:
            return self._queue.popleft()

    def newest(self, timeout_s: float = 2.0) -> State:
        """The newest state not read yet; older ones are skipped."""
        self._wait(lambda: self._queue, timeout_s)
        with self._connection.lock:
            state = self._queue.pop()
            self._queue.clear()
            return state

    def latest(self, timeout_s: float = 2.0) -> State:
        """The newest state, at once when there has been one."""
        self._wait(lambda: self._latest is not None, timeout_s)
        return self._latest

    def states(self, duration_s: float = None):
        """Iterates over every state, also across reconnects, until the duration is over or the client is closed."""
        end = None if duration_s is None else time.monotonic() + duration_s
        while not self._connection.closed and (end is None or time.monotonic() < end):
            wait_s = 0.5 if end is None else max(0.0, min(0.5, end - time.monotonic()))
            try:
                state = self.read(wait_s)
            except TimedOut:
                continue
            except LinkLost:
                return  # closed meanwhile
            yield state

    def shadow(self, timeout_s: float = 2.0) -> ShadowState:
        """The oldest comparison with the shadow model not read yet; needs subscribe(shadow=True) and a shadow (Client.set_shadow)."""
        self._wait(lambda: self._shadows, timeout_s)
        with self._connection.lock:
            return self._shadows.popleft()

    def skip_to(self, tick: int, reached, timeout_s: float):
        """For lockstep: (True, the state of `tick`), or once `reached()` (True, the newest one unread or None); (False, None) on timeout."""

        def has_tick():
            return any(state.tick == tick for state in self._queue)

        with self._connection.lock:
            done = self._connection.changed.wait_for(lambda: has_tick() or reached() or self.error or self._connection.closed, timeout_s)
            if self.error:
                raise self.error
            if not done or self._connection.closed:
                return False, None
            state = self._queue[-1] if self._queue else None
            while has_tick():
                state = self._queue.popleft()
            if not reached():
                return True, state
            self._queue.clear()
            return True, state

    def skip(self) -> None:
        """Forgets the states that have not been read."""
        with self._connection.lock:
            self._queue.clear()
            self._shadows.clear()

    def close(self) -> None:
        """Ends the stream."""
        self._connection.unsubscribe(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def renewed(self, subscription_id: int) -> None:
        """The server knows this subscription under a new id: another scene or another link, so what is queued is void."""
        kept = self._assembler
        self._assembler = Assembler()
        self._assembler.incomplete, self._assembler.reordered = kept.incomplete, kept.reordered
        self.id, self.error = subscription_id, None
        self._queue.clear()
        self._shadows.clear()
        self._shadow_parts = {}
        self._latest = None

    def end(self, error) -> None:
        """Nothing more comes, and `error` says why."""
        self.error = error
        self._queue.clear()
        self._shadows.clear()
        self._latest = None

    def take_shadow(self, packet, names: dict) -> None:
        """Receive thread, lock held. A comparison of which a part was lost is given up when the next one begins."""
        self._shadow_parts = {k: p for k, p in self._shadow_parts.items() if p.tick == packet.tick}
        self._shadow_parts[packet.part] = packet
        if len(self._shadow_parts) == packet.parts:
            self._shadows.append(ShadowState([self._shadow_parts[i] for i in sorted(self._shadow_parts)], names))
            self._shadow_parts = {}

    def take_packet(self, packet, sequence: int, received_ns: int, scene) -> bool:
        """Receive thread, lock held: true when a state became complete."""
        packets = self._assembler.add(packet, sequence)
        if packets is None:
            return False
        self._latest = State(packets, received_ns, scene.names, scene)
        if len(self._queue) == QUEUE_MAX:
            self.dropped += 1
        self._queue.append(self._latest)
        return True

    def _wait(self, ready, timeout_s):
        with self._connection.lock:
            if self._connection.changed.wait_for(lambda: ready() or self.error or self._connection.closed, timeout_s) and ready():
                return
        if self.error:
            raise self.error
        if self._connection.closed:
            raise LinkLost(self._connection.down_text())
        why = self._connection.why_silent() or "is the server in lockstep, waiting for a grant?"
        raise TimedOut(f"no state within {timeout_s} s: {why}")
