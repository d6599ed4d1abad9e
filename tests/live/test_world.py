"""Lockstep, snapshots, models, scenes: what changes the world, and that the same inputs give the same bits."""
import math
import sys

import pytest
from conftest import REPOSITORY, SCENE, assert_still_ticking

import tactus

TICKS = 500


def run_in_lockstep(client, ticks=TICKS):
    """The same commands each time: the block is shaken, dragged and pressed down."""
    with client.lockstep() as lockstep:
        client.reset()
        for tick in range(ticks):
            client.push("block", force=(12 * math.sin(0.05 * tick), 4, -5), at=(0.05, 0, 0.1))
            state = lockstep.step()
        assert state.tick == ticks
        assert state.status & tactus.Status.LOCKSTEP
        return lockstep.state_hash(), state["block"]


def test_lockstep_gives_the_same_bits(make_server):
    runs = []
    for _ in range(2):
        with make_server().start().connect() as client:
            runs += [run_in_lockstep(client), run_in_lockstep(client)]
            assert_still_ticking(client)  # free again
    assert len(set(runs)) == 1, [f"{h:016x}" for h, _ in runs]
    assert abs(runs[0][1].p_WB[1]) > 1e-3  # and it was not a world at rest


def test_lockstep_is_as_fast_as_it_can_be(make_server, tmp_path):
    """The caps that keep a flooder from disturbing the beat mean nothing where there is none: a refused command would change the run."""
    config = tmp_path / "caps.toml"
    config.write_text("[limits]\ncommands_per_s = 100\ncommand_burst = 20\n")
    with make_server("--config", config).start().connect() as client:
        run_in_lockstep(client, ticks=150)  # raises when a command is refused


def test_one_tick_at_a_time_equals_many_at_once(client):
    with client.lockstep() as lockstep:
        client.reset()
        for _ in range(300):
            lockstep.step()
        single = lockstep.state_hash()
        client.reset()
        lockstep.step(300)
        assert lockstep.state_hash() == single


def test_the_lockstep_flag(make_server):
    with make_server("--lockstep").start().connect() as client:
        assert client.statistics().lockstep
        tick = client.statistics().tick
        assert client.statistics().tick == tick  # nobody grants, nothing moves
        with client.lockstep() as lockstep:
            assert lockstep.step(7).tick == tick + 7
        assert client.statistics().lockstep
        with pytest.raises(tactus.WrongState):
            client.step()


def test_a_grant_needs_the_world_and_lockstep(server, client):
    epoch = client.scene_epoch
    with pytest.raises(tactus.NotLeased):
        client.connection.request("grant", run_to_tick=10, scene_epoch=epoch)
    with client.claim("world"):
        with pytest.raises(tactus.WrongState):
            client.connection.request("grant", run_to_tick=10, scene_epoch=epoch)
    with client.lockstep() as lockstep:
        with pytest.raises(tactus.StaleEpoch):
            client.connection.request("grant", run_to_tick=lockstep.tick + 1, scene_epoch=epoch ^ 1)
        with pytest.raises(tactus.RequestError, match="10,?000"):
            client.connection.request("grant", run_to_tick=lockstep.tick + 10_001, scene_epoch=epoch)


@pytest.mark.parametrize("kept_by", ["server", "client"])
def test_snapshot_restore_and_go_on(client, kept_by):
    def go_on(lockstep):
        for tick in range(100):
            client.push("block", force=(5, tick % 7, 0))
            lockstep.step()
        return lockstep.state_hash()

    with client.lockstep() as lockstep:
        client.push("block", force=(20, 0, 0), deadline_s=0.1)
        lockstep.step(60)  # in the middle of a push, sliding
        lockstep.step(60)
        snapshot = client.snapshot("here" if kept_by == "server" else "")
        assert snapshot.state_hash == lockstep.state_hash() and snapshot.tick == lockstep.tick
        first = go_on(lockstep)
        client.restore("here" if kept_by == "server" else snapshot)
        assert lockstep.state_hash() == snapshot.state_hash and lockstep.tick == snapshot.tick
        assert go_on(lockstep) == first


