"""Who may come in, and what for: another user of this machine, a server that cannot ask whose a connection is, a thousand silent
connections, wrong tokens, no descriptors left, and sessions that may only look on. Children are other users; only root can make them."""
import ctypes
import json
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import time

import pytest
from conftest import REPOSITORY, RawSession, assert_still_ticking, counts, eventually, require_program
from websocket import TEXT, Viewer, WebSocket

import tactus
from tactus import wire
from tactus.link import Link
from tactus.messages import CommandPacket, DevicePacket, ErrorCode, GrantPacket, Reply, Request, StatePacket, VerdictCode

NOBODY = 65534
TOKEN = "a token of some length for the tests of access"
OTHER = "another one, of those who may only look on"
CHANGES_NOTHING = {"list_scenes", "describe_scene", "subscribe", "unsubscribe", "take_snapshot", "get_statistics", "list_leases", "get_mesh",
                   "get_link_faults", "set_playback"}  # fmt: skip
ASKED_OTHERWISE = {"hello", "authenticate", "command"}  # the handshake, and what gets a verdict

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def in_child(work, before):
    """What `work()` returns, or the name and text of what it raises, in a child that has done `before()` first."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            before()
            said = work()
        except BaseException as error:
            said = [type(error).__name__, str(error)]
        os.write(theirs, json.dumps(said).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = json.loads(pipe.read())
    os.waitpid(child, 0)
    return said


def be_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def come_in(port, token=""):
    """The role that is given to whoever comes now."""
    link = Link("127.0.0.1", port, "guest", token.encode(), 10)
    link.close()
    return link.role


def as_stranger(server):
    return in_child(lambda: come_in(server.port), be_nobody)


def config(folder, text, name="access.toml"):
    (folder / name).write_text(text)
    return "--config", folder / name


def token_file(folder, text=TOKEN, name="token"):
    path = folder / name
    path.write_text(text)
    path.chmod(0o600)
    return path


def silent(port, count):
    """Connections that say nothing, as many as the server's backlog takes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    return [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]


def first_words(connection):
    """The server's error to a connection that said nothing."""
    connection.settimeout(10)
    head = connection.recv(4, socket.MSG_WAITALL)
    return Reply.FromString(connection.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)).error


# --- Another user of this machine


@as_root
def test_another_user_is_turned_away_and_told_what_can_be_done(make_server):
    server = make_server().start()
    kind, text = as_stranger(server)
    assert kind in ("AuthenticationError", "ConnectError", "RequestError")
    for part in ("run by root", "you are nobody", "[access] users", "--token-file", "--open"):
        assert part in text
    assert come_in(server.port) == "control"  # the server's own user needs nothing
    assert eventually(lambda: "turned away" in server.log() and "guest" in server.log())


@as_root
def test_a_browser_of_another_user_is_turned_away_too(make_server):
    server = make_server().start()

    def look():
        with WebSocket(server.web_port) as ws:
            request = Request(id=1, hello={"version_major": 1, "client_name": "browser", "nonce": bytes(32)})
            ws.send(request.SerializeToString())
            error = Reply.FromString(ws.receive()).error
            return [error.code, error.text]

    code, text = in_child(look, be_nobody)
    assert code == ErrorCode.NOT_AUTHENTICATED and "you are nobody" in text
    with Viewer(server.web_port) as viewer:
        assert viewer.exchange("describe_scene").scene.name


@as_root
@pytest.mark.parametrize("line, role", [('users = "nobody"', "control"), ("users = '65534'", "control"), ("open = true", "control"),
                                        ('others = "observe"', "observe")])  # fmt: skip
def test_the_config_lets_others_in(make_server, tmp_path, line, role):
    server = make_server(*config(tmp_path, f"[access]\n{line}\n")).start()
    assert as_stranger(server) == role
    assert come_in(server.port) == "control"


@as_root
def test_open_lets_everybody_of_this_machine_in_and_says_so(make_server):
    server = make_server("--open").start()
    assert as_stranger(server) == "control"
    assert "every user of this machine may drive" in server.log()


@as_root
def test_under_sudo_the_caller_counts(make_server):
    server = make_server()
    server.environment["SUDO_UID"] = str(NOBODY)
    assert as_stranger(server.start()) == "control"


def test_unknown_users_are_named_with_file_line_and_key(make_server, tmp_path):
    code, said = make_server(*config(tmp_path, '[access]\nusers = "no-such-one"\n')).run_to_end()
    assert code != 0 and f"{tmp_path}/access.toml:2: access.users" in said and "no user 'no-such-one'" in said


