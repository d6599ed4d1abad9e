"""How the server starts, refuses to start, and stops; and who gets in with a token."""
import socket
import time

import pytest
from conftest import REPOSITORY, SCENE, assert_still_ticking

import tactus


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("a live test's token, not a secret\n")
    path.chmod(0o600)
    return path


def test_listening_beyond_loopback_needs_a_token(make_server):
    code, text = make_server("--listen", "0.0.0.0").run_to_end()
    assert code not in (0, None) and code > 0
    assert "token" in text and "--token-file" in text


def test_with_a_token_it_may_listen_anywhere(make_server, token_file):
    server = make_server("--listen", "0.0.0.0", "--token-file", token_file).start()
    with server.connect(token_file=token_file) as client:
        assert client.role == "control"
        assert client.push("block", force=(1, 0, 0)).verdict().applied


def test_tokens_right_wrong_missing(make_server, token_file, tmp_path):
    server = make_server("--token-file", token_file).start()
    with server.connect(token_file=token_file, name="first") as client:
        client.read()
        with pytest.raises(tactus.AuthenticationError):
            server.connect(token="wrong")
        with pytest.raises(tactus.AuthenticationError, match="token_file="):
            server.connect()
        assert_still_ticking(client)
        lease = client.claim("block")
        with server.connect(token_file=token_file, name="second") as second:
            with pytest.raises(tactus.LeasedByOther):
                second.claim("block")
            second.claim("block", take_over=True)
            assert client.wait_event("LEASE_LOST").text == "body/block/wrench"
            assert not lease.held and second.push("block", force=(1, 0, 0)).verdict().applied
    empty = tmp_path / "empty"
    empty.write_text("\n")
    code, text = make_server("--token-file", empty).run_to_end()
    assert code > 0 and "token" in text
    code, text = make_server("--token-file", tmp_path / "missing").run_to_end()
    assert code > 0 and "missing" in text


@pytest.mark.parametrize("flag, kind", [("port", socket.SOCK_STREAM), ("realtime_port", socket.SOCK_DGRAM)])
def test_a_port_in_use(make_server, flag, kind):
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            taken.listen()
        server = make_server()
        setattr(server, flag, taken.getsockname()[1])
        code, text = server.run_to_end()
    assert code > 0
    assert str(getattr(server, flag)) in text and "in use" in text, text


def test_sigterm_stops_cleanly(server, client):
    client.read()
    assert server.terminate() == 0, server.log()
    assert client.wait_event("SERVER_STOPPING", "LINK_LOST").kind == "SERVER_STOPPING"
    assert client.wait_event("LINK_LOST")


@pytest.mark.parametrize("model", ["lcp", "st", "ap", "lnc", "peg"])
def test_sigterm_does_not_wait_long_for_a_slow_solve(make_server, model):
    """A solver's step under way is waited for, and bounded: in the middle of falling dominoes, where steps are longest."""
    dominoes = (REPOSITORY / "config" / "scenes" / "dominoes.toml").read_text()
    server = make_server("--model", model, scene=dominoes).start()
    with server.connect() as client:
        stream = client.subscribe(["domino_0"])
        client.push("domino_0", force=(1, 0, 0), at=(-0.01, 0, 0.08), deadline_s=0.15)
        start = stream.read().tick
        while stream.read().tick < start + 1400:
            pass
        begun = time.monotonic()
        assert server.terminate() == 0, server.log()
        took_s = time.monotonic() - begun
    print(f"{model}: stopped after {took_s:.3f} s")
    assert took_s < 3  # 0.1 to 0.3 s; with room for a machine that others load


def test_duration_ends_the_server(make_server):
    server = make_server()
    server.duration_s = 0.5
    code, text = server.run_to_end()
    assert code == 0, text


@pytest.mark.parametrize(
    "found, made, named",
    [
        ("mass_kg = 1", "mass_kg = 0", "mass_kg"),
        ("mass_kg = 1", "mas_kg = 1", "mas_kg"),
        ('kind = "box"', 'kind = "bix"', "kind"),
        ("step_s = 0.001", 'step_s = "fast"', "step_s"),
        ("size_m = [0.2, 0.2, 0.2]", "size_m = [0.2, nan, 0.2]", "size_m"),
        ("[[body]]", "[[body", "live.toml"),
    ],
)
def test_a_bad_scene_at_start(make_server, found, made, named):
    code, text = make_server(scene=SCENE.replace(found, made, 1)).run_to_end()
    line = SCENE[: SCENE.index(found)].count("\n") + 1
    assert code > 0
    assert f"live.toml:{line}" in text and named in text, text


def test_bad_flags(make_server):
    for flags in (["--rate-hz", "-1"], ["--rate-hz", "nan"], ["--speed", "2"], ["--play", "a.mcap", "--replay", "a.mcap"], ["--model", "magic"], ["--no-such-flag"], ["--control-port", "99999"], ["--scene", "no_such_scene"]):
        code, text = make_server(*flags).run_to_end()
        assert code > 0 and text.strip(), flags


def test_another_rate_and_model(make_server):
    server = make_server("--rate-hz", "500", "--model", "deepest").start()
    with server.connect() as client:
        assert client.scene.step_s == pytest.approx(0.002) and client.scene.model == "deepest"
        states = list(client.states(0.6))
        first, last = states[0], states[-1]
        points = last.tick - first.tick + last.ticks_missed - first.ticks_missed
        assert 490 < points / ((last.tick_start_ns - first.tick_start_ns) / 1e9) < 510
