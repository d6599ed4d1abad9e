#!/usr/bin/env python3
"""A CI job in lockstep: runs a controller twice for the same ticks and fails unless both runs end in the same bits.

    PYTHONPATH=clients/python clients/python/examples/lockstep_ci.py [BODY] [--host HOST[:PORT]] [--ticks N]
"""
import argparse
import sys

import tactus


def run(client, lockstep, name, ticks):
    """From the scene's start: a spring and a damper hold the body where it began. Returns the tick and the state's hash."""
    client.reset()
    mass = client.scene[name].mass_kg
    state = lockstep.step()
    p_WB_start = state[name].p_WB
    for _ in range(ticks):
        body = state[name]
        force = [mass * (-100 * (p - p0) - 20 * v) for p, p0, v in zip(body.p_WB, p_WB_start, body.v_WB)]
        client.push(name, force=force)
        state = lockstep.step()
    return state.tick, lockstep.state_hash()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("body", nargs="?", help="name of a free body (default: the first one)")
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]")
    parser.add_argument("--token-file", metavar="F")
    parser.add_argument("--ticks", type=int, default=500, metavar="N")
    options = parser.parse_args()
    with tactus.connect(options.host, token_file=options.token_file) as c, c.lockstep() as lockstep:
        name = options.body or next(body.name for body in c.scene if body.mode == "free")
        first, second = (run(c, lockstep, name, options.ticks) for _ in range(2))
    for tick, state_hash in (first, second):
        print(f"tick {tick}: state_hash {state_hash:016x}")
    if first != second:
        sys.exit("the runs differ")


if __name__ == "__main__":
    main()
