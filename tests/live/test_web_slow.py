"""Viewers that read slowly, or not at all: of states the newest wins, events and replies are never dropped, and who leaves too much unread is
cut off with that reason. The loop and the others notice nothing."""
import functools
import threading
import time

import pytest
from conftest import assert_still_ticking, counts
from conftest import eventually as soon
from tactus.messages import EventKind, StatePacket
from websocket import Closed, Viewer

eventually = functools.partial(soon, timeout_s=60)
BALLS = 'title = "Balls that stand in space"\nstep_s = 0.001\ngravity_m_per_s2 = [0, 0, 0]\n' + "".join(
    f'[[body]]\nname = "b{i}"\nposition_m = [{i}, 0, 0]\nmass_kg = 1\n[[body.shape]]\nkind = "sphere"\nradius_m = 0.1\n' for i in range(60))  # fmt: skip
STREAM = dict(velocity=True, wrench=True)  # 60 bodies: 9 kB a state, a thousand a second


@pytest.fixture
def server(make_server, tmp_path):
    (tmp_path / "server.toml").write_text(f"[limits]\nsend_queue_bytes = {5 << 20}\n[web]\nstall_s = 60\nsilence_s = 600\n")
    return make_server("--config", tmp_path / "server.toml", scene=BALLS).start()


def refused_of(client):
    return counts(client.statistics().refused_by_reason)


class SlowViewer(Viewer):
    """Reads at most so many bytes a second; 0: nothing at all for now."""

    bytes_per_s = 0
    due = 0.0

    def _more(self):
        if self.bytes_per_s:
            size = max(1, self.bytes_per_s // 100)
            self.due = max(self.due, time.monotonic() - 0.1) + 0.01
            time.sleep(max(0.0, self.due - time.monotonic()))
            chunk = self.socket.recv(size)
            if not chunk:
                raise Closed
            self.buffer += chunk
            return
        super()._more()


def test_a_slow_viewer_misses_states_and_no_event(server):
    """It reads 300 kB/s of the 9 MB/s that its stream would be."""
    with server.connect(name="driver") as driver, SlowViewer(server.web_port, name="slow", timeout_s=120) as slow:
        slow.exchange("subscribe", **STREAM)
        slow.bytes_per_s = 300_000
        driver.claim("world")
        wanted, done = [], threading.Event()

        def drive():  # while it lags behind more and more
            for _ in range(150):
                driver.pause()
                driver.resume()
                time.sleep(0.04)
                wanted.extend((EventKind.PAUSED, EventKind.RESUMED))
            done.set()

        thread = threading.Thread(target=drive)
        thread.start()
        while not done.is_set():
            slow.take()
        thread.join()
        slow.bytes_per_s = 0  # from here on as fast as it can: what waits for it comes, in order
        slow.exchange("list_leases")
        assert [e.kind for e in slow.events if e.kind in (EventKind.PAUSED, EventKind.RESUMED)] == wanted
        assert [e.tick for e in slow.events] == sorted(e.tick for e in slow.events)
        ticks = [StatePacket.FromString(state).tick for state in slow.states]
        assert ticks == sorted(ticks)  # never an older one after a newer
        assert ticks[-1] - ticks[0] > 2 * len(ticks), (ticks[0], ticks[-1], len(ticks))  # most were replaced
        newest = driver.statistics().tick
        while StatePacket.FromString(slow.states[-1]).tick < newest:  # what comes now is now
            slow.take()
        assert refused_of(driver).get("web_does_not_read", 0) == refused_of(driver).get("web_slow", 0) == 0
        assert next(c for c in driver.statistics().clients if c.name == "slow").packets_dropped > 0  # and it is counted
        assert_still_ticking(driver)


def test_states_alone_never_fill_the_queue_of_a_viewer_that_does_not_read(server):
    with server.connect(name="watcher") as client, Viewer(server.web_port, name="sleeper", timeout_s=120) as sleeper:
        sleeper.exchange("subscribe", **STREAM)
        time.sleep(5)  # 45 MB of states: nine queues full
        assert refused_of(client).get("web_does_not_read", 0) == 0
        assert "sleeper" in [c.name for c in client.statistics().clients]
        sleeper.exchange("list_leases")  # wakes up, and is served


def test_a_viewer_that_asks_and_does_not_read_is_cut_off_with_that_reason(server):
    with server.connect(name="watcher") as client, Viewer(server.web_port, name="sleeper", timeout_s=120) as sleeper, \
            Viewer(server.web_port, name="reader", timeout_s=120) as reader:  # fmt: skip
        reader.exchange("subscribe", single_precision=True, decimation=10)
        sleeper.exchange("subscribe", **STREAM)
        asked, end = [], time.monotonic() + 90
        sleeper.socket.settimeout(5)
        while refused_of(client).get("web_does_not_read", 0) == 0 and time.monotonic() < end:
            try:
                asked += [sleeper.ask("describe_scene") for _ in range(50)]
            except OSError:  # cut off already, or its requests wait with the server
                pass
            for _ in range(5):
                reader.take()
        assert refused_of(client)["web_does_not_read"] == 1
        sleeper.socket.settimeout(120)
        answered = []
        with pytest.raises(Closed) as closed:  # it wakes up: every answer of before, in order, and then why
            while True:
                reply = sleeper.take()
                if reply.id:
                    answered.append(reply.id)
        assert closed.value.code == 1008 and "does not read" in closed.value.reason and "limits.send_queue_bytes" in closed.value.reason
        assert answered == asked[: len(answered)] and len(answered) > 100
        assert eventually(lambda: "sleeper" not in [c.name for c in client.statistics().clients])
        before = len(reader.states)
        while len(reader.states) < before + 20:
            reader.take()
        assert_still_ticking(client)
