"""The command-line tool against a live server: its JSON is what people script with."""
import json

import pytest
from conftest import require_program


@pytest.fixture
def tool(server, run_program):
    path = require_program("tactus")

    def run(*arguments, code=0):
        done = run_program(path, *arguments, "--json", "--host", f"127.0.0.1:{server.port}")
        assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
        return done

    return run


def objects(done):
    """The JSON objects that a command printed, one a line or one in all."""
    try:
        return [json.loads(done.stdout)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def test_status_and_scenes(tool):
    assert "live" in json.dumps(objects(tool("status")))
    assert "default" in json.dumps(objects(tool("scenes")))


def test_push_moves_the_body(tool, client):
    before = client.read()["block"].p_WB[0]
    tool("push", "block", "--force", "20,0,0", "--for-s", "0.5")
    client.default_subscription().skip()
    assert client.read()["block"].p_WB[0] > before + 0.01


def test_a_push_that_is_refused_is_no_success(tool):
    tool("push", "block", "--force", "1e7,0,0", "--for-s", "0.1", code=1)
    tool("push", "block", "--force", "1,0,0", "--for-s", "nan", code=2)


def test_model_switches_while_the_world_runs(tool):
    for name, rate_hz in (("st", 100), ("penalty", 0)):
        (said,) = objects(tool("model", name))
        assert said["model"] == name and said["rate_hz"] == rate_hz
    assert objects(tool("model"))[0]["model"] == "penalty"
    tool("model", "no-such", code=1)
    tool("model", "--set", "friction_directions=7", code=1)
    tool("model", "peg", "--set", "peg.form=printed")


def test_mistakes_have_exit_codes(server, run_program):
    path = require_program("tactus")
    host = f"127.0.0.1:{server.port}"
    assert run_program(path, "push", "nobody", "--force", "1,0,0", "--json", "--host", host).returncode == 1
    assert run_program(path, "no-such-command").returncode == 2
    server.kill()
    assert run_program(path, "status", "--json", "--host", host).returncode == 1