@as_root
def test_it_works_in_a_network_namespace_of_its_own(make_server):
    alone = ["unshare", "-n", "ip", "link", "set", "lo", "up"]
    if shutil.which("ip") is None or subprocess.run(alone, capture_output=True).returncode != 0:
        pytest.skip("no network namespace can be made here")
    server = make_server()
    inner = server.command
    server.command = lambda: ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *inner()]
    server.start()
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        with open(f"/proc/{server.process.pid}/ns/net") as namespace:
            assert libc.setns(namespace.fileno(), 0) == 0

    assert in_child(lambda: come_in(server.port), enter) == "control"


def without_netlink():
    """In a child: socket(AF_NETLINK) fails as under RestrictAddressFamilies of systemd. x86-64 and arm64."""
    call = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}[os.uname().machine]
    program = [(0x20, 0, 0, 4), (0x15, 0, 5, call[0]), (0x20, 0, 0, 0), (0x15, 0, 3, call[1]), (0x20, 0, 0, 16),
               (0x15, 0, 1, socket.AF_NETLINK), (0x06, 0, 0, 0x00050000 | 97), (0x06, 0, 0, 0x7FFF0000)]  # fmt: skip
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code)
    filters = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filters, 0, 0) == 0


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="the filter is written for x86-64 and arm64")
def test_a_server_that_may_not_ask_the_kernel_says_so_and_takes_a_token(make_server, tmp_path):
    def start(*flags):
        server = make_server(*flags)
        inner = server.command
        script = "import sys; sys.path.insert(0, sys.argv[1]); import test_access, os; test_access.without_netlink(); os.execv(sys.argv[2], sys.argv[2:])"
        server.command = lambda: [sys.executable, "-c", script, os.path.dirname(__file__), *inner()]
        return server.start()

    server = start()
    with pytest.raises(tactus.TactusError) as refused:
        come_in(server.port)
    for part in ("AF_NETLINK", "--token-file", "--open"):
        assert part in str(refused.value)
    assert come_in(start("--token-file", token_file(tmp_path)).port, TOKEN) == "control"
    assert come_in(start("--open").port) == "control"


# --- Token files


@pytest.mark.parametrize("mode, text, part", [(0o660, TOKEN, "chmod go-w"), (0o602, TOKEN, "chmod go-w"), (0o600, "", "it is empty"),
                                              (0o600, "short", "found a token of 5 bytes")])  # fmt: skip
def test_a_token_file_that_is_no_secret_stops_the_start(make_server, tmp_path, mode, text, part):
    path = token_file(tmp_path, text)
    path.chmod(mode)
    code, said = make_server("--token-file", path).run_to_end()
    assert code != 0 and str(path) in said and part in said


def test_a_token_file_that_others_read_is_warned_of(make_server, tmp_path):
    path = token_file(tmp_path)
    path.chmod(0o644)
    server = make_server("--token-file", path).start()
    assert f"chmod o-r {path}" in server.log()
    path.chmod(0o640)  # the group of a service
    assert "chmod" not in make_server("--token-file", path).start().log()


# --- Before the handshake


@pytest.mark.parametrize("with_token", [False, True])
def test_a_thousand_silent_connections_keep_nobody_out(make_server, tmp_path, with_token):
    server = make_server(*(("--token-file", token_file(tmp_path)) if with_token else ())).start()
    token = TOKEN if with_token else ""
    held = silent(server.port, 1000)
    for _ in range(20):
        assert come_in(server.port, token) == "control"
    error = first_words(held[0])
    assert error.code == ErrorCode.FULL and "limits.handshakes" in error.text
    assert counts_of(server, token)["control_handshakes_full"] >= 900
    assert eventually(lambda: "turned away" in server.log())
    assert sum("turned away" in line for line in server.log().splitlines()) < 60  # by the second, not by the connection
    for connection in held:
        connection.close()


def counts_of(server, token=""):
    link = Link("127.0.0.1", server.port, "counter", token.encode(), 10)
    try:
        return counts(link.exchange("get_statistics").statistics.refused_by_reason)
    finally:
        link.close()


@pytest.mark.parametrize("with_token", [False, True])
def test_whoever_comes_to_a_full_server_hears_that_it_is_full(make_server, tmp_path, with_token):
    token = TOKEN if with_token else ""
    flags = ("--token-file", token_file(tmp_path)) if with_token else ()
    server = make_server(*config(tmp_path, "[limits]\nclients = 2\n"), *flags).start()
    guests = [Link("127.0.0.1", server.port, f"guest-{i}", token.encode(), 10) for i in range(2)]
    with pytest.raises(tactus.TactusError, match="2 clients already"):
        come_in(server.port, token)
    guests[0].close()
    assert eventually(lambda: may_come(server, token))
    guests[1].close()


def may_come(server, token=""):
    try:
        return come_in(server.port, token)
    except tactus.TactusError:
        return False


