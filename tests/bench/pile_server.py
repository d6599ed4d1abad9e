"""tactusd on the pile of n bodies, on free ports, for the benchmarks of viewers."""
import pathlib
import re
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PORTS = re.compile(r"tactusd: listening control=\S*:(\d+) realtime=\d+ web=(\d+)")


class PileServer:
    """A context: the server lives within it, and at most `most_s`. port (control) and web_port say where."""

    def __init__(self, bin_folder, n, most_s):
        self.command = [bin_folder / "tactusd", "--scene", REPOSITORY / "config" / "scenes" / "pile.toml", "--set", f"n={n}", "--control-port", 0,
                        "--realtime-port", 0, "--web-port", 0, "--duration-s", most_s]  # fmt: skip

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(a) for a in self.command], stdout=subprocess.PIPE, stderr=self.log, text=True)
        found = PORTS.match(self.process.stdout.readline())
        if not found:
            self.log.seek(0)
            raise SystemExit(f"tactusd did not start: {self.log.read()}")
        self.port, self.web_port = int(found[1]), int(found[2])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
