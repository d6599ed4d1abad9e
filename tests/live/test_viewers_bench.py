"""tests/bench/viewers judges its load, too: a run whose commands or states did not come says nothing of the beat, and fails."""
import importlib.machinery
import importlib.util
import json
import sys

from conftest import REPOSITORY, require_program

sys.path.insert(0, str(REPOSITORY / "tests" / "bench"))
loader = importlib.machinery.SourceFileLoader("viewers_bench", str(REPOSITORY / "tests" / "bench" / "viewers"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("viewers_bench", loader))
loader.exec_module(bench)

GOOD = {"commands_per_s": 990.0, "states_per_s": 58.0, "work_p50_ratio": 1.05, "work_p99_to_busy": 0.9, "misses": {"viewers": 10}, "misses_allowed": 12.0}


def test_a_run_under_its_load_is_judged_by_the_beat():
    assert bench.judge(GOOD) == (True, [])
    assert bench.judge({**GOOD, "work_p50_ratio": 1.11}) == (True, ["work p50"])
    assert bench.judge({**GOOD, "work_p99_to_busy": 1.01, "misses": {"viewers": 13}}) == (True, ["work p99", "misses"])


def test_a_run_whose_load_did_not_come_fails_however_good_the_beat():
    assert not bench.judge({**GOOD, "commands_per_s": 0.89 * 1000})[0]
    assert not bench.judge({**GOOD, "states_per_s": 0.89 * 1000 / 17})[0]


def test_a_short_run_against_a_server_reports_what_came(run_program):
    done = run_program(sys.executable, REPOSITORY / "tests" / "bench" / "viewers", "--rounds", "1", "--block-s", "2", "--n", "5", "--viewers", "2", "--json",
                       "--bin", require_program("tactusd").parent, timeout=120)  # fmt: skip
    assert done.returncode in (0, 1, 2), done.stderr
    result = json.loads(done.stdout)
    assert result["commands_per_s"] > 50 and result["states_per_s"] > 5
    assert (result["verdict"] == "the load did not come") == (done.returncode == 2)

