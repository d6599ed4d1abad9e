"""When states arrived, and which of them this client could have answered: what it tells the server for the quality of the link."""
import collections

KEPT = 8192  # as long as the longest hang: 8 s at 1 kHz


class Arrivals:
    """Times are this machine's, in nanoseconds. Of several subscriptions a tick is one state."""

    def __init__(self):
        self._at = collections.OrderedDict()  # tick -> when its state had arrived complete
        self.states = 0  # complete ones, and those that this machine had and nobody read in time
        self.due = 0  # those that left this client its usual time before the next one came (proto/cpp/link_quality.h, DueStates)
        self._waiting_ns = None
        self._free_ns = self._usual_ns = 0
        self._period_ns = 1_000_000
        self._newest = self._overflowed = 0
        self._step = None  # least number of ticks from one to the next

    def restart(self, step_s: float) -> None:
        """A new connection: counting begins anew."""
        self.__init__()
        self._period_ns = round(1e9 * step_s)

    def add(self, tick: int, ns: int, overflowed: int = 0) -> None:
        """overflowed: datagrams so far that found the socket full; a state may be several of them."""
        if tick in self._at:
            self._at[tick] = ns
            return
        self._count_unread(tick, overflowed)
        self.states += 1
        self._at[tick] = ns
        if len(self._at) > KEPT:
            self._at.popitem(last=False)
        if self._waiting_ns is not None:
            begins = max(self._waiting_ns, self._free_ns)
            if begins <= ns:
                self.due += 1
                self._free_ns = begins + self._usual_ns
        self._waiting_ns = ns

    def _count_unread(self, tick, overflowed):
        ticks = tick - self._newest
        if self._newest and ticks > 0:
            self._step = min(self._step or ticks, ticks)
            unread = min(ticks // self._step - 1, overflowed - self._overflowed)
            self.states += unread
            self.due += unread
        self._newest, self._overflowed = tick, overflowed

    def at(self, tick: int) -> int:
        """0: not known (any more)."""
        return self._at.get(tick, 0)

    def answered(self, tick: int, ns: int) -> None:
        """The usual time is the median, followed in small steps: what is rare moves it little, however long it is."""
        if tick in self._at:
            step = self._period_ns // 64
            usual = self._usual_ns + (step if ns - self._at[tick] > self._usual_ns else -step)
            self._usual_ns = min(max(usual, 0), self._period_ns // 2)
