"""Every robot of ../shared/robots in tactusd: the beat holds, its links are streamed, and they can be pushed like any body."""
import os
import pathlib
import statistics
import time

import pytest
from conftest import REPOSITORY, Server

ROBOTS = pathlib.Path(os.environ.get("TACTUS_ROBOTS", REPOSITORY.parent / "shared" / "robots"))
FILES = {
    "panda": "panda/robots/panda_description/urdf/panda.urdf",
    "panda_collision": "panda/robots/panda_description/urdf/panda_collision.urdf",
    "panda_moveit": "panda_moveit/urdf/panda.urdf",
    "turtlebot3": "turtlebot3_burger/urdf/turtlebot3_burger.urdf",
    "atlas": "atlas/atlas/atlas_convex_hull.urdf",
    "pr2": "pr2/urdf/robot.xml",
    "h1": "h1/urdf/h1.urdf",
    "ur5e": "ur5e/urdf/ur5e.urdf",
}
PERIOD_US = 1000
RUN_S = 2.0


@pytest.mark.parametrize("name", FILES)
def test_a_real_robot_holds_the_beat(tmp_path, name):
    if not ROBOTS.is_dir():
        pytest.skip(f"no robots: looked in {ROBOTS}; $TACTUS_ROBOTS names another folder")
    server = Server(tmp_path, "--set", "repairs=all")
    server.scene_file = ROBOTS / FILES[name]
    server.environment |= {"TACTUS_ROBOTS": str(ROBOTS)}
    server.start()
    try:
        with server.connect(name="watcher") as client:
            links = [b.name for b in client.scene.bodies.values() if b.mode == "link"]
            assert links
            stream = client.subscribe(links[:1], wrench=True)
            states = list(client.states(duration_s=RUN_S))
            first, last = states[0], states[-1]
            ticks = last.tick - first.tick
            # The median says what a beat costs; single late ones belong to the machine, and are counted as grid points left out.
            assert statistics.median(s.work_us for s in states) < PERIOD_US / 2
            grid_points = ticks + last.ticks_missed - first.ticks_missed
            assert 990 < grid_points / ((last.tick_start_ns - first.tick_start_ns) / 1e9) < 1010
            assert abs((last.sim_time_s - first.sim_time_s) - 0.001 * ticks) < 1e-6
            before = stream.newest()
            client.push(links[0], force=(0, 0, 50))
            time.sleep(0.05)
            after = stream.newest()
            assert after.tick > before.tick and abs(sum(q * q for q in after[links[0]].q_WB) - 1) < 1e-9
        assert server.terminate() == 0, server.log()
        assert "non-finite" not in server.log() and "frozen" not in server.log()
    finally:
        server.kill()
