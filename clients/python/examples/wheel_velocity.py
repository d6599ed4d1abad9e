#!/usr/bin/env python3
"""Wheel velocities: the mobile robot drives straight on, then turns on the spot. Scene: mobile_robot.

    PYTHONPATH=clients/python clients/python/examples/wheel_velocity.py [--host HOST[:PORT]]
"""
import argparse
import sys

import tactus

RADIUS_M = 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    options = parser.parse_args()
    with tactus.connect(options.host) as c:
        robot = c.scene.robots["mobile"]
        left = [j.name for j in robot.joints].index("mobile/left_wheel_joint")
        seen = []

        def drive(forwards, turn):
            rates = [forwards + turn] * len(robot.joints)
            rates[left] = forwards - turn

            def loop(now, state):
                body = state["mobile/base"]
                seen.append((body.p_WB, RADIUS_M * sum(now.q) / 2, body.w_WB[2]))
                return tactus.RobotCommand(velocity=rates)

            report = c.control_robot("mobile", loop, duration_s=1, bodies=["mobile/base"])
            return report

        drive(6, 0)
        first = seen[-1]
        drive(6, 0)
        last = seen[-1]
        drive(0, 3)
    way = sum((a - b) ** 2 for a, b in zip(last[0][:2], first[0][:2])) ** 0.5
    off, turned = way - (last[1] - first[1]), seen[-1][2]
    print(f"odometry is off by {1e3 * off:.1f} mm on {way:.2f} m; the robot turns at {turned:.2f} rad/s")
    sys.exit(int(not (abs(off) < 0.03 and turned > 0.5)))


if __name__ == "__main__":
    main()
