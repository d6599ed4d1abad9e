"""The web door of a running tactusd: files, WebSocket, and what strangers do to both. The loop goes on whatever comes."""
import functools
import math
import os
import random
import socket
import statistics
import time

import pytest
import tactus
from conftest import assert_still_ticking, counts
from conftest import eventually as soon
from tactus.messages import CommandPacket, ErrorCode, EventKind, StatePacket, VerdictCode
from websocket import BINARY, CONTINUATION, PING, TEXT, Closed, Viewer, WebSocket, get, http, status_of

eventually = functools.partial(soon, timeout_s=30)  # costs nothing where the machine is idle
TOKEN = "a token for the viewer's test"
INDEX = "<!doctype html><title>a viewer</title>" + "x" * 100_000


def web_server(make_server, tmp_path, config="", *flags, token=None):
    """A server with a viewer of one page, and [web] settings."""
    viewer = tmp_path / "viewer"
    viewer.mkdir(exist_ok=True)
    (viewer / "index.html").write_text(INDEX)
    (viewer / "hashed-1.js").write_text("let a = 1;")
    (viewer / "hashed-1.js.gz").write_bytes(b"\x1f\x8b, as if compressed")
    (tmp_path / "secret.txt").write_text("nobody may read this")
    file = tmp_path / "server.toml"
    file.write_text(f'[web]\ndirectory = "{viewer}"\n{config}\n')
    if token:
        (tmp_path / "token").write_text(token)
        flags = (*flags, "--token-file", tmp_path / "token")
    return make_server("--config", file, *flags).start()


@pytest.fixture
def web(make_server, tmp_path):
    return web_server(make_server, tmp_path)


def refused(server, **options):
    with server.connect(name="counter", **options) as c:
        return counts(c.statistics().refused_by_reason)


def describe(viewer):
    return viewer.exchange("describe_scene").scene


def lease(viewer, *channels):
    return viewer.exchange("acquire_lease", channels=channels, duration_ms=10_000)  # nobody renews it here


def push(viewer, body, force, epoch=None, deadline_us=100_000):
    packet = CommandPacket(scene_epoch=viewer.epoch if epoch is None else epoch, deadline_us=deadline_us, body_id=[body], wrench=[*force, 0, 0, 0])
    return viewer.ask("command", bytes=packet.SerializeToString())


def verdict(viewer, sequence, timeout_s=30):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        viewer.take()
        for state in viewer.states[-1:]:
            packet = StatePacket.FromString(state)
            for its, code in zip(packet.verdict_sequence, packet.verdict_code):
                if its == sequence:
                    return VerdictCode(code).name.removeprefix("VERDICT_")
    return None


# --- files


def test_the_viewer_is_served_with_types_caching_and_a_policy(web):
    head, body = get(web.web_port, "/")
    assert status_of(head) == 200 and body.decode() == INDEX
    assert "text/html" in head and "no-cache" in head and "default-src 'self'" in head and "nosniff" in head
    tag = next(line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("etag"))
    head, body = get(web.web_port, "/", If_None_Match=tag)
    assert status_of(head) == 304 and body == b""
    head, body = get(web.web_port, "/hashed-1.js")
    assert "text/javascript" in head and "immutable" in head and body == b"let a = 1;"
    head, body = get(web.web_port, "/hashed-1.js", Accept_Encoding="gzip, br")
    assert "content-encoding: gzip" in head.lower() and "text/javascript" in head and body.startswith(b"\x1f\x8b")


def test_a_viewer_that_is_built_anew_is_served_without_a_restart(web, tmp_path):
    file = tmp_path / "viewer" / "index.html"
    assert get(web.web_port, "/")[1].decode() == INDEX
    file.unlink()
    time.sleep(1.1)
    assert get(web.web_port, "/")[1].decode() == INDEX  # what was read stays
    file.write_text("a newer viewer")
    assert eventually(lambda: get(web.web_port, "/")[1] == b"a newer viewer")


