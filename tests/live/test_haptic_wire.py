"""DEVICE and TOOL datagrams from a client that means no good, or knows no better: refused by name or bounded, never a kick."""
import json
import math
import signal
import subprocess
import threading
import time

import pytest
import tactus
from conftest import eventually, require_program
from tactus import messages, wire

DEVICE = dict(name="odd-device", axes_sensed=6, axes_actuated=6, force_max_n=20, torque_max_n_m=1, damping_n_s_per_m=1, turn_damping_n_m_s_per_rad=1e-3, rate_hz=1000)
ANCHORED = 1024
LOST, SPEED_LIMITED, DOUBTED = 8, 32, 256


class Odd:
    """A device whose datagrams are made by hand."""

    def __init__(self, client, tool="ball", mode=0, **wishes):
        self.client = client
        client.claim(f"tool/{tool}")
        self.attached = attach(client, tool, mode=mode, watchdog_s=0.2, **wishes)
        self.sample, self.rows, self._next = 0, [], dict(pose=[2, 0, 0.1, 1, 0, 0, 0])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.client.connection.intake._take_tool = lambda packet: self.rows.append(packet) if packet.subscription == 0 else None
        self._thread.start()

    def packet(self, pose, velocity=(0,) * 6, **more):
        self.sample += 1
        return messages.DevicePacket(scene_epoch=self.client.scene_epoch, tool=self.attached.tool, grip=1, sample=self.sample, bits=ANCHORED,
                                     stiffness_share=1, pose=pose, velocity=velocity, **more)  # fmt: skip

    def _run(self):
        while not self._stop.wait(0.001):
            self.client.connection.link.send_datagram(wire.DEVICE, self.packet(**self._next))

    def say(self, seconds, **what):
        """From now on the device says this; returns the TOOL packets of that time."""
        self._next, before = what, len(self.rows)
        time.sleep(seconds)
        return self.rows[before:]

    def close(self):
        self._stop.set()
        self._thread.join()


def attach(client, tool, device=DEVICE, **wishes):
    return client.connection.request("attach_tool", tool=tool, device=device, scene_epoch=client.scene_epoch, **wishes).tool_attached


def force(packet):
    return list(packet.wrench[:3])


def steps(rows):
    """Change of the force from tick to tick [N], where both were heard."""
    ordered = sorted({row.tick: row for row in rows}.values(), key=lambda row: row.tick)
    return [math.dist(force(a), force(b)) for a, b in zip(ordered, ordered[1:]) if b.tick == a.tick + 1]


@pytest.fixture
def odd(client):
    stream = client.subscribe(["ball"])
    assert stream is not None
    device = Odd(client)
    device.say(0.5, pose=[2, 0, 0.1, 1, 0, 0, 0])
    assert eventually(lambda: device.rows and device.rows[-1].bits & 1)
    yield device
    device.close()


@pytest.mark.parametrize("bad, verdict", [
    (dict(pose=[math.nan, 0, 0, 1, 0, 0, 0]), "not_finite"), (dict(pose=[2, 0, math.inf, 1, 0, 0, 0]), "not_finite"),
    (dict(pose=[2, 0, 0.1, 1, 0, 0, 0], velocity=[math.nan] * 6), "not_finite"), (dict(pose=[2, 0, 0.1, 1, 0, 0, 0], velocity=[1e9, 0, 0, 0, 0, 0]), "out_of_range"),
    (dict(pose=[1e9, 0, 0, 1, 0, 0, 0]), "out_of_range"), (dict(pose=[2, 0, 0.1, 7, 0, 0, 0]), "out_of_range"), (dict(pose=[2, 0, 0.1]), "wrong_count"),
    (dict(pose=[2, 0, 0.1, 1, 0, 0, 0], wrench=[math.nan] * 6), "not_finite"), (dict(pose=[2, 0, 0.1, 1, 0, 0, 0], wave=[1e9] * 6), "out_of_range"),
])  # fmt: skip
def test_what_cannot_be_is_refused_by_name_and_moves_nothing(client, odd, bad, verdict):
    rows = odd.say(0.1, **bad)
    assert eventually(lambda: any(verdict in name.lower() for name in client.connection.verdicts.counts)), client.connection.verdicts.counts
    assert max(steps(rows), default=0) < 0.1  # the held reference goes on being held
    assert all(math.isfinite(x) for row in rows for x in row.wrench)


def test_a_pose_that_jumps_and_an_impossible_velocity_are_bounded_and_reported(odd):
    k, b, speed, h = 1440.0, 2.0, 5.0, 0.001
    bound = k * speed * h + 2 * b * speed + 1  # of the spring at the largest speed of the reference, and of its damper's turning round
    rows = odd.say(0.3, pose=[2.5, 0, 0.6, 1, 0, 0, 0]) + odd.say(0.3, pose=[1.5, 0, 0.1, 1, 0, 0, 0], velocity=[-9e3, 0, 9e3, 0, 0, 0])
    assert any(row.bits & SPEED_LIMITED for row in rows)
    assert max(math.hypot(*force(row)) for row in rows) <= odd.attached.force_limit_n + 1e-9
    assert max(steps(rows)) <= bound


