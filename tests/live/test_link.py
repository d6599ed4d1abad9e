"""Links with faults on purpose, end to end: in lockstep the same seed gives the same run; delays are what was asked for; nonsense is refused."""
import json
import os

import pytest

import tactus
from conftest import SCENE, require_program

UP = dict(delay_us=2000, jitter_us=1500, loss=0.05, loss_burst=3, duplicate=0.02)
DOWN = dict(delay_us=1000, jitter_us=2500, loss=0.05, duplicate=0.02, reorder=0.02, reorder_us=4000)
CYCLES = int(os.environ.get("TACTUS_LINK_CYCLES", "800"))


def drive(client, cycles):
    """Holds the block over the floor through the link that there is: (hash at the end, fates, where it was at each cycle)."""
    seen = []
    with client.claim("block"), client.lockstep() as ls:
        client.reset()
        for _ in range(cycles):
            state = ls.step()
            if state is None:
                continue
            block = state["block"]
            seen.append((state.tick, block.p_WB[2]))
            lift = 9.81 + 40 * (0.5 - block.p_WB[2]) - 8 * block.v_WB[2]
            client.push("block", force=(0, 0, max(0.0, min(40.0, lift))), deadline_s=0.02)
        faults = client.link_faults()
        return ls.state_hash(), faults, seen


def test_lockstep_through_a_faulty_link_is_the_same_each_time(make_server):
    server = make_server()
    server.duration_s = 550
    with server.start().connect() as c, c.claim("world"):
        c.set_link_faults(up=UP, down=DOWN, seed=7)
        first = drive(c, CYCLES)
        second = drive(c, CYCLES)
        assert first[0] == second[0]
        assert first[2] == second[2]
        for direction in ("up_counters", "down_counters"):
            a, b = getattr(first[1], direction), getattr(second[1], direction)
            assert a.sequence_hash == b.sequence_hash
            assert a.datagrams == b.datagrams > 0.9 * CYCLES  # no heartbeat, no ping among them
            assert a.lost == b.lost > 0.02 * CYCLES
            assert a.duplicated > 0
        assert list(first[1].up_fates) == list(second[1].up_fates)
        # Late states only: each at least one tick old, and the controller still holds the block in the air.
        assert first[2][-1][1] == pytest.approx(0.5, abs=0.1)
        c.set_link_faults(up=UP, down=DOWN, seed=8)
        assert drive(c, 100)[1].up_counters.sequence_hash != first[1].up_counters.sequence_hash


@pytest.mark.parametrize("delay_us, ticks", [(0, 0), (999, 0), (3000, 3)])
def test_in_lockstep_a_delay_counts_whole_ticks_each_way(server, delay_us, ticks):
    with server.connect() as c, c.claim("world"), c.claim("block"), c.lockstep() as ls:
        ls.step()
        c.set_link_faults(up=dict(delay_us=delay_us), down=dict(delay_us=delay_us), seed=1)
        late = []
        for _ in range(20):
            state = ls.step()
            late.append(ls.tick - state.tick if state is not None else None)
        assert late[ticks:] == [ticks] * (20 - ticks)
        sent_at = ls.tick
        push = c.push("block", force=(1, 0, 0), deadline_s=0.1)
        for _ in range(3 * ticks + 2):
            ls.step()
        assert push.find_verdict().tick == sent_at + 1 + ticks


def test_a_lost_world_of_states_still_ends_each_step(server):
    with server.connect() as c, c.claim("world"), c.lockstep() as ls:
        c.set_link_faults(down=dict(loss=1))
        assert [ls.step() for _ in range(5)] == [None] * 5
        c.set_link_faults()
        assert ls.step().tick == ls.tick


