"""Each command's verdict once, whatever is repeated, lost or late."""
import collections

from .state import Verdict

LOST_AFTER_S = 0.25  # the server has seen a later datagram for so long, and every verdict it gave has arrived


class VerdictLog:
    """States repeat the last verdicts, VERDICTS bring what they did not; this keeps each once.

    The key is (sequence, code): a replayed datagram gets a verdict of its own under a sequence that was judged before.
    """

    KEPT = 4096

    def __init__(self):
        self._by_key = collections.OrderedDict()
        self._fresh = collections.deque(maxlen=self.KEPT)
        self.counts = collections.Counter()  # by name, since the client was made
        self.numbers_lost = 0  # verdicts that the server gave and does not keep any more
        self.new_session()

    def new_session(self):
        """Sequences and numbers start anew."""
        self._by_key.clear()
        self._shown = None  # what the last packet repeated: most packets bring nothing new
        self.received = 0  # every verdict up to this number has arrived, or is named lost
        self._ahead = set()  # numbers behind a gap
        self._waiting = collections.OrderedDict()  # sequences of commands without a verdict
        self._seen = collections.deque()  # (newest sequence that the server had seen, when we heard that [s])

    def sent(self, sequence: int) -> None:
        """A command that is owed a verdict."""
        self._waiting[sequence] = True
        if len(self._waiting) > self.KEPT:
            self._waiting.popitem(last=False)

    def add(self, packet) -> bool:
        """Takes a StatePacket's verdicts; true when one was new."""
        shown = (packet.verdict_number, packet.verdict_sequence[:], packet.verdict_code[:])
        if shown == self._shown:
            return False
        self._shown = shown
        rows = zip(packet.verdict_sequence, packet.verdict_code, packet.verdict_tick, packet.verdict_age_us, packet.verdict_item)
        return self._take(packet.verdict_number, [Verdict(*row) for row in rows])

    def add_verdicts(self, packet) -> str:
        """Takes a VerdictPacket. Says which verdicts are lost for good; mostly none, and the text is empty."""
        told = self._drop(packet.dropped)
        rows = zip(packet.sequence, packet.code, packet.tick, packet.age_us, packet.item)
        self._take(packet.number, [Verdict(*row) for row in rows])
        return told

    def heard(self, echo_sequence: int, now_s: float, standing: bool) -> bool:
        """The server had seen this sequence when it sent what came now. True when a command is known to be lost: later ones were seen
        long ago, and every verdict given since has arrived. `standing`: in lockstep a command waits for as long as nobody grants."""
        if standing:
            self._seen.clear()
            return False
        if not self._seen or self._seen[-1][0] < echo_sequence and self._seen[-1][1] < now_s - 0.02:
            self._seen.append((echo_sequence, now_s))
        settled = 0
        while self._seen and self._seen[0][1] <= now_s - LOST_AFTER_S:
            settled = self._seen[0][0]
            if len(self._seen) == 1:
                break
            self._seen.popleft()
        if self._ahead or not settled:
            return False
        lost = [s for s in self._waiting if s < settled]
        for sequence in lost:
            self._keep(Verdict(sequence, 0, 0, 0, 0))
        return bool(lost)

    def find(self, sequence: int):
        """The verdict of a command, or None."""
        return next((v for (s, _), v in reversed(self._by_key.items()) if s == sequence and not v.missed), None)

    def take_fresh(self) -> list:
        """The verdicts since the last call, oldest first."""
        out = list(self._fresh)
        self._fresh.clear()
        return out

    def _take(self, number, newest_first):
        found = False
        for back, verdict in reversed(list(enumerate(newest_first))):
            if number:
                self._note(number - back)
            if (verdict.sequence, verdict.code) not in self._by_key:
                found = True
                self._keep(verdict)
        return found

    def _keep(self, verdict):
        self._by_key[verdict.sequence, verdict.code] = verdict
        self._waiting.pop(verdict.sequence, None)
        self._fresh.append(verdict)
        self.counts[verdict.name] += 1
        if len(self._by_key) > self.KEPT:
            self._by_key.popitem(last=False)

    def _note(self, number):
        if number <= self.received:
            return
        self._ahead.add(number)
        while self.received + 1 in self._ahead:
            self.received += 1
            self._ahead.remove(self.received)

    def _drop(self, dropped):
        if dropped <= self.received:
            return ""
        first, missing = self.received + 1, dropped - self.received - sum(n <= dropped for n in self._ahead)
        for number in range(first, dropped + 1):
            self._note(number)
        self.numbers_lost += missing
        if not missing:
            return ""
        return f"verdicts {first} to {dropped} were lost by the link ({missing} of them): the server keeps the newest 4,096; command less often"
