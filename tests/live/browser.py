"""A headless Chromium that looks at the viewer: clients/web/tests/browser.mjs driven by lines of JSON. Skips aloud where something is missing."""
import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading
import zlib

import pytest

WEB = pathlib.Path(__file__).resolve().parents[2] / "clients" / "web"
ANSWER_S = 150  # software graphics on a busy machine


def require_browser():
    """Path of Chromium; the viewer is built afterwards."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here (Debian: chromium)")
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no Node.js or npm here (Debian: nodejs npm)")
    built = subprocess.run([WEB / "build", "--dev"], capture_output=True, text=True, timeout=400)
    if built.returncode in (3, 4):
        pytest.skip(f"the viewer cannot be built here: {built.stderr.strip()}")
    assert built.returncode == 0, built.stderr
    return chromium


def go_first():
    """Before those who compile beside, where we may (after the tick, whose priority is higher): what is judged is the viewer, not how busy
    the machine is. Not by niceness, which Chromium sets itself."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def is_below(pid, root):
    while pid > 1 and pid != root:
        pid = parent_of(pid)
    return pid == root


def share_graphics(root):
    """Only the process that draws in software, and could fill all processors, takes its turn like others, with more weight."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=gpu-process" not in (folder / "cmdline").read_bytes() or not is_below(int(folder.name), root):
                continue
            for task in (folder / "task").glob("*"):
                os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, int(task.name), -10)
        except OSError:
            pass


# Of the viewers that are opened: "page" is the page's own thread, else a worker where the browser can.
HOME = os.environ.get("TACTUS_VIEWER_HOME", "")
READY = "s.phase === 'open' && s.states > 20 && s.pictures > 2"


class Browser:
    def __init__(self):
        chromium = require_browser()
        self.process = subprocess.Popen(["node", WEB / "tests" / "browser.mjs", chromium], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True, preexec_fn=go_first)  # fmt: skip
        self.lines = queue.Queue()
        self.next_id = 1
        threading.Thread(target=lambda: [self.lines.put(line) for line in self.process.stdout] + [self.lines.put("")], daemon=True).start()

    def do(self, page, op, **values):
        self.next_id += 1
        self.process.stdin.write(json.dumps({"id": self.next_id, "page": page, "op": op, **values}) + "\n")
        self.process.stdin.flush()
        line = self.lines.get(timeout=ANSWER_S)
        assert line, "the browser is gone"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=20)
        except (subprocess.TimeoutExpired, OSError):
            self.process.kill()


class Page:
    """One open viewer."""

    def __init__(self, browser, name, server, query="", host="127.0.0.1", **options):
        self.browser, self.name = browser, name
        share_graphics(browser.process.pid)
        if HOME:
            query += f"{'&' if query else '?'}home={HOME}"
        self.do("open", url=f"http://{host}:{server.web_port}/{query}", **{"width": 760, "height": 480, **options})

    def do(self, op, **values):
        return self.browser.do(self.name, op, **values)

    def summary(self):
        return self.do("evaluate", script="tactus.summary()")

    def wait(self, condition, timeout_s=120):
        """Until a condition on `s`, the summary, holds in the page."""
        return self.do("wait", script=f"(async () => {{ const s = await tactus.summary(); return {condition}; }})()", timeout_ms=1000 * timeout_s)

    def home(self, script):
        """What `script` returns where the viewer's home is: its worker, or the page. `tactusHome` is what the home knows."""
        return self.do("home", script=f"(() => {{ {script} }})()")

    def where(self, body):
        return self.do("evaluate", script=f"tactus.whereIs({json.dumps(body)})")

    def on_page(self, body):
        """Where the body's origin is in the window [CSS pixels]."""
        offset = self.do("evaluate", script="(() => { const b = document.getElementById('view').getBoundingClientRect(); return [b.left, b.top]; })()")
        at = self.where(body)
        return at["x"] + offset[0], at["y"] + offset[1]

    def shot(self, path):
        self.do("shot", path=str(path))
        return Picture(path)


class Picture:
    """A PNG of 8-bit RGB or RGBA, as browsers write them."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
            body = data[at + 8 : at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"), body[8], body[9]
                assert depth == 8 and colour in (2, 6)
                self.channels = 3 if colour == 2 else 4
            packed += body if kind == b"IDAT" else b""
            at += 12 + length
        self.rows = self._unfilter(zlib.decompress(packed))

    def _unfilter(self, raw):
        n, stride, rows, before = self.channels, self.channels * self.width, [], bytes(self.channels * self.width)
        for y in range(self.height):
            kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
            for i in range(stride if kind else 0):
                a, b, c = line[i - n] if i >= n else 0, before[i], before[i - n] if i >= n else 0
                line[i] = (line[i] + (a, b, (a + b) // 2, self._paeth(a, b, c))[kind - 1]) & 255
            rows.append(bytes(line))
            before = rows[-1]
        return rows

    @staticmethod
    def _paeth(a, b, c):
        p = a + b - c
        return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]

    def at(self, x, y):
        x, y = int(x), int(y)
        return tuple(self.rows[y][self.channels * x : self.channels * x + 3])

    def colours(self, x0, y0, x1, y1):
        return {self.at(x, y) for y in range(int(y0), int(y1), 3) for x in range(int(x0), int(x1), 3)}


def open_pages(browser, name, server, expected=(), **options):
    """Yields a page that shows the server's world, and closes it: its console may have said what is expected, and nothing else."""
    opened = Page(browser, name, server, **options)
    opened.wait(READY)
    yield opened
    problems = [text for text in opened.do("said") if not any(e in text for e in expected)]
    opened.do("close")
    assert not problems