def test_delays_and_losses_in_free_run(server):
    with server.connect() as c:
        sound = c.link_statistics()
        stream = c.subscribe()
        c.set_link_faults(up=dict(delay_us=8000), down=dict(delay_us=12000, loss=0.2, loss_burst=2), seed=3)
        stream.skip()
        for _ in range(600):
            state = stream.read()
        age_s = (state.received_ns - state.send_ns) / 1e9  # one machine: one clock
        assert age_s >= 0.012
        faults = c.link_faults()
        assert faults.down_counters.lost / faults.down_counters.datagrams == pytest.approx(0.2, abs=0.1)
        assert faults.down_counters.delay_us.p50 == pytest.approx(12000, rel=0.04)
        assert c.link_statistics().datagrams_lost - sound.datagrams_lost >= 0.8 * (faults.down_counters.lost - 20)
        mine = next(s for s in c.statistics().clients if s.session == faults.session)
        assert mine.link_down.delay_us == 12000 and mine.link_up.delay_us == 8000
        c.connection.barrier(10.0)
        assert c.connection.clock.round_trip_s is not None


@pytest.mark.parametrize("wish, names", [
    (dict(up=dict(loss=2)), ["up.loss", "2", "expected 0 to 1"]),
    (dict(down=dict(delay_us=2_000_000)), ["down.delay_us", "1000000"]),
    (dict(up=dict(loss=float("nan"))), ["up.loss", "nan"]),
    (dict(up=dict(delay_us=5), down=dict(loss=0.9, loss_burst=2)), ["down.loss", "at most 0.66"]),
])  # fmt: skip
def test_absurd_settings_are_refused_by_name_and_change_nothing(server, wish, names):
    with server.connect() as c:
        c.set_link_faults(up=dict(delay_us=77), seed=9)
        with pytest.raises(tactus.BadValue) as caught:
            c.set_link_faults(**wish)
        assert all(name in str(caught.value) for name in names)
        faults = c.link_faults()
        assert (faults.up.delay_us, faults.seed, faults.HasField("down")) == (77, 9, False)


def test_another_clients_link_needs_the_world(server):
    with server.connect(name="one") as one, server.connect(name="other") as other, server.connect(name="third") as third:
        session = one.link_faults().session
        with third.claim("world"):
            with pytest.raises(tactus.LeasedByOther):
                other.set_link_faults(up=dict(loss=0.5), session=session)
            assert not one.link_faults().HasField("up")
        other.set_link_faults(up=dict(delay_us=300), session=session)
        assert one.link_faults().up.delay_us == 300
        with pytest.raises(tactus.NotFound):
            other.set_link_faults(up=dict(delay_us=300), session=12345)


def test_faults_from_the_config_begin_with_the_session(make_server, tmp_path):
    config = tmp_path / "faults.toml"
    config.write_text("[link]\nseed = 5\n[link.up]\ndelay_us = 1000\n[link.down]\nloss = 0.1\n")
    server = make_server("--config", config)
    server.start()
    hashes = []
    for _ in range(2):
        with server.connect(name="same") as c:
            faults = c.link_faults()
            assert (faults.up.delay_us, faults.down.loss) == (1000, 0.1)
            assert c.read().tick > 0
            hashes.append(faults.seed)
    with server.connect(name="different") as c:
        assert c.link_faults().seed not in hashes
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("text, names", [
    ("[link.up]\nloss = 3\n", [":2:", "link.up.loss", "found 3", "from 0 to 1"]),
    ("[link]\nsed = 3\n", [":2:", "link.sed", "unknown"]),
    ("[link.down]\nlos = 3\n", [":2:", "link.down.los", "loss_burst"]),
    ("[link.down]\nloss = 0.8\nloss_burst = 1\n", [":1:", "link.down", "loss", "at most 0.5"]),
])  # fmt: skip
def test_a_config_with_an_absurd_link_does_not_start(make_server, tmp_path, text, names):
    config = tmp_path / "faults.toml"
    config.write_text(text)
    code, output = make_server("--config", config).run_to_end()
    assert code != 0
    assert all(name in output for name in names), output


