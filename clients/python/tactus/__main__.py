"""python3 -m tactus: a short help, and the status of a server."""
import argparse
import json
import sys

from . import TactusError, connect

HELP = """Python client of Tactus, a 1 kHz rigid-contact server.

  import tactus
  with tactus.connect("127.0.0.1") as c:
      print(c.scene, c.latest())
      c.control(["block"], lambda state: {"block": tactus.Wrench(force=(1, 0, 0))}, duration_s=1)
"""


def status(client) -> dict:
    """What a person wants to know first, as plain values."""
    s = client.statistics()
    client.connection.barrier(0.5)  # so that there is a round trip to report
    return {
        "server": client.address, "build": s.build or client.server_build, "role": client.role, "scene": s.scene, "model": s.model,
        "scene_epoch": s.scene_epoch, "tick": s.tick, "sim_time_s": s.sim_time_s, "rate_hz": s.rate_hz,
        "real_time_factor": s.real_time_factor, "ticks_missed": s.ticks_missed, "paused": s.paused, "lockstep": s.lockstep,
        "bodies": sorted(client.scene.bodies), "clients": [c.name for c in s.clients], "round_trip_s": client.round_trip_s,
    }  # fmt: skip


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tactus", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST[:PORT]", help="server (default: 127.0.0.1:17800)")
    parser.add_argument("--token-file", metavar="F", help="the file that tactusd was given by --token-file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if not options.json:
        print(HELP)
    try:
        with connect(options.host, token_file=options.token_file, reconnect=False) as client:
            found = status(client)
    except (TactusError, OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}) if options.json else f"error: {error}", file=sys.stdout if options.json else sys.stderr)
        return 1
    print(json.dumps(found) if options.json else "\n".join(f"{key:17} {value}" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
