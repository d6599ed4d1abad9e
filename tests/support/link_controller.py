"""As support/probe/link_controller.cc, in Python: a control loop with faults of its own making, and the cause that the server names.
Usage: link_controller.py PORT KIND AMOUNT_MS EVERY_MS SECONDS; KIND: none, hang, busy, gc, pause, period."""
import gc
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import tactus  # noqa: E402

PORT, KIND, AMOUNT_S, EVERY_S, LENGTH_S = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]) / 1e3, float(sys.argv[4]) / 1e3, float(sys.argv[5])
GARBAGE = [[i, {}] for i in range(200_000 if KIND == "gc" else 0)]  # what the collector has to walk over


def waste():
    if KIND == "hang":
        time.sleep(AMOUNT_S)
    elif KIND == "busy":
        end = time.monotonic() + AMOUNT_S
        while time.monotonic() < end:
            pass
    elif KIND == "gc":
        end = time.monotonic() + AMOUNT_S
        while time.monotonic() < end:
            gc.collect()


def loop(client, body, length_s):
    begin = time.monotonic()
    next_at = begin + EVERY_S

    def callback(_):
        nonlocal next_at
        if time.monotonic() >= next_at:
            waste()
            next_at = time.monotonic() + EVERY_S
        return {body: tactus.Wrench(force=(0.1, 0, 0))}

    while time.monotonic() < begin + length_s:
        try:
            return client.control([body], callback, duration_s=begin + length_s - time.monotonic())
        except tactus.StoodStill:
            client.arm()  # as whoever sits before it would
        except tactus.LinkLost:
            return  # no state for a second: the sentence says why


def by_timer(client, body):
    client.subscribe()
    begin = next_at = time.monotonic()
    while next_at < begin + LENGTH_S:
        time.sleep(max(0.0, next_at - time.monotonic()))
        next_at += EVERY_S
        client.command({body: tactus.Wrench(force=(0.1, 0, 0))}, deadline_s=1.1 * EVERY_S, expected_tick=client.latest().tick)


def main():
    gc.disable()  # but where it is the cause
    with tactus.connect("127.0.0.1", PORT, name="controller") as client:
        body = next(b.name for b in client.scene.bodies.values() if b.mode == "free")
        print("ready", flush=True)
        with client.claim(body):
            if KIND == "period":
                by_timer(client, body)
            elif KIND == "pause":
                loop(client, body, LENGTH_S / 2)
                time.sleep(AMOUNT_S)
                loop(client, body, LENGTH_S / 2)
            else:
                loop(client, body, LENGTH_S)
        print(client.quality.cause, client.quality.explanation, sep="\t", flush=True)


main()
