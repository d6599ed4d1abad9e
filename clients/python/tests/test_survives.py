"""No refusal, stranger, lost reply, interruption or fork leaves a client that is of no use: each call raises the true reason, and an
ordinary push works after it."""
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tactus
from fake_server import FakeServer
from tactus.messages import ErrorCode, Reply

TOKEN = "correct horse battery staple"

# Every kind of request that user code can make, by the call that makes it.
CALLS = {
    "list_scenes": lambda c: c.scenes(),
    "load_scene": lambda c: c.load("other"),
    "reset": lambda c: c.reset(),
    "describe_scene": lambda c: c.refresh_scene(),
    "set_model": lambda c: c.set_model("deepest"),
    "set_shadow": lambda c: c.set_shadow("deepest"),
    "set_parameter": lambda c: c.set_parameter("a", 1),
    "pause": lambda c: c.pause(),
    "resume": lambda c: c.resume(),
    "step": lambda c: c.step(),
    "set_playback": lambda c: c.seek(1.0),
    "set_lockstep": lambda c: c.lockstep().__enter__(),
    "take_snapshot": lambda c: c.snapshot(),
    "restore_snapshot": lambda c: c.restore("here"),
    "get_statistics": lambda c: c.statistics(),
    "save_black_box": lambda c: c.save_black_box(),
    "start_recording": lambda c: c.start_recording(),
    "stop_recording": lambda c: c.stop_recording(),
    "set_link_faults": lambda c: c.set_link_faults(up=dict(loss=0.1)),
    "get_link_faults": lambda c: c.link_faults(),
    "subscribe": lambda c: c.subscribe(["ball"]),
    "acquire_lease": lambda c: c.claim("ball"),
    "list_leases": lambda c: c.leases(),
}


def refuse(session, request):
    session.send(Reply(id=request.id, error={"code": ErrorCode.WRONG_STATE, "text": "not now"}))


def hang_up(session, request):
    session.server.drop_clients()


def say_nothing(session, request):
    pass


def talk_nonsense(session, request):
    session.send(type("Bytes", (), {"SerializeToString": lambda _: b"\xff\xff\xff"})())


def push_works(client):
    if not client.connected:
        client.wait_event("RECONNECTED")
    if not client.armed:
        client.arm()
    return client.push("block", force=(1, 0, 0)).verdict(5).applied


@pytest.fixture
def hurried(server):
    with tactus.connect("127.0.0.1", server.port, timeout_s=0.5) as connected:
        yield connected


@pytest.mark.parametrize("field", CALLS)
def test_a_refused_request_leaves_a_client_that_pushes(hurried, server, field):
    server.instead[field] = refuse
    with pytest.raises(tactus.WrongState, match="not now"):
        CALLS[field](hurried)
    del server.instead[field]
    assert push_works(hurried) and hurried.connection._pending == {} and hurried.reconnects == 0
    assert [e.channel for e in hurried.leases()] == ["body/block/wrench"]  # what the call had taken is given back


@pytest.mark.parametrize("what", [hang_up, talk_nonsense], ids=lambda f: f.__name__)
@pytest.mark.parametrize("field", ["load_scene", "set_lockstep", "subscribe", "acquire_lease", "get_statistics"])
def test_a_link_that_falls_in_a_request_comes_back(hurried, server, field, what):
    server.instead[field] = what
    with pytest.raises(tactus.LinkLost):
        CALLS[field](hurried)
    del server.instead[field]
    assert push_works(hurried) and hurried.connection._pending == {} and hurried.reconnects == 1


@pytest.mark.parametrize("field", ["set_model", "acquire_lease", "get_statistics", "subscribe", "set_lockstep"])
def test_a_request_without_an_answer_is_a_timeout(hurried, server, field):
    server.instead[field] = say_nothing
    with pytest.raises(tactus.TimedOut, match=f"did not answer {field} within 0.5 s"):
        CALLS[field](hurried)
    del server.instead[field]
    assert push_works(hurried) and hurried.connection._pending == {} and hurried.reconnects == 0


def test_what_no_request_can_hold_is_refused_before_it_is_sent(client, server):
    for call in (lambda: client.load("\udcff"), lambda: client.set_model(7), lambda: client.snapshot("x" * (1 << 20))):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert push_works(client) and client.connection._pending == {} and client.reconnects == 0