def test_a_server_without_a_viewer_says_how_to_build_it(make_server, tmp_path):
    file = tmp_path / "server.toml"
    file.write_text(f'[web]\ndirectory = "{tmp_path}/nothing"\n')
    server = make_server("--config", file).start()
    head, body = get(server.web_port, "/")
    assert status_of(head) == 200 and b"clients/web/build" in body and b"not built" in body
    with Viewer(server.web_port) as viewer:
        assert describe(viewer).bodies


@pytest.mark.parametrize("path", ["/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/....//secret.txt", "/viewer/../../secret.txt", "//etc/passwd",
                                  "/index.html/..", "/hashed-1.js.gz", "/%00", "/..\\secret.txt", "/" + "a" * 3000])  # fmt: skip
def test_no_path_leaves_the_viewer(web, path):
    answer = http(web.web_port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert b"nobody may read" not in answer and b"root:" not in answer
    assert not answer or status_of(answer.decode("latin1")) in (400, 403, 404, 414) or INDEX.encode() in answer


def test_other_methods_are_refused(web):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"):
        answer = http(web.web_port, f"{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc".encode(), timeout_s=8)
        assert b"200 OK" not in answer, method
    assert status_of(get(web.web_port, "/")[0]) == 200


# --- the conversation


def test_a_viewer_sees_states_at_its_decimation_with_contacts_and_their_phases(web):
    with Viewer(web.web_port) as viewer:
        bodies = {b.name: b.id for b in describe(viewer).bodies}
        viewer.exchange("subscribe", single_precision=True, contacts=True, decimation=10)
        while len(viewer.states) < 60:
            viewer.take()
        packets = [StatePacket.FromString(s) for s in viewer.states]
        assert all(p.parts == 1 and sorted(p.body_id) == sorted(i for n, i in bodies.items() if n != "floor") for p in packets)
        ticks = [p.tick for p in packets[1:]]  # the first comes at once
        assert ticks == sorted(set(ticks)) and (ticks[-1] - ticks[0]) / (len(ticks) - 1) >= 9.99
        last = packets[-1]
        assert len(last.contact) == 10 * len(last.contact_phase) and set(last.contact_phase) == {2}  # the block rests


def test_contacts_can_come_less_often_than_poses(web):
    with Viewer(web.web_port) as viewer:
        viewer.exchange("subscribe", single_precision=True, contacts=True, decimation=5, contacts_every=4)
        while len(viewer.states) < 120:
            viewer.take()
        packets = [StatePacket.FromString(s) for s in viewer.states[2:]]
        ticks = [p.tick for p in packets if p.contact]
        gaps = [b - a for a, b in zip(ticks, ticks[1:])]
        # Never more often; less often only where a busy machine made a newer state replace one that waited.
        assert min(gaps) >= 4 * 5 and statistics.median(gaps) < 1.5 * 4 * 5 and all(p.contacts for p in packets)


def test_a_push_has_the_verdicts_of_any_client(web):
    with Viewer(web.web_port, name="hand") as viewer, web.connect(name="arm") as arm:
        ball = next(b.id for b in describe(viewer).bodies if b.name == "ball")
        viewer.exchange("subscribe", velocity=True, decimation=2)
        assert verdict(viewer, push(viewer, ball, (10, 0, 0))) == "REFUSED_NOT_LEASED"
        assert lease(viewer, "body/ball/wrench").lease.held_by == "hand"
        for _ in range(20):
            sequence = push(viewer, ball, (10, 0, 0))
            assert verdict(viewer, sequence) == "APPLIED"
        packet = StatePacket.FromString(viewer.states[-1])
        assert packet.velocity[6 * list(packet.body_id).index(ball)] > 0.05
        assert verdict(viewer, push(viewer, ball, (float("nan"), 0, 0))) == "REFUSED_NOT_FINITE"
        assert verdict(viewer, push(viewer, ball, (1, 0, 0), epoch=viewer.epoch ^ 1)) == "REFUSED_STALE_EPOCH"
        assert verdict(viewer, push(viewer, 999, (1, 0, 0))) == "REFUSED_UNKNOWN_BODY"
        assert verdict(viewer, viewer.ask("command", bytes=b"\xff\xff")) == "REFUSED_MALFORMED"
        with pytest.raises(tactus.TactusError, match="hand"):
            arm.claim("ball")


def test_leases_go_with_the_connection(web):
    with Viewer(web.web_port, name="leaver") as viewer:
        assert lease(viewer, "world").lease.lease
    with Viewer(web.web_port, name="next") as other:
        assert eventually(lambda: lease(other, "world").HasField("lease"))


def test_events_come_to_every_viewer_in_order(web):
    with Viewer(web.web_port, name="one") as one, Viewer(web.web_port, name="two") as two:
        lease(one, "world")
        for what in ("pause", "resume", "pause", "resume", "reset"):
            one.exchange(what)
        for viewer in (one, two):
            viewer.exchange("list_leases")
            assert [e.kind for e in viewer.events][:4] == [EventKind.PAUSED, EventKind.RESUMED] * 2


def test_a_server_with_a_token_wants_it_proved(make_server, tmp_path):
    server = web_server(make_server, tmp_path, token=TOKEN)
    with Viewer(server.web_port, token=TOKEN.encode()) as viewer:
        assert describe(viewer).bodies
        assert TOKEN.encode() not in viewer.head
    with pytest.raises((Closed, AssertionError)):  # refused, instead of a proof that the server knows the token
        Viewer(server.web_port, token=b"quite another one")
    with server.connect(name="counter", token=TOKEN) as client:
        assert [c.name for c in client.statistics().clients] == ["counter"]


def test_meshes_come_in_pieces_closed_and_outside_out(make_server, tmp_path):
    folder = os.path.join(os.path.dirname(__file__), "..", "..", "config", "scenes")
    server = web_server(make_server, tmp_path)
    server.kill()
    server.scene_file = os.path.abspath(os.path.join(folder, "meshes.toml"))
    server.start()
    with Viewer(server.web_port) as viewer:
        scene = describe(viewer)
        found = 0
        for body in scene.bodies:
            for index, shape in enumerate(body.shapes):
                if shape.kind not in ("mesh", "convex"):
                    assert viewer.exchange("get_mesh", body=body.id, shape=index, scene_epoch=scene.scene_epoch).error.code == ErrorCode.BAD_VALUE
                    continue
                corners, total = [], 1
                while len(corners) < 9 * total:
                    mesh = viewer.exchange("get_mesh", body=body.id, shape=index, scene_epoch=scene.scene_epoch, first=len(corners) // 9, count=700).mesh
                    corners, total = corners + list(mesh.corner_m), mesh.triangles
                assert len(corners) == 9 * total and signed_volume(corners) > 0
                found += 1
        assert found > 0
        assert viewer.exchange("get_mesh", body=0, shape=0, scene_epoch=1).error.code == ErrorCode.STALE_EPOCH
        assert viewer.exchange("get_mesh", body=9999, shape=0, scene_epoch=scene.scene_epoch).error.code == ErrorCode.NOT_FOUND


def test_smooth_shapes_are_drawn_with_their_volume(make_server, tmp_path):
    """An ellipsoid's triangles have its volume but for the tolerance; a cavity's face the hollow."""
    server = web_server(make_server, tmp_path)
    server.kill()
    server.scene_file = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "config", "scenes", "smooth_shapes.toml"))
    server.start()
    with Viewer(server.web_port) as viewer:
        scene = describe(viewer)
        volumes = {}
        for body in scene.bodies:
            for index, shape in enumerate(body.shapes):
                assert shape.kind == "smooth" and shape.radius_m > 0
                mesh = viewer.exchange("get_mesh", body=body.id, shape=index, scene_epoch=scene.scene_epoch).mesh
                assert len(mesh.corner_m) == 9 * mesh.triangles > 0
                volumes[body.name] = signed_volume(list(mesh.corner_m))
        exact = {
            "ellipsoid": 4 / 3 * math.pi * 0.2 * 0.12 * 0.3,
            "patched_ellipsoid": 4 / 3 * math.pi * 0.2 * 0.12 * 0.3,
            "torus": 2 * math.pi**2 * 0.2 * 0.07**2,
            "bowl": -4 / 3 * math.pi * 0.3 * 0.3 * 0.2,
        }
        for name, volume in exact.items():
            assert abs(volumes[name] / volume - 1) < 0.01, (name, volumes[name], volume)
        assert all(volume > 0 for name, volume in volumes.items() if name != "bowl")


