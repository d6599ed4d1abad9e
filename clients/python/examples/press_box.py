#!/usr/bin/env python3
"""Impedance control: the arm's tip is a spring and a damper whose rest is moved into a box; lockstep. Scene: arm_press.

    PYTHONPATH=clients/python clients/python/examples/press_box.py [--host HOST[:PORT]]
"""
import argparse
import sys

from planar_arm import gravity

import tactus

STIFFNESS, DAMPING = 1000.0, 40.0  # N/m, N s/m


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    options = parser.parse_args()
    with tactus.connect(options.host) as c:
        c.subscribe(joints=["arm"], sensors=["arm"], end_effectors=["arm/tip"], jacobian=True)
        with c.lockstep() as lockstep, c.claim("joint/arm/*"):
            state = lockstep.step()
            x_d, _, z_d = state.robot("arm").end_effector("tip").p_WE
            for tick in range(4000):
                arm = state.robot("arm")
                E = arm.end_effector("tip")
                rest = (x_d, 0.0, z_d - min(0.05e-3 * tick, 0.1))  # down to 20 mm below the box's top, then wait
                F = [STIFFNESS * (r - p) - DAMPING * v for r, p, v in zip(rest, E.p_WE, E.v_WE)]
                J = arm.jacobian("tip")
                tau = [g + sum(J[k][i] * F[k] for k in (0, 2)) for i, g in enumerate(gravity(arm.q))]
                c.command_robot("arm", effort=tau)
                state = lockstep.step()
            pushed, felt = -F[2], state.robot("arm").sensor("touch")[2]
    print(f"the spring pushes with {pushed:.2f} N, the box answers with {felt:.2f} N")
    sys.exit(int(not (felt > 5 and abs(pushed - felt) < 0.02 * felt)))


if __name__ == "__main__":
    main()
