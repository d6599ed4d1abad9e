"""The virtual device at a running server: it feels the floor under the tool, others see it, and what cannot be is refused by name."""
import json
import subprocess
import time

import pytest
import tactus
from conftest import require_program
from tactus import messages


def press(server, *flags):
    """The virtual device presses the ball down for two seconds; patient, because the machine may be busy."""
    program = require_program("tactus-haptic")
    command = [program, "--port", str(server.port), "--tool", "ball", "--watchdog", "0.15", "--seconds", "2.5", "--depth", "0.01", "--json", *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def held(server, client, mode):
    """One press: (exit code, what the device reports, its words, the tool's packets that others saw)."""
    device = press(server, "--mode", mode)
    stream = client.subscribe(["ball"], tools=True)
    seen = []
    for state in stream.states(2.2):
        if state.tick % 50 == 0:
            seen += [packet for packet in client.tools().values() if packet.tick not in {p.tick for p in seen}]
    out, err = device.communicate(timeout=30)
    return device.returncode, json.loads(out) if out else {}, err, seen


def faults(code, felt, seen):
    """What is wrong with a press, in words; empty: nothing."""
    wrong = [] if code == 0 else [f"exit code {code}"]
    if not (felt.get("force_n", 0) > 0.5 and felt.get("stiffness_n_per_m", 0) > 100):
        wrong.append("the hand felt too little")
    if not felt.get("given_j", 1) <= felt.get("taken_j", 0) + 1e-3:
        wrong.append("the motor gave energy")
    if not max((p.device_wrench[2] for p in seen if len(p.device_wrench) == 6), default=0) > 0.3:
        wrong.append("others saw no force")
    if not any(len(p.plane_key) > 0 for p in seen):
        wrong.append("others saw no planes")
    return wrong


@pytest.mark.parametrize("mode", ["local", "direct", "wave"])
def test_the_hand_feels_the_floor_and_others_see_it(server, client, mode):
    """A machine that stands still for 0.15 s lets go, as it should, and one that misses a tenth of the cycles makes the line soft: four presses."""
    for _attempt in range(4):
        code, felt, err, seen = held(server, client, mode)
        wrong = faults(code, felt, seen)
        if not wrong:
            return
        print(mode, wrong, felt, err)
        time.sleep(1)
    raise AssertionError(f"{mode}: {wrong}, {felt}, {err}")


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
