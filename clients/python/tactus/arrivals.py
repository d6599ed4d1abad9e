"""When states arrived, and which of them this client could have answered: what it tells the server for the quality of the link."""
import collections

KEPT = 8192  # as long as the longest hang: 8 s at 1 kHz


class Arrivals:
    """Times are this machine's, in nanoseconds. Of several subscriptions a tick is one state."""

    def __init__(self):
        self._at = collections.OrderedDict()  # tick -> when its state had arrived complete
        self.states = 0  # complete ones
        self.due = 0  # those that left this client its usual time before the next one came (proto/cpp/link_quality.h, DueStates)
        self._waiting_ns = None
        self._free_ns = self._usual_ns = 0
        self._period_ns = 1_000_000

    def restart(self, step_s: float) -> None:
        """A new connection: counting begins anew."""
        self.__init__()
        self._period_ns = round(1e9 * step_s)

    def add(self, tick: int, ns: int) -> None:
        if tick in self._at:
            self._at[tick] = ns
            return
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

    def at(self, tick: int) -> int:
        """0: not known (any more)."""
        return self._at.get(tick, 0)

    def answered(self, tick: int, ns: int) -> None:
        """The usual time is the median, followed in small steps: what is rare moves it little, however long it is."""
        if tick in self._at:
            step = self._period_ns // 64
            usual = self._usual_ns + (step if ns - self._at[tick] > self._usual_ns else -step)
            self._usual_ns = min(max(usual, 0), self._period_ns // 2)
