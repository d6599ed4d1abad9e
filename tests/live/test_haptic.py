"""The virtual device at a running server: it feels the floor under the tool, others see it, and what cannot be is refused by name."""
import json
import subprocess

import pytest
import tactus
from conftest import require_program
from tactus import messages


def press(server, *flags):
    """The virtual device presses the ball down for two seconds; patient, because the machine may be busy."""
    program = require_program("tactus-haptic")
    command = [program, "--port", str(server.port), "--tool", "ball", "--watchdog", "0.15", "--seconds", "2.5", "--depth", "0.01", "--json", *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("mode", ["local", "direct", "wave"])
def test_the_hand_feels_the_floor_and_others_see_it(server, client, mode):
    for _attempt in (1, 2):  # a machine that stands still for 0.15 s lets go, as it should
        device = press(server, "--mode", mode)
        stream = client.subscribe(["ball"], tools=True)
        seen = []
        for state in stream.states(2.2):
            if state.tick % 50 == 0:
                seen += [packet for packet in client.tools().values() if packet.tick not in {p.tick for p in seen}]
        out, err = device.communicate(timeout=30)
        if device.returncode == 0 and json.loads(out)["force_n"] > 0.5:
            break
    assert device.returncode == 0, err
    felt = json.loads(out)
    assert felt["force_n"] > 0.5 and felt["stiffness_n_per_m"] > 100
    assert felt["given_j"] <= felt["taken_j"] + 1e-3
    assert max(p.device_wrench[2] for p in seen if len(p.device_wrench) == 6) > 0.3
    assert any(len(p.plane_key) > 0 for p in seen)


def test_a_device_that_contradicts_itself_is_refused(server):
    program = require_program("tactus-haptic")
    command = [program, "--port", str(server.port), "--tool", "floor", "--seconds", "0.2"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert process.returncode == 1 and "tool/floor" in process.stderr
    command = [program, "--port", str(server.port), "--tool", "ball", "--damping", "-1", "--seconds", "0.2"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert process.returncode == 1 and "damping" in process.stderr


def test_one_device_a_tool(server):
    first = press(server)
    try:
        with tactus.connect("127.0.0.1", server.port) as other:
            stream = other.subscribe(["ball"], tools=True)
            for _ in stream.states(1.0):
                if other.tools():
                    break
            with pytest.raises(tactus.TactusError, match="held by"):
                other.claim("tool/ball")
    finally:
        first.communicate(timeout=30)
    assert messages.ToolPacket is not None
