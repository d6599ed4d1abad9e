"""clients/web/build where npm answers nothing, refuses, or takes long: how long a server waits for it, what is said, and what its page says."""
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest
from conftest import REPOSITORY, eventually
from websocket import get


@pytest.fixture
def tree(tmp_path):
    """What the build reads, without libraries and without what npm keeps from before."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no Node.js or npm here (Debian: nodejs npm)")
    root = tmp_path / "tree"
    shutil.copytree(REPOSITORY / "clients" / "web", root / "clients" / "web", ignore=shutil.ignore_patterns("node_modules", "generated", "*.png"))
    shutil.copytree(REPOSITORY / "proto", root / "proto")
    return root


@pytest.fixture
def silent():
    """A port that takes connections and says nothing; how many came."""
    door, kept = socket.create_server(("127.0.0.1", 0)), []

    def take():
        try:
            while True:
                kept.append(door.accept()[0])
        except OSError:
            pass

    threading.Thread(target=take, daemon=True).start()
    yield door.getsockname()[1], kept
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    for s in kept:
        s.close()


def build(tree, port, *flags, **environment):
    """(exit code, seconds, stdout, all that was said)"""
    own = {"HOME": str(tree), "npm_config_cache": str(tree / "cache"), "npm_config_registry": f"http://127.0.0.1:{port}/", "npm_config_userconfig": str(tree / "npmrc")}
    begin = time.monotonic()
    done = subprocess.run([tree / "clients" / "web" / "build", *flags], env={**os.environ, **own, **environment}, capture_output=True, text=True, timeout=200)
    return done.returncode, time.monotonic() - begin, done.stdout, done.stdout + done.stderr


def test_an_npm_that_never_answers_is_given_up_and_it_is_said(tree, silent):
    port, came = silent
    code, seconds, said, _ = build(tree, port, TACTUS_NPM_CONNECT_S="3")
    assert code == 4 and came and "npm is not reached within 3 s" in said and "clients/web/build" in said
    assert seconds < 60, seconds  # not npm's own minutes; the rest is npm's start on a busy machine
    assert not (tree / "build" / "viewer.building").exists()


def test_an_npm_that_refuses_is_given_up_too(tree):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    code, _, said, _ = build(tree, port, TACTUS_NPM_CONNECT_S="3")
    assert code == 4 and "npm is not reached" in said


def test_a_server_waits_as_long_as_it_says_and_its_page_says_that_the_build_goes_on(tree, silent, make_server, tmp_path):
    code, seconds, said, _ = build(tree, silent[0], "--wait", "1", TACTUS_NPM_CONNECT_S="20")
    assert code == 5 and seconds < 15 and "beside the server" in said
    (tmp_path / "server.toml").write_text(f'[web]\ndirectory = "{tree}/build/viewer"\n')
    server = make_server("--config", tmp_path / "server.toml").start()
    assert eventually(lambda: b"being built" in get(server.web_port, "/")[1] and b"http-equiv=refresh" in get(server.web_port, "/")[1], timeout_s=20)
    assert eventually(lambda: b"is not built" in get(server.web_port, "/")[1], timeout_s=90)  # given up
    assert "npm is not reached within 20 s" in (tree / "build" / "viewer.log").read_text()


def test_without_node_it_is_said_at_once(tree, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "env", "dirname", "readlink", "sed", "mkdir", "cat", "sleep", "touch", "rm"):
        (programs / name).symlink_to(shutil.which(name))
    code, _, said, all_said = build(tree, 1, "--wait", "20", PATH=str(programs))
    assert code == 3 and "found node none" in said + all_said