SCENE_LINKS = """
[[link]]
client = "controller"
seed = 7
up = { delay_us = 2000, loss = 0.1, loss_burst = 2 }
[[link]]
down = { delay_us = 300 }
"""


def test_faults_of_a_scene_come_with_it_and_go_with_it(make_server, tmp_path):
    """By name and direction, seeded, over the config's; what a client sets itself stays; the next scene takes them back."""
    config = tmp_path / "server.toml"
    config.write_text(f'[link.up]\ndelay_us = 50\n[scene]\ndirectory = "{tmp_path}"\n[black_box]\nfolder = "{tmp_path}/boxes"\n')
    (tmp_path / "sound.toml").write_text(SCENE)
    server = make_server("--config", config, scene=SCENE + SCENE_LINKS).start()
    seeds = []
    for _ in range(2):
        with server.connect(name="controller") as c:
            faults = c.link_faults()
            assert (faults.up.delay_us, faults.up.loss, faults.up.loss_burst, faults.HasField("down")) == (2000, 0.1, 2, False)
            seeds.append(faults.seed)
    assert seeds[0] == seeds[1]
    with server.connect(name="controller") as c, server.connect(name="other") as other, server.connect(name="own") as own:
        faults = other.link_faults()
        assert (faults.down.delay_us, faults.HasField("up")) == (300, False) and faults.seed not in seeds
        own.set_link_faults(up=dict(delay_us=1234))
        c.load("sound")
        assert c.link_faults().up.delay_us == other.link_faults().up.delay_us == 50  # the config's
        assert own.link_faults().up.delay_us == 1234
        told = {(o.client, o.what): o.text for o in tactus.record.read(c.save_black_box().path).operations}
    assert "delay_us=50" in told["controller", "config_link_faults"]


@pytest.mark.parametrize("text, names", [
    ("[[link]]\nup = { loss = 3 }\n", ["link[0].up.loss", "found 3", "from 0 to 1"]),
    ("[[link]]\nup = { los = 0.5 }\n", ["link[0].up.los", "unknown key"]),
    ('[[link]]\nclient = "a"\n[[link]]\nclient = "a"\n', ["link[1].client", "once"]),
])  # fmt: skip
def test_a_scene_with_an_absurd_link_does_not_start(make_server, text, names):
    code, output = make_server(scene=SCENE + text).run_to_end()
    assert code != 0
    line = len((SCENE + text).splitlines())
    assert all(name in output for name in [f":{line}:", *names]), output


def test_a_control_loop_learns_why_its_cycles_missed(server, run_program):
    with server.connect(name="loop") as c:
        assert c.quality.cycles == 0
        c.set_link_faults(up=dict(loss=0.5), seed=2)
        for _ in range(20):  # on a busy machine cycles take longer
            c.control(["block"], lambda state: {"block": tactus.Wrench()}, duration_s=1.5)
            q = c.quality
            if q.cycles >= 300:
                break
        assert q.cycles >= 300 and 0 <= q.success_rate <= 1
        for times in (q.compute_us, q.down_us, q.up_us, q.wake_late_us, q.work_us, q.wait_us):
            assert times.count > 0 and times.max >= times.p99 >= times.p50 >= 0
        assert q.lost_up == pytest.approx(0.5, abs=0.3)  # of few commands where the machine is busy
        assert q.success_rate_window < 0.9 and q.lost_in_a_row_max >= 1
        assert q.cause != tactus.LinkCause.NONE and "%" in q.explanation
        status = run_program(require_program("tactus"), "status", "--host", f"127.0.0.1:{server.port}")
        assert "link up" in status.stdout and "faults up   loss 0.5" in status.stdout
        found = json.loads(run_program(require_program("tactus"), "status", "--json", "--host", f"127.0.0.1:{server.port}").stdout)
        mine = next(client for client in found["clients"] if client["name"] == "loop")
        assert mine["quality"]["cause"].startswith("LINK_CAUSE_") and mine["link_up"]["loss"] == 0.5
