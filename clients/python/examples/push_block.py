#!/usr/bin/env python3
"""Pushes a body along x for half a second with a gentle force, and says what became of every command.

    PYTHONPATH=clients/python clients/python/examples/push_block.py [BODY] [--host HOST[:PORT]] [--token-file F] [--accel M_PER_S2]
"""
import argparse

import tactus


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("body", nargs="?", help="name of a free body (default: the first one)")
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    parser.add_argument("--token-file", metavar="F")
    parser.add_argument("--accel", type=float, default=10.0, metavar="M_PER_S2", help="force per mass (default: 10 m/s^2)")
    options = parser.parse_args()
    with tactus.connect(options.host, token_file=options.token_file) as c:
        name = options.body or next(body.name for body in c.scene if body.mode == "free")
        body = c.scene[name]
        push = tactus.Wrench(force=(options.accel * body.mass_kg, 0, 0))
        before = c.read()[name]
        report = c.control([name], lambda state: {name: push}, duration_s=0.5)
        after = c.latest()[name]
    print(f"{name}: x from {before.p_WB[0]:.4f} m to {after.p_WB[0]:.4f} m, now {after.v_WB[0]:.3f} m/s")
    print(f"{report.commands} commands: {report.verdicts}; {report.skipped} states overtaken")


if __name__ == "__main__":
    main()
