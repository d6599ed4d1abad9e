#!/usr/bin/env python3
"""Balance: state feedback holds a pole upright by forces on its cart, in lockstep. Scene: cart_pole.

    PYTHONPATH=clients/python clients/python/examples/balance.py [--host HOST[:PORT]]
"""
import argparse
import sys

import tactus

GAINS = (7.492, 45.420, 8.010, 8.095)  # poles at -3, -3.5, -4, -5 1/s


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    options = parser.parse_args()
    tilt = drift = 0.0
    with tactus.connect(options.host) as c:
        c.subscribe(joints=["cart_pole"])
        with c.lockstep() as lockstep, c.claim("joint/cart_pole/rail"):
            c.reset()
            state = lockstep.step()
            for tick in range(4000):
                (x, angle), (dx, rate) = state.robot("cart_pole").q, state.robot("cart_pole").dq
                force = sum(k * s for k, s in zip(GAINS, (x, angle, dx, rate)))
                c.command(joints={"cart_pole/rail": tactus.Effort(force)})
                state = lockstep.step()
                if tick > 3000:
                    tilt, drift = max(tilt, abs(angle)), max(drift, abs(x))
    print(f"after 3 s: at most {tilt:.4f} rad and {drift:.4f} m off")
    sys.exit(int(not (0 < tilt < 0.01 and drift < 0.05)))


if __name__ == "__main__":
    main()