def signed_volume(corners):
    """By the divergence theorem; positive when triangles are counter-clockwise seen from outside."""
    volume = 0.0
    for t in range(0, len(corners), 9):
        a, b, c = corners[t : t + 3], corners[t + 3 : t + 6], corners[t + 6 : t + 9]
        volume += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    return volume / 6


# --- strangers


def test_foreign_pages_and_other_protocols_are_refused_with_a_reason(web):
    port = web.web_port
    for options in ({"origin": "http://evil.example"}, {"origin": f"http://127.0.0.1:{port + 1}"}, {"origin": "null"}, {"protocol": None}, {"protocol": "mqtt"},
                    {"origin": f"http://evil.example:{port}", "host": f"evil.example:{port}"}):  # fmt: skip
        with WebSocket(port, **options) as ws:
            assert not ws.accepted and b"403" in ws.head, options
    for options in ({"origin": f"http://127.0.0.1:{port}"}, {"origin": None}, {"origin": f"http://localhost:{port}", "host": f"localhost:{port}"},
                    {"protocol": "foxglove.sdk.v1, tactus.v1"}):  # fmt: skip
        with WebSocket(port, **options) as ws:
            assert ws.accepted, options
    assert refused(web)["web_origin"] == 4


def test_who_is_refused_for_his_origin_is_told_what_to_do_in_the_answer_and_at_the_door(web):
    port = web.web_port
    with WebSocket(port, origin=f"http://robot:{port}", host=f"robot:{port}") as ws:
        assert b"403" in ws.head
        said = ws.head + ws.buffer
        while chunk := ws.socket.recv(4096):
            said += chunk
        assert f'allowed_origins = "http://robot:{port}"'.encode() in said.replace(b"&quot;", b'"')
    head, body = get(port, f"/door?origin=http%3A%2F%2Frobot%3A{port}")
    assert status_of(head) == 200 and "text/plain" in head
    assert f"http://127.0.0.1:{port}/" in body.decode() and f'[web] allowed_origins = "http://robot:{port}"' in body.decode()
    head, body = get(port, f"/door?origin=http%3A%2F%2F127.0.0.1%3A{port}")
    assert status_of(head) == 200 and body == b""  # is let in
    for strange in ("/door", "/door?origin=", "/door?origin=" + "a" * 3000, "/door?origin=%00%ff", "/door?origin=http://<script>"):
        head, body = get(port, strange)
        assert b"<script>" not in body


