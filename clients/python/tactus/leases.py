"""Leases: who may drive what. This client's leases are renewed by its receive thread until they are released."""
import contextlib
import time

from .errors import NotLeased, TactusError
from .messages import ErrorCode

AUTOMATIC_IDLE_S = 2.0


def wrench_channel(body: str) -> str:
    """The channel that pushing a body needs."""
    return f"body/{body}/wrench"


def channel_name(target: str) -> str:
    """ "world" and full channel names stay; a body's name becomes its wrench channel."""
    return target if target == "world" or "/wrench" in target or target.startswith(("joint/", "tool/")) else wrench_channel(target)


def expand_channels(channels, scene) -> list:
    """joint/ROBOT/* becomes the channels of its commanded joints: the server speaks of those."""
    out = []
    for channel in channels:
        if channel.startswith("joint/") and channel.endswith("/*"):
            out.extend(f"joint/{joint.name}" for joint in scene.robot(channel[len("joint/") : -len("/*")]).joints)
        else:
            out.append(channel)
    return out


class Lease:
    """One or more channels held together; a context manager that releases at its end.

    `held` turns False when the server took it away (expiry, take-over, lost connection); `lost_reason` then says why.
    """

    def __init__(self, keeper, channels, duration_s, automatic):
        self._keeper = keeper
        self.channels = tuple(channels)
        self.duration_s = duration_s
        self.automatic = automatic  # made by push(); released when idle
        self.id = 0
        self.held = False
        self.lost_reason = ""
        self.renew_at = 0.0
        self.used_at = time.monotonic()

    def release(self) -> None:
        """Gives the channels back; harmless when they are no longer held."""
        self._keeper.release(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def __repr__(self):
        return f"<Lease {', '.join(self.channels)} {'held' if self.held else 'not held: ' + self.lost_reason}>"


class LeaseKeeper:
    """All leases of one client. `acquire` and `release` wait for the server; `upkeep` runs on the receive thread and never waits."""

    def __init__(self, connection):
        self._connection = connection
        self._lock = connection.lock
        self._by_channel = {}

    def acquire(self, channels, duration_s=2.0, take_over=False, automatic=False) -> Lease:
        lease = Lease(self, channels, duration_s, automatic)
        with self._lock:
            own = {self._by_channel[c] for c in channels if c in self._by_channel}
        for older in own:
            if not older.automatic:
                raise TactusError(f"this client has claimed {', '.join(older.channels)} already: use or release that lease")
            self.release(older)
        self._ask(lease, take_over)
        return lease

    @contextlib.contextmanager
    def holding(self, channels):
        """Acquires what of `channels` user code has not claimed, for the time of the context."""
        missing = [c for c in channels if (lease := self.find(c)) is None or lease.automatic]
        with self.acquire(missing) if missing else contextlib.nullcontext():
            yield

    def require(self, channels) -> None:
        """Raises NotLeased when one of these channels is no longer held."""
        gone = [c for c in channels if c not in self._by_channel]
        if gone:
            raise NotLeased(ErrorCode.NOT_LEASED, f"{', '.join(gone)} is no longer held (see events())", "claim(...) again")

    def reacquire_explicit(self, lost) -> None:
        """Claims again what user code had claimed when the connection fell; takes it from the list `lost` as it succeeds."""
        while lost:
            if not lost[0].automatic and not lost[0].held:
                self._ask(lost[0], False)
            del lost[0]

    def find(self, channel: str):
        """The lease held on a channel, or None."""
        with self._lock:
            return self._by_channel.get(channel)

    def ensure(self, channel: str) -> Lease:
        """The held lease of a channel, acquired now when there is none."""
        lease = self._by_channel.get(channel) or self.acquire([channel], automatic=True)
        lease.used_at = time.monotonic()
        return lease

    def ensure_all(self, channels) -> None:
        """As ensure, for channels that are taken together."""
        missing = [c for c in channels if c not in self._by_channel]
        if missing:
            self.acquire(missing, automatic=True)
        for channel in channels:
            self.ensure(channel)

    def release(self, lease) -> None:
        if not self._forget(lease, "released"):
            return
        try:
            self._connection.request("release_lease", lease=lease.id)
        except TactusError:
            pass  # the server has dropped it already, or the connection is gone and the server drops it

    def release_all(self) -> None:
        for lease in self.held():
            self.release(lease)

    def held(self) -> list:
        with self._lock:
            return list(dict.fromkeys(self._by_channel.values()))

    def drop_all(self, reason: str) -> list:
        """Marks every lease as lost, as a fallen connection does; returns those that were held."""
        dropped = self.held()
        for lease in dropped:
            self._forget(lease, reason)
        return dropped

    def after_fork(self, reason: str) -> None:
        """In a forked child: the leases are the parent's. Nobody gives back the lock of before."""
        self._lock = self._connection.lock
        for lease in self._by_channel.values():
            lease.held, lease.lost_reason = False, reason
        self._by_channel = {}

    def lost(self, channel: str, reason: str) -> None:
        """The server said that a channel is no longer ours."""
        with self._lock:
            lease = self._by_channel.pop(channel, None)
            if lease is None or any(self._by_channel.get(c) is lease for c in lease.channels):
                return  # what is left of it is still held
        self._forget(lease, f"{channel}: {reason}")

    def upkeep(self) -> None:
        now = time.monotonic()
        for lease in self.held():
            if lease.automatic and now - lease.used_at > AUTOMATIC_IDLE_S:
                if self._forget(lease, "idle"):
                    self._connection.request_later("release_lease", lambda reply: None, lease=lease.id)
            elif now >= lease.renew_at:
                lease.renew_at = now + lease.duration_s / 3
                self._connection.request_later("renew_lease", self._renewal_handler(lease), lease=lease.id)

    def _renewal_handler(self, lease):
        def handle(reply):
            if reply.HasField("error") and reply.error.code in (ErrorCode.NOT_FOUND, ErrorCode.NOT_LEASED):
                self._forget(lease, f"not renewed: {reply.error.text}")

        return handle

    def _ask(self, lease, take_over):
        reply = self._connection.request(
            "acquire_lease", channels=lease.channels, duration_ms=round(1000 * lease.duration_s), take_over=take_over
        ).lease
        with self._lock:
            lease.id = reply.lease
            lease.duration_s = (reply.duration_ms or 2000) / 1000
            lease.renew_at = time.monotonic() + lease.duration_s / 3
            lease.held, lease.lost_reason = True, ""
            self._by_channel.update({c: lease for c in lease.channels})

    def _forget(self, lease, reason) -> bool:
        with self._lock:
            if not lease.held:
                return False
            lease.held, lease.lost_reason = False, reason
            for channel in lease.channels:
                self._by_channel.pop(channel, None)
            return True
