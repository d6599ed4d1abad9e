"""The control loop: newest state in, wrenches out, once a tick."""
import collections
import time
from typing import NamedTuple

from .connection import STANDSTILL_S, awake_s, stood_still_text
from .errors import LinkLost, NotArmed, NotLeased, StoodStill, TimedOut
from .leases import expand_channels, wrench_channel
from .messages import Status
from .robot import RobotCommand

_MISSED = ("HELD", "EXTRAPOLATED", "RAMPED", "BRAKED")  # not of a command's arrival: what followed it

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
        return sum(self.verdicts.get(v, 0) for v in ("APPLIED", "CLAMPED", "LATE")) / self.commands if self.commands else 1.0


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
        with client.connection.leases.holding(self._channels), self._subscribe() as stream:
            try:
                self._loop(stream, None if duration_s is None else started + duration_s)
            finally:
                self._stop()
                client.connection.end_loop()
            self._await_final_verdicts(stream)
        return ControlReport(
            self._cycles, self._skipped, self._commands, dict(self._verdicts), time.monotonic() - started, self._callback_s_max
        )

    def _subscribe(self):
        return self._client.subscribe(self._bodies)

    def _stop(self):
        self._client.stop_pushing(self._bodies)

    def _command(self, wrenches, state):
        if not isinstance(wrenches, dict):
            raise TypeError(f"the controller must return {{body: tactus.Wrench}}, None or tactus.STOP, not {wrenches!r}")
        return self._client.command(wrenches, deadline_s=self._deadline_s, expected_tick=state.tick)

    def _loop(self, stream, end):
        reconnects = self._client.reconnects
        last_tick = None
        while end is None or time.monotonic() < end:
            state = self._next(stream)
            if last_tick is not None and state.tick > last_tick:
                self._skipped += state.tick - last_tick - 1
            last_tick = state.tick
            called_at = awake_s()
            wrenches = self._call(state)
            if wrenches is STOP:
                return
            if self._commands > 0:  # the first call may take its time: nothing acts yet
                self._require_awake(called_at, STANDSTILL_S, state.status & Status.LOCKSTEP)
            try:
                self._send(wrenches, state)
            except (NotArmed, NotLeased):
                self._require_same_link(reconnects)  # the better explanation
                raise
            self._require_same_link(reconnects)
            self._count_verdicts()

    def _require_awake(self, since, longest_s, in_lockstep=False):
        """Ends the loop when this program stood still since then, suspended or at a breakpoint: what it would send now is of a world
        that has moved on. In lockstep the world waited."""
        still_s = awake_s() - since
        if still_s > longest_s and not in_lockstep:
            self._client.connection.stood_still(still_s)
            raise StoodStill(f"the control loop ended: {stood_still_text(still_s)}; look at the state, arm(), start it again")

    def _next(self, stream):
        waited_from = awake_s()
        try:
            state = stream.newest(SILENCE_S)
            self._require_awake(waited_from, SILENCE_S + STANDSTILL_S, state.status & Status.LOCKSTEP)
            return state
        except TimedOut as error:
            self._require_awake(waited_from, SILENCE_S + STANDSTILL_S)
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
        if wrenches is None or (hasattr(wrenches, "__len__") and len(wrenches) == 0):
            return
        self._client.connection.leases.require(self._channels)
        command = self._command(wrenches, state)
        self._commands += 1
        self._sequences = range(self._sequences.start or command.sequence, command.sequence + 1)

    def _count_verdicts(self):
        self._verdicts.update(v.name for v in self._client.verdicts() if v.sequence in self._sequences)

    def _await_final_verdicts(self, stream):
        end = time.monotonic() + FINAL_VERDICTS_S
        while sum(n for v, n in self._verdicts.items() if v not in _MISSED) < self._commands and time.monotonic() < end:
            try:
                stream.newest(end - time.monotonic())
            except (LinkLost, TimedOut):
                return
            self._count_verdicts()


class RobotLoop(ControlLoop):
    """One run of Client.control_robot(). At its end the lease goes back, and with it the channels to their safe states."""

    def __init__(self, client, robot, callback, deadline_s, subscription):
        robot = client.scene.robot(robot)  # raises with the names there are
        super().__init__(client, [], lambda state: callback(state.robot(robot.name), state), deadline_s)
        self._robot = robot
        self._channels = expand_channels([robot.channel], client.scene)
        self._subscription = {**subscription, "joints": [robot.name, *subscription.get("joints", ())]}

    def _subscribe(self):
        return self._client.subscribe(self._subscription.pop("bodies", None), **self._subscription)

    def _stop(self):
        pass

    def _command(self, wish, state):
        wish = wish if isinstance(wish, RobotCommand) else RobotCommand(effort=wish)
        return self._client.command_robot(self._robot.name, wish, deadline_s=self._deadline_s, expected_tick=state.tick)