def test_pages_that_the_config_names_are_let_in(make_server, tmp_path):
    server = web_server(make_server, tmp_path, 'allowed_origins = "https://a.example https://b.example"')
    for origin, accepted in (("https://b.example", True), ("https://c.example", False), ("https://b.example.evil", False)):
        with WebSocket(server.web_port, origin=origin) as ws:
            assert ws.accepted == accepted, origin


def test_an_old_viewer_is_told_which_version_is_spoken(web):
    with WebSocket(web.web_port) as ws:
        from tactus.messages import Reply, Request

        ws.send(Request(id=1, hello={"version_major": 9, "client_name": "old", "nonce": bytes(32)}).SerializeToString())
        assert Reply.FromString(ws.receive()).error.code == ErrorCode.VERSION
        with pytest.raises(Closed, match="version 1.0"):
            ws.receive()


def test_frames_that_break_the_rules_end_the_connection_and_nothing_else(web, client_of):
    bad = [
        lambda ws: ws.send(b"hello", TEXT),
        lambda ws: ws.send(b"x" * 5000),  # longer than a handshake may be
        lambda ws: ws.send(b"", BINARY, length=2**31 - 1),
        lambda ws: ws.send(b"", BINARY, length=2**63 - 1),
        lambda ws: ws.send(b"abc", BINARY, masked=False),
        lambda ws: ws.send(b"abc", CONTINUATION),
        lambda ws: ws.send(b"abc", 5),
        lambda ws: ws.send(b"abc", BINARY, reserved=7),
        lambda ws: ws.send(b"\xff" * 40),  # no Request
        lambda ws: ws.send(b"p" * 200, PING),
        lambda ws: ws.socket.sendall(os.urandom(3000)),
    ]
    for number, act in enumerate(bad):
        with WebSocket(web.web_port, timeout_s=60) as ws:
            assert ws.accepted
            act(ws)
            with pytest.raises((Closed, ConnectionError)):  # not a TimeoutError: it is cut off
                for _ in range(5):
                    ws.receive()
            del number
    assert_still_ticking(client_of)


