"""Why did my cycle miss, with processes: one fault at a time, named right for a C++ and a Python control loop (tests/support/link_causes.py; many
seeded runs: tests/soak/link_causes)."""
import sys

import pytest

from conftest import REPOSITORY, require_program

sys.path[:0] = [str(REPOSITORY / "tests" / "support")]
from link_causes import CASES, LANGUAGES, SLEEPER_LATE, one_run, start_server  # noqa: E402

TRIES = 3


@pytest.fixture(scope="module")
def served():
    require_program("tactusd")
    require_program("tactus_link_controller")
    server, port = start_server(REPOSITORY / "config" / "scenes" / "default.toml")
    yield server, port
    server.kill()
    server.wait()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_the_injected_cause_is_named(served, name, language):
    """A run beside which a bare sleeper is late says nothing: the machine itself is slow."""
    server, port = served
    case, told = CASES[name], []
    for seed in range(TRIES):
        cause, text, own, late = one_run(server, port, language, case, seed)
        if late > SLEEPER_LATE:
            continue
        if cause == case.right and own in (None, case.right):
            return
        told.append(f"{cause} (own meter: {own}): {text}")
    if not told:
        pytest.skip("a bare sleeper beside each run was late: the machine is too busy to judge")
    pytest.fail(f"right is {case.right}, named was\n" + "\n".join(told))