def test_wrong_tokens_slow_their_source_down_and_nobody_else(make_server, tmp_path):
    server = make_server("--token-file", token_file(tmp_path)).start()

    def wrong():
        begin = time.monotonic()
        with pytest.raises(tactus.TactusError, match="proof does not match"):
            come_in(server.port, "a wrong token of some length")
        return time.monotonic() - begin

    waits = [wrong() for _ in range(6)]
    assert waits[-1] > 1.0 and waits[-1] > 4 * waits[1]
    begin = time.monotonic()
    elsewhere = socket.socket()
    elsewhere.bind(("127.0.0.2", 0))  # another source
    elsewhere.settimeout(10)
    elsewhere.connect(("127.0.0.1", server.port))
    nonce = os.urandom(32)
    writer = wire.FrameWriter(b"C")
    elsewhere.sendall(writer.frame(Request(id=1, hello={"version_major": 1, "client_name": "other", "nonce": nonce}).SerializeToString()))
    hello = frame_of(elsewhere).hello
    proof = wire.handshake_proof(TOKEN.encode(), "client", nonce, hello.nonce)
    elsewhere.sendall(writer.frame(Request(id=2, authenticate={"proof": proof}).SerializeToString()))
    assert frame_of(elsewhere, wire.MAC_BYTES).authenticate.role == "control"
    assert time.monotonic() - begin < waits[-1]
    assert come_in(server.port, TOKEN) == "control"  # the right one comes in from there as well, later
    assert eventually(lambda: sum("ERROR_WRONG_KEY" in line for line in server.log().splitlines()) >= 1)
    assert sum("ERROR_WRONG_KEY" in line for line in server.log().splitlines()) <= 6


def frame_of(connection, mac_bytes=0):
    length = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))[0]
    return Reply.FromString(connection.recv(length, socket.MSG_WAITALL)[: length - mac_bytes])


def thread_seconds(pid):
    """Processor time of each thread so far."""
    out = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        fields = open(f"/proc/{pid}/task/{thread}/stat").read().rsplit(")", 1)[1].split()
        out[thread] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return out


def limit_descriptors(pid, most):
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


@pytest.mark.parametrize("door", ["control", "web"])
def test_without_descriptors_those_inside_go_on_and_it_recovers(server, door):
    pid = server.process.pid
    with server.connect(name="inside") as client:
        client.subscribe()
        few = len(os.listdir(f"/proc/{pid}/fd")) + 6
        limit_descriptors(pid, few)
        held = silent(server.port if door == "control" else server.web_port, 120)
        time.sleep(0.5)
        before = thread_seconds(pid)
        time.sleep(2)
        after = thread_seconds(pid)
        assert max(after[t] - before.get(t, 0) for t in after) < 1.0, "a thread spins"
        with client.claim("body/block/wrench"):
            assert client.push("block", force=(5, 0, 0)).verdict().name in ("APPLIED", "CLAMPED")
        assert_still_ticking(client)
        assert "no file descriptor is left" in server.log() or "not accepted" in server.log()
        assert len(server.log().splitlines()) < 60
        for connection in held:
            connection.close()
        assert eventually(lambda: may_come(server))
        assert eventually(lambda: seen_by_viewer(server))


def seen_by_viewer(server):
    try:
        with Viewer(server.web_port) as viewer:
            return viewer.exchange("describe_scene").scene.name
    except (AssertionError, ConnectionError, TimeoutError):
        return False


def test_without_descriptors_whoever_comes_hears_why(server):
    pid = server.process.pid
    with server.connect(name="inside") as client:
        few = len(os.listdir(f"/proc/{pid}/fd"))
        limit_descriptors(pid, few)
        with pytest.raises(tactus.TactusError, match="no file descriptor left"):
            come_in(server.port)
        assert_still_ticking(client)
        limit_descriptors(pid, few + 50)
        assert eventually(lambda: may_come(server))


# --- Sessions that may only look on


@pytest.fixture
def guarded(make_server, tmp_path):
    """A server with a token for driving and one for looking on."""
    other = token_file(tmp_path, OTHER, "observe")
    flags = config(tmp_path, f'[access]\nobserve_token_file = "{other}"\n')
    return make_server("--token-file", token_file(tmp_path), *flags).start()


def test_an_observer_sees_and_every_request_that_changes_something_is_refused(guarded):
    link = Link("127.0.0.1", guarded.port, "observer", OTHER.encode(), 10)
    assert link.role == "observe"
    assert come_in(guarded.port, TOKEN) == "control"
    for field in Request.DESCRIPTOR.oneofs_by_name["body"].fields:
        if field.name in ASKED_OTHERWISE:
            continue
        request = Request(id=link.next_id())
        getattr(request, field.name).SetInParent()
        code = answer_to(link, request).error.code
        assert (code != ErrorCode.READ_ONLY) if field.name in CHANGES_NOTHING else (code == ErrorCode.READ_ONLY), field.name
    for field, values in (("take_snapshot", {"name": "kept"}), ("set_playback", {"position_s": 1.0})):
        assert answer_to(link, Request(id=link.next_id(), **{field: values})).error.code == ErrorCode.READ_ONLY
    link.close()