@pytest.mark.parametrize("payload, kind, code, why", [(b"hello", TEXT, 1003, "binary"), (b"x" * 5000, BINARY, 1009, "longer")])
def test_a_frame_that_is_refused_is_told_why(web, payload, kind, code, why):
    with WebSocket(web.web_port, timeout_s=60) as ws:
        ws.send(payload, kind)
        with pytest.raises(Closed, match=f"{code} .*{why}"):
            ws.receive()


@pytest.fixture
def client_of(web):
    with web.connect(name="watcher") as connected:
        yield connected


def test_messages_may_come_in_fragments_and_a_megabyte_is_the_most(web):
    with Viewer(web.web_port) as viewer:
        from tactus.messages import Request

        payload = Request(id=77, list_scenes={}).SerializeToString()
        payload += viewer.mac(b"C", viewer.sent, payload)
        viewer.sent += 1
        viewer.send(payload[:1], BINARY, final=False)
        viewer.send(payload[1:5], CONTINUATION, final=False)
        viewer.send(b"still here", PING)
        viewer.send(payload[5:], CONTINUATION)
        assert viewer.reply().id == 77
        with pytest.raises((Closed, ConnectionError)):
            for _ in range(40):
                viewer.send(b"y" * 65000, BINARY if _ == 0 else CONTINUATION, final=False)
            viewer.receive()


def test_a_wrong_mac_ends_the_connection_by_name(web):
    with Viewer(web.web_port) as viewer:
        viewer.key = bytes(32)
        viewer.ask("pause")
        viewer.key = None
        with pytest.raises(Closed) as closed:
            for _ in range(3):
                viewer.receive()
        assert closed.value.code == 1008 and "mac" in closed.value.reason
    assert refused(web)["control_mac"] == 1


