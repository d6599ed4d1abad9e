"""Devices at a running server: Haply's service (simulated) through its driver, and the keyboard."""
import json
import subprocess

import pytest
import tactus
from conftest import require_program

PATIENT = ["--watchdog", "0.15"]  # the machine may be busy


def haptic(server, *flags):
    return [require_program("tactus-haptic"), "--port", str(server.port), "--tool", "ball", "--json", *PATIENT, *flags]


def mock(seconds):
    process = subprocess.Popen([require_program("tactus_haply_mock"), "0", str(seconds)], stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())["port"]


def test_a_haply_presses_the_ball_on_the_floor_and_is_left_without_force(server):
    for _attempt in (1, 2, 3):
        process, port = mock(4.5)
        device = subprocess.run(haptic(server, "--device", "haply", "--haply-port", str(port), "--seconds", "2.5"),
                                capture_output=True, text=True, timeout=60)  # fmt: skip
        seen = json.loads(process.communicate(timeout=60)[0])
        if device.returncode == 0 and json.loads(device.stdout)["force_n"] > 0.5:
            break
    assert device.returncode == 0, device.stderr
    felt = json.loads(device.stdout)
    assert felt["force_n"] > 0.5
    assert felt["given_j"] <= felt["taken_j"] + 1e-3
    assert seen["wrong"] == 0 and seen["profile"] == "tactus:haptic"
    assert 0.5 < seen["force_max_n"] <= 5.0 + 1e-9  # what the driver was told the device bears
    assert seen["force_n"] == 0  # the service holds what it was told last


def test_a_haply_that_goes_away_ends_the_engagement_with_a_reason(server):
    process, port = mock(1.5)
    device = subprocess.run(haptic(server, "--device", "haply", "--haply-port", str(port), "--seconds", "3"), capture_output=True, text=True, timeout=60)
    process.wait(timeout=30)
    assert device.returncode == 1 and "not engaged any more: the device" in device.stderr, device.stderr


def test_without_a_service_it_says_what_to_do(server):
    device = subprocess.run(haptic(server, "--device", "haply", "--haply-port", "1"), capture_output=True, text=True, timeout=60)
    assert device.returncode == 1 and "is the service running" in device.stderr


def test_an_admittance_device_feels_a_mass_and_the_floor_and_its_tool_presses_as_the_hand_does(server, client):
    client.subscribe(["ball"], tools=True)
    for _attempt in (1, 2, 3, 4):
        device = subprocess.run(haptic(server, "--device", "admittance", "--mass", "3", "--seconds", "3", "--depth", "0.03"), capture_output=True, text=True, timeout=60)
        if device.returncode == 0 and json.loads(device.stdout)["force_n"] > 1:
            break
    assert device.returncode == 0, device.stderr
    felt = json.loads(device.stdout)
    assert felt["mode"] == "local" and "admittance" in device.stderr  # chosen, and said why
    assert felt["force_n"] > 1 and abs(felt["force_n"] - felt["tool_force_n"]) < 0.2 + 0.05 * felt["force_n"]
    assert felt["given_j"] <= felt["taken_j"] + 1e-3


def test_an_admittance_device_is_refused_what_it_could_not_feel(client):
    device = dict(name="odd", axes_sensed=3, axes_actuated=3, admittance=True, force_max_n=20, mass_kg=2, stiffness_max_n_per_m=1e5, rate_hz=1000)
    client.claim("tool/ball")
    ask = lambda **change: client.connection.request("attach_tool", tool="ball", device={**device, **change}, scene_epoch=client.scene_epoch, mode=1).tool_attached  # fmt: skip # noqa: E731
    for change in (dict(mass_kg=0), dict(axes_actuated=0, force_max_n=0)):
        with pytest.raises(tactus.TactusError, match="moved as a mass"):
            ask(**change)
    given = ask()
    assert given.mode == 0 and any("admittance devices render against planes" in note for note in given.notes)


def test_keys_move_the_tool_and_show_the_force(server, client):
    before = next(iter(client.subscribe(["ball"]).states(5)))["ball"].p_WB
    for _attempt in (1, 2, 3):
        device = subprocess.run(haptic(server, "--device", "keyboard", "--seconds", "2.5"), input="d" * 20 + "f" * 4, capture_output=True, text=True, timeout=60)
        if device.returncode == 0:
            break
    assert device.returncode == 0, device.stderr
    shown = json.loads(device.stdout)
    after = next(iter(client.subscribe(["ball"]).states(5)))["ball"].p_WB
    assert after[0] - before[0] > 0.08  # 20 keys of 5 mm, less what the coupling yields by friction
    assert shown["force_n"] == 0 and shown["tool_force_n"] > 2  # 20 mm into the floor: shown, nothing is felt
    assert "force" in device.stderr
