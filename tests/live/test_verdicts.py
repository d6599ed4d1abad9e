"""Each command has exactly one outcome, whatever the burst, the decimation, the loss or its size: a verdict, or LOST by the link."""
import collections
import json
import time

import pytest
from conftest import RawSession, eventually, require_program
from websocket import Viewer

import tactus
from tactus.messages import CommandPacket, StatePacket

BODIES = 30
FLOOR = 'step_s = 0.001\n[[body]]\nname = "floor"\nmode = "fixed"\n[[body.shape]]\nkind = "half_space"\n'
LOSS = dict(loss=0.1, loss_burst=3)


def crowd(count):
    box = '[[body]]\nname = "b{0}"\nposition_m = [{1}, {2}, 0.05]\nmass_kg = 1\n[[body.shape]]\nkind = "box"\nsize_m = [0.1, 0.1, 0.1]\n'
    return FLOOR + "".join(box.format(i, 0.3 * (i % 20), 0.3 * (i // 20)) for i in range(count))


@pytest.fixture
def crowded(make_server):
    return make_server(scene=crowd(BODIES)).start()


def outcomes(client, sent, timeout_s=20.0):
    """Names by sequence, of commands that had one; more than one for a command is an error."""
    found = collections.defaultdict(list)

    def all_are_there():
        for verdict in client.verdicts():
            if not verdict.missed:
                found[verdict.sequence].append(verdict.name)
        return set(sent) <= set(found)

    eventually(all_are_there, timeout_s)
    return {sequence: names for sequence, names in found.items() if sequence in set(sent)}


def bursts(client, count):
    """Pushes all bodies one after the other, again and again: sequences in order."""
    sent = []
    for _ in range(count):
        sent += [client.push(f"b{i}", force=(0, 0, 1)).sequence for i in range(BODIES)]
        time.sleep(0.02)
    return sent


@pytest.mark.parametrize("decimation", [1, 100])
def test_bursts_of_thirty_bodies_lose_no_verdict_on_a_sound_link(crowded, decimation):
    with crowded.connect() as c:
        c.subscribe(["b0"], decimation=decimation)
        c.claim(*[f"b{i}" for i in range(BODIES)])
        sent = bursts(c, 20)
        judged = outcomes(c, sent)
        assert sorted(judged) == sorted(sent)
        assert {len(names) for names in judged.values()} == {1}
        assert not {"LOST"} & {names[0] for names in judged.values()}


def test_through_loss_each_command_is_judged_or_named_lost(crowded):
    with crowded.connect() as c:
        c.subscribe(["b0"], decimation=100)
        c.claim(*[f"b{i}" for i in range(BODIES)])
        c.set_link_faults(up=LOSS, down=LOSS, seed=5)
        sent = bursts(c, 20)
        judged = outcomes(c, sent)
        assert sorted(judged) == sorted(sent)
        assert {len(names) for names in judged.values()} == {1}
        counts = collections.Counter(names[0] for names in judged.values())
        # What the way up lost is lost, and nothing else: the way down repeats its verdicts until they are acknowledged.
        assert 0.02 * len(sent) < counts["LOST"] < 0.3 * len(sent), counts
        assert c.link_statistics().verdicts_lost == 0


def test_a_command_that_the_link_lost_is_said_to_be_lost(crowded):
    with crowded.connect() as c:
        c.claim("b0")
        assert c.push("b0", force=(0, 0, 1)).verdict(5).applied
        c.set_link_faults(up=dict(loss=1))
        push = c.push("b0", force=(0, 0, 1))
        time.sleep(0.1)
        c.set_link_faults()
        verdict = push.verdict(10)
        assert verdict.name == "LOST" and verdict.lost and not (verdict.applied or verdict.refused)


def test_verdicts_come_without_any_stream_of_states(crowded):
    with crowded.connect() as c:
        c.claim("b0", "b1")
        pushes = [c.push("b0", force=(0, 0, 1)), c.push("b1", force=(0, 0, 1))]
        assert eventually(lambda: all(p.find_verdict() for p in pushes))


def test_twenty_verdicts_between_two_grants(crowded):
    with crowded.connect() as c, c.claim("world"), c.claim(*[f"b{i}" for i in range(20)]), c.lockstep() as lockstep:
        pushes = [c.push(f"b{i}", force=(0, 0, 1)) for i in range(20)]
        lockstep.step()
        assert [p.find_verdict().name for p in pushes] == ["APPLIED"] * 20


def test_a_client_that_acknowledges_nothing_is_not_flooded(crowded):
    with RawSession(crowded) as raw:
        raw.command(CommandPacket())
        for _ in range(300):
            raw.command(CommandPacket(scene_epoch=raw.epoch, body_id=[1], wrench=[0] * 6))
        time.sleep(2)
        got = sum(kind == tactus.wire.VERDICTS for kind, *_ in raw.link.receive_datagrams())
        assert 1 <= got <= 16


def test_over_a_websocket_states_bring_all_verdicts_of_a_burst(crowded):
    with Viewer(crowded.web_port) as viewer:
        epoch = viewer.exchange("describe_scene").scene.scene_epoch
        viewer.exchange("subscribe", bodies=["b0"], decimation=50)
        packet = CommandPacket(scene_epoch=epoch, body_id=[1], wrench=[0] * 6).SerializeToString()
        sent = [viewer.ask("command", bytes=packet) for _ in range(60)]
        judged, end = {}, time.monotonic() + 20
        while len(judged) < len(sent) and time.monotonic() < end:
            viewer.take()
            for state in viewer.states:
                found = StatePacket.FromString(state)
                judged.update((found.verdict_number - i, s) for i, s in enumerate(found.verdict_sequence))
            viewer.states.clear()
        assert [judged[number] for number in sorted(judged)] == sent  # no lease: refused, each under its number


# --- commands over several datagrams


def lift(bodies):
    return {f"b{i}": tactus.Wrench(force=(0, 0, 50)) for i in bodies}


def test_a_command_over_several_datagrams_acts_in_one_tick(make_server):
    with make_server(scene=crowd(100)).start().connect() as c, c.claim("world"), c.claim(*[f"b{i}" for i in range(100)]):
        c.subscribe([f"b{i}" for i in range(100)], wrench=True)
        with c.lockstep() as lockstep:
            push = c.command(lift(range(100)), deadline_s=0.1)
            state = lockstep.step()
            assert [(v.sequence, v.name) for v in c.verdicts()] == [(push.sequence, "APPLIED")]  # one command, one verdict
        assert {state[f"b{i}"].force_W[2] for i in range(100)} == {50.0}


def test_a_recorded_command_over_several_datagrams_is_re_executed(make_server, run_program, tmp_path):
    path = tmp_path / "run.mcap"
    server = make_server("--record", path, scene=crowd(100)).start()
    with server.connect() as c, c.claim(*[f"b{i}" for i in range(100)]):
        for _ in range(10):
            assert c.command(lift(range(100)), deadline_s=0.1).verdict(5).name == "APPLIED"
    assert server.terminate() == 0
    done = run_program(require_program("tactusd"), "--replay", path, timeout=300)
    assert done.returncode == 0 and json.loads(done.stdout)["identical"], done.stdout + done.stderr
    assert len({wrench.body_id for wrench in tactus.record.read(path).wrenches}) == 100


def parts_of(raw, bodies, parts, **changed):
    """The parts of one command as a client without manners has them."""
    out = []
    for part in range(parts):
        rows = bodies[len(bodies) * part // parts : len(bodies) * (part + 1) // parts]
        fields = dict(scene_epoch=raw.epoch, deadline_us=50_000, part=part, parts=parts, body_id=rows, wrench=[0, 0, 50, 0, 0, 0] * len(rows))
        out.append(CommandPacket(**{**fields, **changed}))
    return out


def test_a_missing_part_refuses_the_whole_command(crowded):
    with RawSession(crowded) as raw:
        raw.command(CommandPacket())
        raw.exchange("subscribe", bodies=["b0", "b29"], wrench=True)
        raw.exchange("acquire_lease", channels=[f"body/b{i}/wrench" for i in range(BODIES)], duration_ms=20_000)
        ids = list(range(1, 31))
        first, second, third = parts_of(raw, ids, 3)
        base = raw.command(first)
        raw.sequence += 1  # the second part is lost
        raw.command(third)
        assert raw.verdict(base) == "REFUSED_INCOMPLETE"
        third, second, first = reversed(parts_of(raw, ids, 3))
        numbers = raw.sequence
        for number, packet in ((3, third), (1, first), (2, second)):  # the way turned them round
            raw.sequence = numbers + number - 1
            raw.command(packet)
        raw.sequence = numbers + 3
        assert raw.verdict(numbers + 1) == "APPLIED"


def test_a_row_that_is_refused_refuses_all_parts_and_has_its_item(crowded):
    with RawSession(crowded) as raw:
        raw.command(CommandPacket())
        raw.exchange("subscribe", bodies=["b0"])
        raw.exchange("acquire_lease", channels=[f"body/b{i}/wrench" for i in range(BODIES)], duration_ms=20_000)
        base = [raw.command(p) for p in parts_of(raw, [*range(1, 30), 99], 2)][0]
        assert raw.verdict(base) == "REFUSED_UNKNOWN_BODY"
        base = [raw.command(p) for p in parts_of(raw, [*range(1, 30), 1], 2)][0]
        assert raw.verdict(base) == "REFUSED_OUT_OF_RANGE"  # a body twice


def test_too_many_rows_say_how_many_fit(make_server):
    with make_server(scene=crowd(230)).start().connect() as c:
        with pytest.raises(ValueError, match=r"230 wrenches .* at most 8 datagrams of 1368 bytes.*send several"):
            c.command(lift(range(230)))
