"""Two devices in one scene through the whole loop: each feels its tool; one that vanishes takes its force with it and leaves the other alone;
a tool is one device's; a robot's link is a tool like any other."""
import json
import math
import subprocess

import pytest
import tactus
from conftest import REPOSITORY, eventually, kill_group, require_program

PATIENT = ["--watchdog", "0.2"]  # the machine may be busy
ENGAGED, RAMP_OUT = 1, 4
ARM = (REPOSITORY / "config" / "scenes" / "arm7.toml").read_text().replace("../robots", str(REPOSITORY / "config" / "robots"))


def haptic(server, tool, *flags, seconds="3", depth="0.01"):
    command = [require_program("tactus-haptic"), "--port", str(server.port), "--tool", tool, "--seconds", seconds, "--depth", depth, "--json", *PATIENT, *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def newest(client):
    """Newest packet of each tool, by body."""
    return {packet.body_id: packet for packet in client.tools().values()}


def pushes(packet):
    return math.hypot(*packet.wrench[:3])


def both_press(server, client, ids):
    """Two devices that press; None when the machine let one of them go."""
    devices = {tool: haptic(server, tool, "--mode", "direct", seconds="9") for tool in ids}
    pressing = eventually(lambda: len(newest(client)) == 2 and all(pushes(p) > 0.5 for p in newest(client).values()), 8)
    if pressing:
        return devices
    for device in devices.values():
        kill_group(device)
    return None


def test_one_device_vanishes_and_its_force_ramps_to_zero_while_the_other_goes_on(server, client):
    ids = {name: client.scene.bodies[name].id for name in ("ball", "block")}
    client.subscribe(["ball", "block"], tools=True)
    for _attempt in range(4):
        devices = both_press(server, client, ids)
        if devices is None:
            continue
        seen = {body: {} for body in ids.values()}
        grips = {body: packet.grip for body, packet in newest(client).items()}
        kill_group(devices["ball"])  # no good-bye

        def gone(seen=seen):
            for body, packet in newest(client).items():
                seen[body][packet.tick] = packet
            return seen[ids["ball"]] and max(seen[ids["ball"]].items())[1].bits & (ENGAGED | RAMP_OUT) == 0

        silent = eventually(gone, 5)
        out, err = devices["block"].communicate(timeout=60)
        if silent and devices["block"].returncode == 0:
            break
    assert silent, "the tool of the device that vanished is held for ever"
    of_ball = [packet for _, packet in sorted(seen[ids["ball"]].items())]
    assert pushes(of_ball[-1]) == 0  # its connection fell, or the watchdog was faster: either way let go
    ramp = [pushes(packet) for packet in of_ball if packet.bits & RAMP_OUT]
    assert all(later <= earlier + 0.05 for earlier, later in zip(ramp, ramp[1:])), ramp  # it only shrinks
    of_block = list(seen[ids["block"]].values())
    assert of_block and all(packet.bits & ENGAGED and packet.grip == grips[ids["block"]] for packet in of_block)
    assert all(pushes(packet) > 0.3 for packet in of_block)  # undisturbed: it presses on
    assert devices["block"].returncode == 0 and json.loads(out)["force_n"] > 0.5, err


def test_two_devices_on_one_tool_the_second_is_told_who_holds_it(server):
    first = haptic(server, "ball", seconds="6")
    try:
        with server.connect(name="looker") as client:
            client.subscribe(["ball"], tools=True)
            assert eventually(lambda: any(packet.bits & ENGAGED for packet in client.tools().values()), 8)
            grip = next(iter(client.tools().values())).grip
            second = haptic(server, "ball", seconds="1")
            _, err = second.communicate(timeout=30)
            assert second.returncode == 1 and "'tool/ball' is held by" in err, err
            assert next(iter(client.tools().values())).grip == grip
    finally:
        kill_group(first)


@pytest.fixture
def arm(make_server):
    scene = ARM + '\n[[body]]\nname = "belt"\nmode = "kinematic"\nposition_m = [3, 0, 0.5]\n[[body.shape]]\nkind = "sphere"\nradius_m = 0.1\n'
    return make_server(scene=scene).start()


def test_a_robots_link_is_held_by_name_and_pulled_against_its_drives(arm):
    for _attempt in range(4):
        device = haptic(arm, "arm/flange", depth="0.03")
        out, err = device.communicate(timeout=60)
        if device.returncode == 0:
            break
    assert device.returncode == 0, err
    felt = json.loads(out)
    assert "mode direct: the tool is a robot's link" in err or "mode wave: the tool is a robot's link" in err, err
    assert felt["force_n"] > 1 and felt["tool_force_n"] > 1  # its drives hold it
    assert felt["given_j"] <= felt["taken_j"] + 1e-3


@pytest.mark.parametrize("tool, reason", [("belt", "kinematic"), ("floor", "fixed"), ("arm/nothing", "nothing in scene")])
def test_what_can_be_no_tool_is_refused_with_its_reason(arm, tool, reason):
    with arm.connect() as client:
        with pytest.raises(tactus.TactusError, match=reason):
            client.claim(f"tool/{tool}")


def test_links_that_are_one_body_are_one_tool(arm):
    """The lease is the body's: another frame on it is no other tool."""
    with arm.connect(name="one") as one, arm.connect(name="two") as two:
        one.claim("tool/arm/flange")
        with pytest.raises(tactus.TactusError, match="held by"):
            two.claim("tool/arm/flange")
        two.claim("tool/arm/hand")