def test_a_client_that_gives_the_hand_more_than_it_was_granted_is_doubted_where_all_see_it(odd):
    soft = odd.say(0.4, pose=[2, 0, 0.099, 1, 0, 0, 0], wrench=[0, 0, 1.44, 0, 0, 0])
    assert not any(row.bits & DOUBTED for row in soft)
    stiff = odd.say(0.8, pose=[2, 0, 0.099, 1, 0, 0, 0], wrench=[0, 0, 14.4, 0, 0, 0])  # ten times the spring
    assert any(row.bits & DOUBTED for row in stiff)
    strong = odd.say(0.3, pose=[2, 0, 0.099, 1, 0, 0, 0], wrench=[0, 0, 400, 0, 0, 0])
    assert strong[-1].bits & DOUBTED


def test_wishes_and_statements_beyond_reason_are_cut_with_a_note_and_contradictions_refused(client):
    client.claim("tool/ball")
    given = attach(client, "ball", {**DEVICE, "stiffness_max_n_per_m": 9e5, "force_max_n": 900}, stiffness_n_per_m=8e5, mode=3, round_trip_s=0.02)
    assert given.stiffness_n_per_m <= 2000 and given.force_limit_n <= 40  # 2b/T; the server's largest
    assert any("stiffness_max" in note for note in given.notes) and any("haptic.force_max" in note for note in given.notes)
    assert given.mode == 0 and any(note.startswith("mode local:") for note in given.notes)
    with pytest.raises(tactus.TactusError, match="attached already"):
        attach(client, "ball")
    client.claim("tool/block")
    for change, name in (({"axes_sensed": 3}, "axes_actuated"), ({"torque_max_n_m": 0}, "torque_max_n_m"), ({"rate_hz": 1}, "rate_hz"),
                         ({"name": "a b"}, "name"), ({"damping_n_s_per_m": math.nan}, "damping")):  # fmt: skip
        with pytest.raises(tactus.TactusError, match=name):
            attach(client, "block", {**DEVICE, **change})


def haptic(server, tool, *flags, seconds="3"):
    command = [require_program("tactus-haptic"), "--port", str(server.port), "--tool", tool, "--seconds", seconds, "--depth", "0.01", "--json", *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_devices_in_one_scene_feel_the_floor_at_once(server, client):
    client.subscribe(["ball"], tools=True)
    for _attempt in (1, 2, 3):
        both = [haptic(server, tool, "--watchdog", "0.15") for tool in ("ball", "block")]
        time.sleep(2)
        held = {packet.body_id for packet in client.tools().values()}
        ended = [(device, *device.communicate(timeout=60)) for device in both]
        if all(device.returncode == 0 and json.loads(out)["force_n"] > 0.5 for device, out, _ in ended):
            break
    assert [device.returncode for device, _, _ in ended] == [0, 0], ended
    assert all(json.loads(out)["force_n"] > 0.5 for _, out, _ in ended)
    assert len(held) == 2


def test_a_device_whose_program_stands_still_is_let_go_says_why_and_does_not_come_back(server, client):
    client.subscribe(["ball"], tools=True)
    device = haptic(server, "ball")
    assert eventually(lambda: any(p.bits & 1 and math.hypot(*p.device_wrench[:3]) > 0.3 for p in client.tools().values()), 8)
    device.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    device.send_signal(signal.SIGCONT)
    assert eventually(lambda: any(p.bits & LOST and math.hypot(*p.wrench[:3]) == 0 for p in client.tools().values()))
    out, err = device.communicate(timeout=60)
    assert device.returncode == 1 and ("stood still" in err or "let go" in err or "no word" in err), err
    assert json.loads(out)["force_n"] == 0


@pytest.mark.parametrize("mode", ["local", "direct"])
def test_a_deadband_saves_datagrams_both_ways_within_its_band_and_the_floor_is_felt(server, mode):
    """At the watchdog that the server gives where none is named. A machine that holds the device up for so long lets go: then again."""
    for _attempt in range(6):
        device = haptic(server, "ball", "--mode", mode, "--deadband", "0.1", seconds="4")
        out, err = device.communicate(timeout=60)
        felt = json.loads(out) if out else {}
        if device.returncode == 0 and felt["force_n"] > 0.5 and 0.5 * (felt["saved_up"] + felt["saved_down"]) >= 0.85:
            break
    assert device.returncode == 0, err
    assert felt["force_n"] > 0.5 and felt["given_j"] <= felt["taken_j"] + 1e-3
    assert 0.5 * (felt["saved_up"] + felt["saved_down"]) >= 0.85 and felt["band_error"] <= 1, felt


def test_waves_have_no_deadband_and_the_note_says_so(client):
    client.claim("tool/ball")
    given = attach(client, "ball", mode=2, deadband=0.1)
    assert given.deadband == 0 and any("no deadband" in note for note in given.notes)
