"""`tactus watch` against a live server with a robot: on a terminal with bars, as JSON lines, in a pipe. What it shows is what the server says."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time

import pytest
import tactus
from conftest import REPOSITORY, eventually, kill_group, require_program

ARM = """title = "Live test: an arm that holds itself up beside a block"
step_s = 0.001

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[body]]
name = "block"
position_m = [2, 0, 0.1]
mass_kg = 1
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]

[[robot]]
name = "arm"
urdf = "{urdf}"
joint_positions = {{ shoulder_2 = 0.4, elbow = 1.2, wrist_2 = 0.6 }}
drive = [{drives}]
"""
JOINTS = {"shoulder_1": 0, "shoulder_2": 0.4, "shoulder_3": 0, "elbow": 1.2, "wrist_1": 0, "wrist_2": 0.6, "wrist_3": 0}


def arm_scene():
    drives = ", ".join(f'{{joint = "{name}", kind = "position", target_rad = {at}, bandwidth_rad_per_s = 30}}' for name, at in JOINTS.items())
    return ARM.format(urdf=REPOSITORY / "config" / "robots" / "arm7.urdf", drives=drives)


@pytest.fixture
def server(make_server):
    return make_server(scene=arm_scene()).start()


@pytest.fixture
def driver(server):
    """Holds the world and answers each state with a push, as a commander: there is a holder to name, and a link to judge."""
    with server.connect(name="driver") as client:
        client.claim("world")
        done = threading.Event()
        loop = threading.Thread(target=client.control, args=(["block"], lambda state: tactus.STOP if done.is_set() else {"block": tactus.Wrench(force=(0.01, 0, 0))}))
        loop.start()
        assert eventually(lambda: any(c.quality.cycles > 200 for c in client.statistics().clients), timeout_s=30)
        yield client
        done.set()
        loop.join()


def command_of(server, *flags):
    return [str(require_program("tactus")), "watch", "--host", f"127.0.0.1:{server.port}", *flags]


def on_terminal(command, columns=200, rows=60, timeout_s=60):
    """All that a program writes to a pseudo-terminal of this size, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    out, end = b"", time.monotonic() + timeout_s
    try:
        while time.monotonic() < end:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            out += chunk
        return out.decode(errors="replace"), process.wait(timeout=10)
    finally:
        kill_group(process)
        os.close(ours)


def screens(text):
    """What stood on the terminal after each redraw: lines, by the cursor movements that the program uses."""
    lines, row, seen = [""], 0, []
    for number, kind, plain in re.findall(r"\x1b\[(\??\d*)([A-Za-z])|([^\x1b]+)", text):
        if kind == "A":
            seen.append(list(lines))
            row -= int(number)
            assert row >= 0, "the block is drawn above its own beginning"
        elif kind == "J":
            del lines[row + 1 :]
            lines[row] = ""
        for i, part in enumerate(plain.replace("\r", "").split("\n")) if plain else ():
            if i > 0:
                row += 1
            while len(lines) <= row:
                lines.append("")
            if part:
                lines[row] = part
    return [*seen, lines]


def the(lines, name):
    found = [line for line in lines if line.startswith(name)]
    assert len(found) == 1, f"{name}: {found} of {lines}"
    return found[0]


def bar_of(line):
    """The bar's share of its full length."""
    inside = re.search(r"\[([#.]{30})\]", line)
    assert inside, line
    assert "#" not in inside[1].lstrip("#"), line
    return inside[1].count("#") / 30


def test_the_terminal_shows_the_essentials_with_live_bars(server, driver):
    text, code = on_terminal(command_of(server, "--seconds", "4"))
    assert code == 0, text
    shown = screens(text)
    assert len(shown) > 15  # ten a second
    lines = shown[-1]
    assert len(lines) < 40, lines  # one block, not one below the other
    head = lines[0]
    assert f"model {driver.statistics().model}" in head and "world held by driver" in head, head
    assert "simulated" in the(lines, "tick ")
    assert any(state in the(lines, "tick ") for state in ("running", "late tick"))  # the last tick may have been late
    ticks = [int(re.search(r"^tick (\d+)", the(s, "tick "))[1]) for s in shown[1:]]
    assert ticks == sorted(ticks) and ticks[-1] > ticks[0] + 1000
    assert bar_of(the(lines, "real time")) > 0.5 and re.search(r"\d\.\d+ times", the(lines, "real time"))
    for name in ("work", "wake late"):
        p50, p99 = map(float, re.search(r"p50 (\d+), p99 (\d+) of the last second", the(lines, name)).groups())
        assert 0 <= p50 <= p99 and " us (worst " in the(lines, name)
    assert float(re.search(r"p99 (\d+)", the(lines, "work"))[1]) > 0
    assert bar_of(the(lines, "contacts")) == 1 and re.search(r"\] +4 \(0 dropped", the(lines, "contacts"))  # the block's four corners
    assert re.search(r"\] +[\d.e+-]+ mm", the(lines, "deepest")) and re.search(r"\] +[\d.e+-]+ J", the(lines, "energy"))
    assert bar_of(the(lines, "link")) > 0.5 and "last 100 states" in the(lines, "link")
    assert re.search(r"\] +[\d.]+ % good of the last 100 of driver: \w+", the(lines, "cycles")), the(lines, "cycles")
    assert "body/block/wrench by driver" in the(lines, "leases")