def test_bad_snapshots(client):
    with pytest.raises(tactus.NotFound):
        client.restore("never taken")
    snapshot = client.snapshot()
    for bytes_ in (snapshot.state[:-1], snapshot.state + b"x", b"", bytes(len(snapshot.state))):
        with pytest.raises(tactus.RequestError):
            client.restore(snapshot._replace(state=bytes_ or b"\0"))
    assert_still_ticking(client)


def test_pause_step_resume(client):
    client.pause()
    paused = client.statistics()
    assert paused.paused and client.statistics().tick == paused.tick
    client.default_subscription().skip()
    assert client.read().status & tactus.Status.PAUSED  # the stream goes on
    assert client.step(5).tick == paused.tick + 5
    client.resume()
    assert_still_ticking(client)
    with pytest.raises(tactus.WrongState):
        client.step()


def test_models_change_at_run_time(client):
    before = client.latest()["block"].p_WB
    assert {"penalty", "deepest"} <= set(client.scene.models)
    for model in ("deepest", "penalty"):
        client.set_model(model)
        assert client.statistics().model == model
        assert_still_ticking(client)
    assert math.dist(client.latest()["block"].p_WB, before) < 0.01  # it still stands there
    assert client.wait_event("MODEL_CHANGED")
    with pytest.raises(tactus.RequestError, match="penalty"):
        client.set_model("magic")  # says what there is


def test_parameters(client):
    settings = client.scene.settings
    assert settings
    for key, value in settings.items():
        client.set_parameter(key, value)
    assert client.refresh_scene().settings == settings
    with pytest.raises(tactus.RequestError, match="no_such_key"):
        client.set_parameter("no_such_key", 1)
    key = next(iter(settings))
    with pytest.raises(tactus.RequestError):
        client.set_parameter(key, "not a value")


def test_scenes_load_with_parameters_and_a_new_epoch(server, client):
    epoch = client.scene_epoch
    assert {"default", "pile", "live"} <= set(client.scenes())
    with server.connect(name="onlooker") as onlooker:
        onlooker.read()
        scene = client.load("stack", n=3)
        assert scene.name == "stack" and scene.scene_epoch != epoch
        assert len([b for b in scene if b.mode == "free"]) == 3
        assert client.read().scene_epoch == scene.scene_epoch
        assert onlooker.wait_event("SCENE_CHANGED").scene_epoch == scene.scene_epoch
        assert next(s for s in onlooker.states(3)).scene_epoch == scene.scene_epoch
        assert not onlooker.armed and client.armed
    client.load("live")
    assert client.push("block", force=(1, 0, 0)).verdict().applied


def test_a_new_scene_tells_who_lost_what(server, client):
    with server.connect(name="director") as director:
        held = client.claim("block", "ball")
        epoch = client.scene_epoch
        with director.claim("world") as world:
            director.load("stack", n=2)
            events = [client.wait_event("LEASE_LOST", "SCENE_CHANGED") for _ in range(3)]
            assert [e.kind for e in events] == ["LEASE_LOST", "LEASE_LOST", "SCENE_CHANGED"]
            assert {e.text for e in events[:2]} == {"body/block/wrench", "body/ball/wrench"}
            assert all(e.scene_epoch == epoch for e in events[:2])  # the old one, whose names these are
            assert not held.held and world.held  # the lease of the world stays
            director.reset()


def test_a_bad_scene_leaves_the_running_one(server, client):
    epoch = client.scene_epoch
    with pytest.raises(tactus.NotFound):
        client.load("no_such_scene")
    server.scene_file.write_text(SCENE.replace("mass_kg = 1", "mass_kg = -1", 1))
    with pytest.raises(tactus.BadScene) as caught:
        client.load("live")
    line = SCENE[: SCENE.index("mass_kg")].count("\n") + 1
    assert f"live.toml:{line}" in str(caught.value) and "mass_kg" in str(caught.value)
    assert client.scene_epoch == epoch == client.refresh_scene().scene_epoch
    assert_still_ticking(client)


@pytest.mark.parametrize("example", ["push_block.py", "lockstep_ci.py"])
def test_examples(server, run_program, example):
    package = REPOSITORY / "clients" / "python"
    host = f"127.0.0.1:{server.port}"
    done = run_program(sys.executable, package / "examples" / example, "block", "--host", host, env={"PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
