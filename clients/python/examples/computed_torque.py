#!/usr/bin/env python3
"""Computed torque: the planar arm follows sines with both joints, in lockstep; the error that is left is printed. Scene: planar_arm.

    PYTHONPATH=clients/python clients/python/examples/computed_torque.py [--host HOST[:PORT]] [--free-run]
"""
import argparse
import sys
from math import cos, sin

from planar_arm import inverse_dynamics

import tactus

W, AMPLITUDE = 4.0, (0.3, -0.4)


class Tracker:
    """Called with each state; remembers where it began and the worst error after a second."""

    def __init__(self):
        self.start, self.start_s, self.worst = None, 0.0, 0.0

    def __call__(self, arm, state):
        if self.start is None:
            self.start, self.start_s = [float(x) for x in arm.q], state.sim_time_s
        t = state.sim_time_s - self.start_s
        a = []
        for i, A in enumerate(AMPLITUDE):
            q_d, dq_d = self.start[i] + A * (1 - cos(W * t)), A * W * sin(W * t)
            a.append(A * W * W * cos(W * t) + 400 * (q_d - arm.q[i]) + 40 * (dq_d - arm.dq[i]))
            if t > 1:
                self.worst = max(self.worst, abs(q_d - arm.q[i]))
        return inverse_dynamics(arm.q, arm.dq, a)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    parser.add_argument("--free-run", action="store_true", help="in real time instead of lockstep")
    options = parser.parse_args()
    tracker = Tracker()
    with tactus.connect(options.host) as c:
        if options.free_run:
            report = c.control_robot("arm", tracker, duration_s=3)
            print(f"{report.commands} commands: {report.verdicts}")
        else:
            c.subscribe(joints=["arm"])
            with c.lockstep() as lockstep, c.claim("joint/arm/*"):
                state = lockstep.step()
                for _ in range(3000):
                    c.command_robot("arm", effort=tracker(state.robot("arm"), state))
                    state = lockstep.step()
    print(f"worst error {tracker.worst:.2e} rad")
    sys.exit(int(tracker.worst > (0.1 if options.free_run else 2e-3)))


if __name__ == "__main__":
    main()