def test_garbage_for_http(web, client_of):
    random_bytes = random.Random(5).randbytes
    for data in (b"\0" * 2000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000, b"GET /" + b"a" * 100_000, b"\r\n" * 500,
                 b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", random_bytes(4000), b"\x16\x03\x01\x02\x00" + random_bytes(512)):  # fmt: skip
        http(web.web_port, data, timeout_s=8)
    assert status_of(get(web.web_port, "/")[0]) == 200
    assert_still_ticking(client_of)


def test_a_thousand_silent_connections_keep_nobody_out(make_server, tmp_path):
    server = web_server(make_server, tmp_path, "connections = 40")
    with server.connect(name="watcher") as client:
        sockets = []
        for _ in range(1000):
            s = socket.socket()
            s.settimeout(30)
            s.connect(("127.0.0.1", server.web_port))
            sockets.append(s)
            if len(sockets) % 50 == 0:  # whoever asks is served, whatever the crowd
                assert status_of(get(server.web_port, "/healthz")[0]) == 200
        with WebSocket(server.web_port):
            pass
        assert eventually(lambda: refused_of(client).get("web_too_many_connections", 0) >= 900)
        assert_still_ticking(client)
        assert server.log().count("the oldest silent ones are closed") == 1  # not a line for each
        for s in sockets:
            s.close()
        assert eventually(lambda: status_of(get(server.web_port, "/")[0]) == 200)


def refused_of(client):
    return counts(client.statistics().refused_by_reason)


def test_a_silent_stranger_is_sent_away(web):
    with WebSocket(web.web_port, timeout_s=60) as ws:  # no Hello
        with pytest.raises(Closed, match="handshake"):
            for _ in range(3):
                ws.receive()
    with socket.create_connection(("127.0.0.1", web.web_port), timeout=60) as s:  # no request
        s.sendall(b"GET / HT")
        assert s.recv(1000) == b""


def test_a_half_open_viewer_is_cut_off(make_server, tmp_path):
    """It has shaken hands, and then answers no ping: as one whose cable was pulled."""
    server = web_server(make_server, tmp_path, "silence_s = 3")
    with Viewer(server.web_port, name="gone", timeout_s=60) as viewer, server.connect(name="watcher") as client:
        lease(viewer, "world")
        names = lambda: [c.name for c in client.statistics().clients]  # noqa: E731
        assert "gone" in names()
        assert eventually(lambda: "gone" not in names())
        assert not client.leases()
        assert refused_of(client)["web_silent"] == 1
    assert "answered no ping for 3 s" in server.log()


def test_a_viewer_that_does_not_read_is_cut_off_and_costs_the_others_nothing(make_server, tmp_path):
    server = web_server(make_server, tmp_path, "stall_s = 2\nsilence_s = 60")
    with server.connect(name="watcher") as client, Viewer(server.web_port, name="reader", timeout_s=60) as reader:
        reader.exchange("subscribe", single_precision=True, decimation=10)
        viewer = Viewer(server.web_port, name="sleeper")
        viewer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        names = lambda: [c.name for c in client.statistics().clients]  # noqa: E731
        assert "sleeper" in names()
        viewer.exchange("subscribe", velocity=True, wrench=True, contacts=True)
        end = time.monotonic() + 90
        while refused_of(client).get("web_slow", 0) == 0 and time.monotonic() < end:
            for _ in range(20):
                reader.take()
        assert refused_of(client)["web_slow"] == 1
        viewer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        with pytest.raises(Closed) as closed:  # it wakes up: states of before, and then why
            while True:
                viewer.receive()
        assert closed.value.code == 1008 and "took nothing for 2 s" in closed.value.reason
        assert eventually(lambda: "sleeper" not in names()) and "reader" in names()
        assert_still_ticking(client)
    viewer.socket.close()


def test_the_web_port_can_be_switched_off_and_a_taken_one_is_named(make_server, tmp_path):
    file = tmp_path / "off.toml"
    file.write_text("[web]\nenabled = false\n")
    off = make_server("--config", file).start()
    assert off.web_port == 0
    first = make_server().start()
    second = make_server()
    second.web_port = first.web_port
    code, said = second.run_to_end()
    assert code == 1 and f"web port (TCP) {first.web_port} on 127.0.0.1" in said and "--web-port" in said


# --- what is no business of this door


def test_http2_is_not_spoken(web):
    upgrade = (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
               b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nSec-WebSocket-Protocol: tactus.v1\r\n\r\n")  # fmt: skip
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
    for sent in (upgrade + preface, preface):
        answer = http(web.web_port, sent, timeout_s=8)
        assert b"101 Switching" not in answer and not answer.startswith(b"\0\0"), answer[:80]
    assert status_of(get(web.web_port, "/healthz")[0]) == 200


def metrics_by(port, host):
    return status_of(http(port, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()).decode("latin1"))


def test_metrics_are_asked_by_an_address_or_an_allowed_name(make_server, tmp_path):
    server = web_server(make_server, tmp_path, 'allowed_hosts = "lab-pc prometheus.lab"')
    port = server.web_port
    assert metrics_by(port, "rebound.example.org") == metrics_by(port, f"rebound.example.org:{port}") == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "[::1]", f"lab-pc:{port}", "Prometheus.Lab"):
        assert metrics_by(port, host) == 200, host