def torques_of(lines):
    found = [re.search(r"\] +(-?[\d.e+-]+) N m \(worst ([\d.e+-]+)\) (arm/\w+)", line) for line in lines if line.startswith("torque")]
    assert all(found), lines
    return {m[3]: (float(m[1]), float(m[2])) for m in found}


def test_the_terminal_shows_the_torques_that_the_state_has(server, driver):
    stream = driver.subscribe(joints=["arm"])
    lines = screens(on_terminal(command_of(server, "--seconds", "2"))[0])[-1]
    state = stream.newest().robot("arm")
    torques = torques_of(lines)
    assert list(torques) == [f"arm/{name}" for name in JOINTS]
    description = driver.scene.robots["arm"]
    for i, name in enumerate(JOINTS):  # the arm stands: each drive holds what it held a moment ago
        effort, worst = torques[f"arm/{name}"]
        assert effort == pytest.approx(state.effort[i], rel=0.02, abs=0.02) and worst >= abs(effort) * 0.999
        line = next(line for line in lines if line.endswith(f"arm/{name}"))
        assert bar_of(line) == pytest.approx(abs(effort) / description.joint(name).description.effort_limit, abs=0.5 / 30 + 1e-3)
    assert max(abs(e) for e, _ in torques.values()) > 5  # it holds itself up


def test_a_narrow_terminal_is_not_overrun(server, driver):
    shown = screens(on_terminal(command_of(server, "--seconds", "2"), columns=60)[0])
    assert len(shown[-1]) < 40


def test_json_lines_have_the_essentials(server, driver, run_program):
    stream = driver.subscribe(joints=["arm"])
    done = run_program(*command_of(server, "--seconds", "3.5", "--json"), timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) >= 2
    row = rows[-1]
    assert row["model"] == driver.statistics().model and row["real_time_factor"] > 0.5 and row["status"]
    assert row["contacts"] == 4 and row["penetration_max_m"] >= 0 and row["kinetic_energy_j"] >= 0
    for key in ("work_us", "wake_late_us"):
        assert 0 <= row[key]["p50"] <= row[key]["p99"] and row[f"{key}_max"] >= 0
    assert {(e["channel"], e["client"]) for e in row["leases"]} == {("world", "driver"), ("body/block/wrench", "driver")}
    assert row["received_rate"] > 0 and row["link"]
    assert [c["name"] for c in row["commanders"]] == ["driver"] and 0 <= row["commanders"][0]["success_rate"] <= 1 and row["commanders"][0]["explanation"]
    state = stream.newest().robot("arm")
    assert [j["name"] for j in row["joints"]] == [f"arm/{name}" for name in JOINTS]
    for i, joint in enumerate(row["joints"]):
        assert joint["effort"] == pytest.approx(state.effort[i], rel=0.02, abs=0.02)
        assert joint["effort_abs_max"] >= abs(joint["effort"])


def test_in_a_pipe_it_is_a_line_a_second_without_escapes(server, driver, run_program):
    done = run_program(*command_of(server, "--seconds", "2.5"), timeout=60)
    assert done.returncode == 0 and "\x1b" not in done.stdout
    ticks = [line for line in done.stdout.splitlines() if line.startswith("tick ")]
    assert len(ticks) == 2 and all("energy" in line and "model" in line for line in ticks)
    assert "arm/elbow" in done.stdout


def test_a_scene_without_robots_says_so(make_server):
    server = make_server().start()
    lines = screens(on_terminal(command_of(server, "--seconds", "1.5"))[0])[-1]
    assert "no robots" in the(lines, "torque") and "no body is driven" in the(lines, "leases")
