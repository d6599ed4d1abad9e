"""The control loop: newest state in, wrenches out, once a tick."""
import collections
import time
from typing import NamedTuple

from .errors import LinkLost, NotArmed, NotLeased, TimedOut
from .leases import wrench_channel

STOP = object()  # a callback returns this to end the loop
SILENCE_S = 1.0
FINAL_VERDICTS_S = 0.1


class ControlReport(NamedTuple):
    """What a control loop did, and what became of its commands."""

    cycles: int  # states handed to the callback
    skipped: int  # states that were overtaken by a newer one before the callback was free
    commands: int  # sent
    verdicts: dict  # name -> count, for the commands of this loop
    duration_s: float  # of this client's clock
    callback_s_max: float  # longest time spent in the callback

    @property
    def applied_ratio(self) -> float:
        """Commands applied (also when cut to limits) per command sent."""
        return (self.verdicts.get("APPLIED", 0) + self.verdicts.get("CLAMPED", 0)) / self.commands if self.commands else 1.0


class ControlLoop:
    """One run of Client.control(). Ends with a zero command, whatever happened."""

    def __init__(self, client, bodies, callback, deadline_s):
        self._client = client
        self._callback = callback
        self._deadline_s = deadline_s
        self._bodies = [client.scene[name].name for name in bodies]  # raises with the names there are
        self._channels = [wrench_channel(name) for name in self._bodies]
        self._sequences = range(0)  # from the first to the last command of this loop
        self._verdicts = collections.Counter()
        self._cycles = self._skipped = self._commands = 0
        self._callback_s_max = 0.0

    def run(self, duration_s) -> ControlReport:
        client = self._client
        client.connection.require_armed()
        started = time.monotonic()
        with client.connection.leases.holding(self._channels), client.subscribe(self._bodies) as stream:
            try:
                self._loop(stream, None if duration_s is None else started + duration_s)
            finally:
                client.stop_pushing(self._bodies)
            self._await_final_verdicts(stream)
        return ControlReport(
            self._cycles, self._skipped, self._commands, dict(self._verdicts), time.monotonic() - started, self._callback_s_max
        )

    def _loop(self, stream, end):
        reconnects = self._client.reconnects
        last_tick = None
        while end is None or time.monotonic() < end:
            state = self._next(stream)
            if last_tick is not None and state.tick > last_tick:
                self._skipped += state.tick - last_tick - 1
            last_tick = state.tick
            wrenches = self._call(state)
            if wrenches is STOP:
                return
            try:
                self._send(wrenches, state)
            except (NotArmed, NotLeased):
                self._require_same_link(reconnects)  # the better explanation
                raise
            self._require_same_link(reconnects)
            self._count_verdicts()

    def _next(self, stream):
        try:
            return stream.newest(SILENCE_S)
        except TimedOut as error:
            raise LinkLost(f"the control loop ended: {error}") from error

    def _require_same_link(self, reconnects):
        if not self._client.connected or self._client.reconnects != reconnects:
            raise LinkLost("the control loop ended: the connection fell; when it is back, look at the scene, arm(), start it again")

    def _call(self, state):
        began = time.monotonic()
        wrenches = self._callback(state)
        self._callback_s_max = max(self._callback_s_max, time.monotonic() - began)
        self._cycles += 1
        return wrenches

    def _send(self, wrenches, state):
        if not wrenches:
            return
        self._client.connection.leases.require(self._channels)
        command = self._client.command(wrenches, deadline_s=self._deadline_s, expected_tick=state.tick)
        self._commands += 1
        self._sequences = range(self._sequences.start or command.sequence, command.sequence + 1)

    def _count_verdicts(self):
        self._verdicts.update(v.name for v in self._client.verdicts() if v.sequence in self._sequences)

    def _await_final_verdicts(self, stream):
        end = time.monotonic() + FINAL_VERDICTS_S
        while sum(self._verdicts.values()) < self._commands and time.monotonic() < end:
            try:
                stream.newest(end - time.monotonic())
            except (LinkLost, TimedOut):
                return
            self._count_verdicts()