def test_an_interrupted_send_makes_a_new_link_and_never_a_torn_stream(client, server):
    """Ctrl-C between two halves of a frame: what follows on that connection would be read as its second half."""

    class Torn:
        def __init__(self, tcp):
            self.tcp = tcp

        def sendall(self, frame):
            self.tcp.sendall(frame[: len(frame) // 2])
            raise KeyboardInterrupt

        def __getattr__(self, name):
            return getattr(self.tcp, name)

    link = client.connection.link
    link.tcp = Torn(link.tcp)
    with pytest.raises(KeyboardInterrupt):
        client.statistics()
    client.wait_event("RECONNECTED")
    assert push_works(client) and client.statistics().tick > 0


def test_a_mistake_in_the_receive_thread_costs_the_link_not_the_client(client, monkeypatch):
    client.read()
    real = tactus.subscription.Subscription.take_packet
    broken = lambda *_: 1 // 0  # noqa: E731
    monkeypatch.setattr(tactus.subscription.Subscription, "take_packet", broken)
    assert "ZeroDivisionError" in client.wait_event("LINK_LOST").text
    monkeypatch.setattr(tactus.subscription.Subscription, "take_packet", real)
    client.wait_event("RECONNECTED", timeout_s=10)
    assert push_works(client) and client.read().tick > 0


# --- strangers


@pytest.mark.parametrize("how", ["token", "token_file"])
def test_a_server_that_needs_no_token_is_refused_by_who_has_one(server, tmp_path, how):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    with pytest.raises(tactus.AuthenticationError, match="says that it needs no token.*--token-file"):
        tactus.connect("127.0.0.1", server.port, **{how: TOKEN if how == "token" else path})
    assert server.requests == ["hello"]  # nothing else was said to it


def test_a_server_that_comes_back_without_its_token_is_refused():
    with FakeServer(token=TOKEN.encode()) as server, tactus.connect("127.0.0.1", server.port, token=TOKEN) as client:
        server.stop()
        server.token = None
        server.requests.clear()
        server.start()
        assert "needs no token" in [client.wait_event("LINK_LOST") for _ in range(2)][1].text
        with pytest.raises(tactus.LinkLost, match="for good"):
            client.statistics()
        assert set(server.requests) == {"hello"}


def token_file(tmp_path, text=TOKEN, mode=0o600):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("text, found", [("", "it is empty"), (" \n", "it is empty"), ("short\n", "5 bytes"), ("x" * 5000, "found more")])
def test_a_file_without_a_token_is_named(tmp_path, text, found):
    path = token_file(tmp_path, text)
    with pytest.raises(tactus.TokenFileError, match=found) as error:
        tactus.connect("127.0.0.1", 1, token_file=path)
    assert str(path) in str(error.value)


def test_a_folder_and_a_file_that_is_not_there_are_named(tmp_path):
    with pytest.raises(tactus.TokenFileError, match="found a folder"):
        tactus.connect("127.0.0.1", 1, token_file=tmp_path)
    with pytest.raises(tactus.TokenFileError, match="nothing: No such file"):
        tactus.connect("127.0.0.1", 1, token_file=tmp_path / "nothing")


@pytest.mark.skipif(os.name != "posix", reason="rights are bits on POSIX systems only")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_token_file_that_others_can_write_is_refused(tmp_path, mode):
    with pytest.raises(tactus.TokenFileError, match="chmod go-w"):
        tactus.connect("127.0.0.1", 1, token_file=token_file(tmp_path, mode=mode))


@pytest.mark.skipif(os.name != "posix", reason="rights are bits on POSIX systems only")
def test_a_folder_that_others_can_write_is_refused(tmp_path):
    path = token_file(tmp_path)
    tmp_path.chmod(0o707)
    with pytest.raises(tactus.TokenFileError, match="put another file in its place"):
        tactus.connect("127.0.0.1", 1, token_file=path)


@pytest.mark.skipif(os.name != "posix", reason="rights are bits on POSIX systems only")
def test_a_token_file_that_others_can_read_is_warned_of(tmp_path, recwarn):
    with FakeServer(token=TOKEN.encode()) as server:
        with tactus.connect("127.0.0.1", server.port, token_file=token_file(tmp_path, mode=0o640)):
            assert not recwarn.list
        with pytest.warns(UserWarning, match="chmod o-r") as told:
            tactus.connect("127.0.0.1", server.port, token_file=token_file(tmp_path, mode=0o604)).close()
        assert told[0].filename == __file__  # whose line has the file's name


# --- full servers


@pytest.mark.parametrize("where, token", [("hello", None), ("hello", TOKEN), ("authenticate", TOKEN)])
def test_full_is_said_with_and_without_a_token(where, token):
    with FakeServer(token=token and token.encode()) as server:
        server.full_at = where
        with pytest.raises(tactus.ServerFull, match="all places are taken") as error:
            tactus.connect("127.0.0.1", server.port, token=token)
        assert isinstance(error.value, (tactus.ConnectError, tactus.Full))
        server.full_at = None
        with tactus.connect("127.0.0.1", server.port, token=token) as client:
            assert push_works(client)


def test_a_client_comes_back_by_itself_when_a_full_server_has_a_place(client, server):
    client.subscribe()
    server.stop()
    server.full_at = "hello"
    server.start()
    assert client.wait_event("RECONNECT_FAILED").text
    end = time.monotonic() + 10
    while "all places are taken" not in client.connection.down_text() and time.monotonic() < end:
        time.sleep(0.01)
    with pytest.raises(tactus.LinkLost, match="all places are taken.*being made anew"):
        client.statistics()
    server.full_at = None
    client.wait_event("RECONNECTED", timeout_s=10)
    assert push_works(client) and client.read().tick > 0


# --- scenes that take long


def test_load_waits_as_long_as_the_server_loads(hurried, server):
    server.instead["load_scene"] = lambda session, request: time.sleep(1.2) or True
    assert hurried.load("other").name == "other"
    assert hurried.armed and push_works(hurried)


def test_a_load_that_takes_longer_than_one_waits_says_that_the_scene_may_still_come(hurried, server):
    server.instead["load_scene"] = lambda session, request: time.sleep(0.6) or True
    with pytest.raises(tactus.TimedOut, match="load_scene within 0.2 s; it may still be at work"):
        hurried.load("broken", timeout_s=0.2)
    assert push_works(hurried)


# --- lockstep and controllers


def test_lockstep_goes_on_after_a_refusal_that_was_expected(client, server):
    with client.lockstep() as lockstep:
        for _ in range(2):
            before = lockstep.tick
            client.push("floor", force=(1, 0, 0))
            with pytest.raises(tactus.LockstepError, match="REFUSED_NOT_FREE"):
                lockstep.step()
            assert lockstep.tick == server.tick == before + 1
            client.push("block", force=(1, 0, 0))
            assert lockstep.step().tick == before + 2


@pytest.mark.parametrize("garbage", [{"block": "push"}, {"block": (1, 0, 0)}, {"block": None}, [1, 2, 3], "push", 7, {"block": tactus.Wrench(force=3)}])
def test_a_controller_that_returns_nonsense_is_told_so(client, server, garbage):
    def callback(state):
        return garbage if server.commands else {"block": tactus.Wrench((1, 0, 0))}

    with pytest.raises((TypeError, ValueError), match="Wrench|three finite numbers"):
        client.control(["block"], callback)
    assert list(server.commands[-1].wrench) == [0] * 6 and server.leases == {}
    assert push_works(client)


def test_what_a_controller_raises_is_not_hidden_by_a_link_that_fell(client, server, monkeypatch):
    def falls(packet, more=()):
        raise tactus.LinkLost("it fell just now")

    def callback(state):
        if not server.commands:
            return {"block": tactus.Wrench((1, 0, 0))}
        monkeypatch.setattr(client.connection, "send_command", falls)  # before the loss is known everywhere
        raise RuntimeError("user's mistake")

    with pytest.raises(RuntimeError, match="user's mistake"):
        client.control(["block"], callback)
    monkeypatch.undo()
    assert push_works(client)


def test_arm_that_is_refused_forgets_no_claim(client, server):
    lease = client.claim("ball")
    server.drop_clients()
    client.wait_event("RECONNECTED")
    server.instead["acquire_lease"] = refuse
    with pytest.raises(tactus.WrongState):
        client.arm()
    assert not client.armed
    del server.instead["acquire_lease"]
    client.arm()
    assert lease.held and push_works(client)


# --- forked children


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_is_told_so_and_the_parent_goes_on(server):
    program = f"""
        import os, sys, threading
        import tactus
        c = tactus.connect("127.0.0.1", {server.port})
        stream, lease = c.subscribe(), c.claim("ball")
        assert c.push("block", force=(1, 0, 0)).verdict().applied
        c.read()
        lock_is_held, forked = threading.Event(), threading.Event()
        def hold():  # by a thread that is not in the child
            with c.connection.lock:
                lock_is_held.set()
                forked.wait()
        threading.Thread(target=hold).start()
        lock_is_held.wait()
        if os.fork() == 0:
            for call in (c.latest, c.read, c.statistics, lambda: c.push("block", force=(1, 0, 0)), c.snapshot, stream.read):
                try:
                    call()
                except tactus.UsedAfterFork as error:
                    assert f"process {{os.getppid()}}" in str(error) and "connect again" in str(error), error
                else:
                    os._exit(7)
            lease.release()
            c.close()
            with tactus.connect("127.0.0.1", {server.port}) as own:
                assert own.read().tick > 0
            sys.exit(5)  # as a program ends that does not know of the client
        forked.set()
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 5
        assert c.push("block", force=(1, 0, 0)).verdict().applied
        assert lease.held and c.reconnects == 0 and c.connected
        c.close()
    """
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=60, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_parent_that_closes_is_gone_for_the_server_though_a_child_lives(server):
    client = tactus.connect("127.0.0.1", server.port)
    out, hold = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hold)
        os.read(out, 1)  # until the parent lets go
        os._exit(0)
    try:
        client.close()
        end = time.monotonic() + 5
        while server.sessions and time.monotonic() < end:
            time.sleep(0.01)
        assert server.sessions == []
    finally:
        os.close(hold)
        os.waitpid(child, 0)
        os.close(out)


def test_closing_from_many_threads_at_once_is_one_end(client):
    threads = [threading.Thread(target=client.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
