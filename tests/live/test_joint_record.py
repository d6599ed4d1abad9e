"""Joints in the black box: what channels were given and what acted, re-executed to the same bits; faults of links as they were injected."""
import random
import time

import pytest
from conftest import require_program
from test_joints import SLIDERS

import tactus

UP = dict(delay_us=2000, jitter_us=3000, loss=0.15, loss_burst=3, duplicate=0.05, reorder=0.05)


@pytest.fixture
def server(make_server, tmp_path):
    config = tmp_path / "server.toml"
    config.write_text(f'[black_box]\nfolder = "{tmp_path}/boxes"\nhash_every_ticks = 50\n')
    return make_server("--config", config, scene=SLIDERS).start()


def wish(chance, i):
    """Efforts of all joints, one of them beyond its limit now and then; or a position and a velocity."""
    if i % 5 == 4:
        return dict(joints={"arm/shoulder_1": tactus.Position(chance.uniform(-0.3, 0.3), 0.1), "arm/elbow": tactus.Velocity(chance.uniform(-1, 1))})
    return dict(joints={f"arm/wrist_{k}": tactus.Effort(chance.uniform(-1, 1) * (1 if chance.random() < 0.9 else 50)) for k in (1, 2, 3)})


def re_execute(run_program, path, *, hashes, inputs, joints):
    done = run_program(require_program("tactus_replay_check"), path)
    assert done.returncode == 0, done.stdout + done.stderr
    words = {key: int(value) for key, value in (word.split("=") for word in done.stdout.split())}
    assert words["wrong"] == 0
    assert words["hashes"] >= hashes and words["inputs"] >= inputs and words["joints"] >= joints, words
    return tactus.record.read(path)


@pytest.mark.parametrize("missed", ["hold", "extrapolate", "ramp", "brake"])
def test_missed_commands_over_a_faulty_link_are_re_executed(server, run_program, missed):
    """In lockstep: seeded losses, a filter, limits, a latched fault and its recovery; every bit of it again from the file."""
    chance = random.Random(missed)
    with server.connect(name="driver") as c, c.claim("joint/arm/*", "block"), c.lockstep() as lockstep:
        c.set_link_faults(up=UP, seed=11)
        c.set_joint_options("arm", missed=missed, tolerance_ticks=2, fault_ticks=12, cutoff_hz=80, effort_rate_limit=400)
        c.reset()
        recovered = 0
        for i in range(800):
            if 300 <= i < 330:
                pass  # long enough to latch
            elif i == 331:
                c.recover("arm")
                recovered += 1
            else:
                c.command({"block": tactus.Wrench(force=(chance.uniform(-1, 1), 0, 0))} if i % 7 == 0 else None, deadline_s=0.02, **wish(chance, i))
            try:
                lockstep.step()
            except tactus.LockstepError as error:
                assert "REFUSED_FAULT" in str(error) and i >= 300
        saved = c.save_black_box("faulty")
        fates = c.link_faults()
    recording = re_execute(run_program, saved.path, hashes=16, inputs=600, joints=3000)
    bits = 0
    for row in recording.joints:
        bits |= row.bits
    acted = {"hold": tactus.JointBit.HELD, "extrapolate": tactus.JointBit.EXTRAPOLATED, "ramp": tactus.JointBit.SAFE, "brake": tactus.JointBit.SAFE}[missed]
    for bit in (acted, tactus.JointBit.COMMANDED, tactus.JointBit.FAULT, tactus.JointBit.FILTERED, tactus.JointBit.RATE_LIMITED, tactus.JointBit.EFFORT_LIMITED):
        assert bits & bit, f"{bit!r} never acted"
    assert {"COMMAND", "RECOVER"} <= {tactus.record.input_kind(i) for i in recording.joint_inputs}
    # Every fate of the link stands in it: since the reset, as the link itself tells its last ones.
    injected = [f for f in recording.injected if f.client == "driver" and not f.down]
    assert sum(f.lost for f in injected[-500:]) > 0
    told = [f.delay_us * 8 + f.lost + 2 * f.duplicated + 4 * f.reordered for f in injected]
    kept = [fate for fate in fates.up_fates if fate]
    assert told[-len(kept) :] == kept


def test_a_free_run_with_joints_is_re_executed(server, run_program):
    """Real time: commands when they come, a pause in between, a lease that is given back, and a client that dies with its torque on."""
    chance = random.Random(3)
    with server.connect(name="watcher") as watcher:
        stream = watcher.subscribe(joints=["arm"])
        with server.connect(name="driver") as c:
            with c.claim("joint/arm/*", "world"):
                for i in range(120):
                    c.command(deadline_s=0.1, **wish(chance, i))
                    time.sleep(0.004)
                    if i == 40:
                        c.set_joint_options("arm", missed="extrapolate", tolerance_ticks=3)
                    if i == 60:
                        c.pause()
                        time.sleep(0.02)
                        c.resume()
            with c.claim("joint/arm/*"):
                assert c.command_robot("arm", effort=[0, 0, 0, 0, 0, 0, 2.0], deadline_s=0.2).verdict().applied
        streamed = list(stream.states(0.5))
        saved = watcher.save_black_box("free")
    recording = re_execute(run_program, saved.path, hashes=10, inputs=60, joints=500)
    assert {"COMMAND", "RELEASE", "OPTIONS", "TIME"} <= {tactus.record.input_kind(i) for i in recording.joint_inputs}
    # What was sent stands in it with its verdict, and what acted is what was given, cut to the limits.
    judged = {c.sequence: c for c in recording.commands() if c.client == "driver"}
    assert sum(c.verdict in ("APPLIED", "CLAMPED", "LATE") for c in judged.values()) > 20
    arm = next(i for i, name in enumerate(recording.joint_names) if name == "arm/wrist_3")
    given = {i.tick: i.value for i in recording.joint_inputs if i.joint_id == arm and tactus.record.input_kind(i) == "COMMAND" and i.mode == 0}
    acts = {row.tick: row.value for row in recording.joints if row.joint_id == arm}
    assert given and all(abs(acts[tick]) <= 20.0 for tick in given)
    fresh = [tick for tick, value in given.items() if abs(value) <= 20.0]
    assert fresh and all(acts[tick] == given[tick] for tick in fresh)
    # The states hold the joints as they were streamed, bit by bit.
    recorded = {sample.tick: sample for sample in recording.joint("arm/wrist_3")}
    common = [state for state in streamed if state.tick in recorded]
    assert len(common) > 50
    for state in common:
        arm, sample = state.robot("arm"), recorded[state.tick]
        assert (sample.q, sample.dq, sample.effort, sample.bits) == (arm.q[6], arm.dq[6], arm.effort[6], arm.bits[6])
    assert any(sample.bits & tactus.JointBit.SAFE for sample in recorded.values())