def answer_to(link, request):
    link.send_request(request)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for reply in link.receive_control():
            if reply.id == request.id:
                return reply
    raise AssertionError(f"no answer to {request}")


def test_an_observers_commands_grants_and_devices_get_the_verdict_read_only(guarded):
    with RawSession(guarded, OTHER.encode()) as raw:
        raw.exchange("subscribe", bodies=["*"])
        packet = CommandPacket(scene_epoch=raw.epoch, body_id=[1], wrench=[1, 0, 0, 0, 0, 0])
        for _ in range(3):
            assert raw.verdict(raw.command(packet)) == "REFUSED_READ_ONLY"
        for kind, other in ((wire.GRANT, GrantPacket(scene_epoch=raw.epoch, run_to_tick=1)), (wire.DEVICE, DevicePacket(scene_epoch=raw.epoch))):
            raw.send(raw.seal(kind, other.SerializeToString()))
            assert raw.verdict(raw.sequence) == "REFUSED_READ_ONLY"
        rows = raw.exchange("get_statistics").statistics.clients
        mine = next(c for c in rows if c.name == "raw")
        assert mine.role == "observe" and mine.commands_applied == 0
        assert counts(mine.refused_by_reason)["VERDICT_REFUSED_READ_ONLY"] == 5


def test_an_observer_over_a_websocket_sees_and_changes_nothing(guarded):
    with Viewer(guarded.web_port, token=OTHER.encode()) as viewer:
        viewer.exchange("subscribe", bodies=["*"])
        assert viewer.exchange("acquire_lease", channels=["world"]).error.code == ErrorCode.READ_ONLY
        packet = CommandPacket(scene_epoch=viewer.epoch, body_id=[1], wrench=[1, 0, 0, 0, 0, 0])
        number = viewer.ask("command", bytes=packet.SerializeToString())

        def seen():
            viewer.take()
            states = [StatePacket.FromString(s) for s in viewer.states]
            return any((number, VerdictCode.REFUSED_READ_ONLY) in zip(s.verdict_sequence, s.verdict_code) for s in states)

        assert eventually(seen)


def foxglove_says(server, *wishes):
    """What a Foxglove viewer is told after these wishes, as text."""
    said = []
    with WebSocket(server.web_port, protocol="foxglove.sdk.v1") as ws:
        assert ws.accepted, ws.head
        ws.socket.settimeout(1)
        while '"op":"advertise"' not in "".join(said):
            said.append(ws.receive().decode(errors="replace"))
        for wish in wishes:
            ws.send(json.dumps(wish).encode(), TEXT)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                said.append(ws.receive().decode(errors="replace"))
            except TimeoutError:
                break
    return "".join(said)


def test_foxglove_without_a_token_looks_on(make_server, tmp_path):
    flags = config(tmp_path, '[web]\nfoxglove = "open"\n')
    server = make_server("--token-file", token_file(tmp_path), *flags).start()
    wish = {"op": "setParameters", "parameters": [{"name": "paused", "value": True}], "id": "x"}
    said = foxglove_says(server, wish)
    assert "look on" in said
    link = Link("127.0.0.1", server.port, "control", TOKEN.encode(), 10)
    assert not link.exchange("get_statistics").statistics.paused
    link.close()


@as_root
def test_an_open_foxglove_lets_another_user_look_on(make_server, tmp_path):
    server = make_server(*config(tmp_path, '[web]\nfoxglove = "open"\n')).start()
    wish = {"op": "setParameters", "parameters": [{"name": "paused", "value": True}], "id": "x"}
    assert "look on" in in_child(lambda: foxglove_says(server, wish), be_nobody)
    with server.connect() as watcher:
        assert "look on" not in foxglove_says(server, wish)  # the server's own user drives
        assert watcher.wait_event("PAUSED", timeout_s=10)  # until this viewer has gone


# --- What strangers cost those inside


def test_the_beat_beside_strangers_is_measured():
    """The verdict is for the command, on a quiet machine. Here: the strangers were there, as many as it says, and the server went on."""
    command = [sys.executable, REPOSITORY / "tests" / "bench" / "strangers", "--bin", require_program("tactusd").parent, "--blocks", 1]
    done = subprocess.run([str(a) for a in [*command, "--block-s", 2]], capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert "strangers: " + ("passed" if done.returncode == 0 else "FAILED") in done.stdout, done.stdout + done.stderr
