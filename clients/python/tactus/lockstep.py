"""Lockstep: the world advances only when this client grants it ticks, so that a run gives the same result every time."""
import contextlib
import time

from .errors import LinkLost, StaleEpoch, TactusError, TimedOut, WrongState
from .messages import ErrorCode, GrantPacket, Status, VerdictCode
from .state import State

GRANT_TICKS_MAX = 10_000
RESEND_S = 0.25


class LockstepError(TactusError):
    """A command did not act before its grant, so that the run is not what it was meant to be."""


class Lockstep:
    """Made by Client.lockstep(); a context manager. Leaving it puts the server back into the mode it was in."""

    def __init__(self, client, timeout_s: float, stream=None, strict: bool = True):
        self._client = client
        self._timeout_s = timeout_s
        self._own_stream = stream
        self._strict = strict
        self._seen = None  # the newest state that came
        self.tick = 0

    def __enter__(self):
        client = self._client
        with contextlib.ExitStack() as stack:
            stack.enter_context(client.connection.leases.holding(["world"]))
            self._was_on = client.statistics().lockstep
            client.connection.request("set_lockstep", on=True)  # where it is on already, it is ours from now on
            self._own_stream or client.default_subscription()
            client.take_unjudged()
            client.connection.barrier(1.0)  # the server knows our address, so that states can come
            self.resynchronize()
            self._lease = stack.pop_all()
        client.active_lockstep = self
        client.connection.in_lockstep = True
        return self

    def __exit__(self, *_):
        self._client.active_lockstep = None
        self._client.connection.in_lockstep = False
        try:
            if not self._was_on and self._is_ours():
                self._client.connection.request("set_lockstep", on=False)
        except TactusError:
            pass  # the link fell, or the lease is lost: the server is no longer ours to set
        finally:
            self._lease.close()

    def step(self, ticks: int = 1) -> State:
        """Runs `ticks` ticks and waits for the state of the last one. Commands pushed before it are applied in its first tick.

        On a link with faults (Client.set_link_faults) it returns the newest state that has arrived by then, which may be older, or the
        one returned before; None as long as none has. Commands may be late or lost, too."""
        if ticks < 1:
            raise ValueError(f"ticks must be at least 1, not {ticks}")
        end = self.tick + ticks
        while self.tick < end:
            state = self._run_to(min(end, self.tick + GRANT_TICKS_MAX))
        return state

    def resynchronize(self) -> None:
        """Takes the server's present tick as ours; the client does so after a reset, load or restore."""
        connection = self._client.connection
        self._of = (connection.reconnects, connection.scene.scene_epoch)
        self.tick = self._grant_and_hash(0).tick  # a tick already reached is answered with the present one
        self._stream = self._own_stream or self._client.default_subscription()
        self._stream.skip()
        self._seen = None
        self._client.connection.granted_tick = None

    def present(self) -> State:
        """The state at the present tick; nothing advances. On a link with faults None when it has not come."""
        return self._grant_realtime(self.tick)

    def state_hash(self) -> int:
        """Hash of the present state: equal hashes mean equal states, bit by bit."""
        return self._grant_and_hash(self.tick).state_hash

    def _is_ours(self):
        connection = self._client.connection
        return connection.up and connection.reconnects == self._of[0]

    def _require_ours(self):
        """The server, its run and its mode are those of this context: an old one never steps a new world."""
        connection = self._client.connection
        again = "leave this context, look at the world, and enter a new one"
        if not self._is_ours():
            why = connection.down_text() or "the connection fell and was made anew: the server may have been restarted"
            raise LinkLost(f"this lockstep has ended with its connection ({why}); {again}")
        if connection.scene.scene_epoch != self._of[1]:
            raise StaleEpoch(ErrorCode.STALE_EPOCH, "another scene was loaded since this lockstep began", again)

    def _run_to(self, tick):
        # Over the real-time channel, so that the grant cannot overtake the commands sent before it.
        state = self._grant_realtime(tick)
        self.tick = tick  # reached, also when a command was refused: whoever expects that goes on from here
        self._seen = state or self._seen
        if self._strict:
            self._require_judged(tick)
        return self._seen

    def _grant_realtime(self, tick):
        connection = self._client.connection
        packet = GrantPacket(scene_epoch=connection.scene.scene_epoch, run_to_tick=tick)
        end = time.monotonic() + self._timeout_s
        asked_why = False
        wait_s = RESEND_S
        while time.monotonic() < end:
            self._require_ours()
            connection.send_grant(packet)  # repeated when lost: a repeated grant is harmless
            granted = lambda: connection.granted_tick is not None and connection.granted_tick >= tick  # noqa: E731
            done, state = self._stream.skip_to(tick, granted, min(wait_s, end - time.monotonic()))
            self._require_ours()
            if done and state is not None and not state.status & Status.LOCKSTEP:
                raise WrongState(ErrorCode.WRONG_STATE, "the server is not in lockstep any more (event LOCKSTEP_CHANGED)", "enter lockstep() anew")
            if done:
                return state
            if not asked_why:
                self._grant_and_hash(tick)  # a refusal of a datagram is silent, here it has a name
                asked_why = True
            wait_s *= 2
        raise TimedOut(f"tick {tick} was not reached within {self._timeout_s} s: {self._client.connection.why_silent() or 'is the server overloaded?'}")

    def _grant_and_hash(self, tick):
        self._require_ours()
        epoch = self._client.connection.scene.scene_epoch
        return self._client.connection.request("grant", run_to_tick=tick, scene_epoch=epoch, wait_s=self._timeout_s).grant

    def _link_has_faults(self):
        # GRANTED says so when states are held back; it may still be under way, and faults of the way up send none.
        if self._client.connection.granted_tick is not None:
            return True
        faults = self._client.link_faults()
        return faults.HasField("up") or faults.HasField("down")

    def _require_judged(self, tick):
        for command in self._client.take_unjudged():
            verdict = command.find_verdict()
            judged = verdict is not None and not (verdict.refused or verdict.code == VerdictCode.EXPIRED)
            if not judged and (verdict is None or not verdict.refused) and self._link_has_faults():
                continue  # late or lost, as the link was told to
            if verdict is None:
                raise LockstepError(
                    f"the command with sequence {command.sequence} has no verdict at tick {tick}: the link lost it or its verdict"
                )
            if verdict.refused or verdict.code == VerdictCode.EXPIRED:
                raise LockstepError(f"the command with sequence {command.sequence} was not applied: {verdict.name} at tick {verdict.tick}")
