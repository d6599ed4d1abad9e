"""GET /metrics and /healthz of a running tactusd, read with the public parser; the dashboard asks only for what is there."""
import json
import re
import time

import pytest
from conftest import REPOSITORY, eventually
from prometheus_client.parser import text_string_to_metric_families
from websocket import get, status_of

DASHBOARD = REPOSITORY / "config" / "grafana-dashboard.json"


def scrape(server):
    head, body = get(server.web_port, "/metrics")
    assert status_of(head) == 200 and "version=0.0.4" in head and "no-store" in head
    return {family.name: family for family in text_string_to_metric_families(body.decode())}


def value(families, name, suffix="", **labels):
    sample = next(s for s in families[name].samples if s.name == name + suffix and labels.items() <= s.labels.items())
    return sample.value


def health(server):
    head, body = get(server.web_port, "/healthz")
    return status_of(head), body.decode()


def names_of_dashboard():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    assert len(expressions) >= 10
    return {name for expression in expressions for name in re.findall(r"tactus_[a-z_]+", expression)}


def test_every_family_parses_and_histograms_add_up(make_server):
    server = make_server().start()
    with server.connect(name="arm-of.one") as client, client.claim("block"):
        for _ in range(100):
            client.push("block", (1, 0, 0))
            time.sleep(0.002)

        def seen():
            families = scrape(server)
            clients = families.get("tactus_commands_applied")
            return families if clients and any(s.value >= 50 for s in clients.samples) else None

        families = eventually(seen, timeout_s=30)
    assert families, "the client's commands are in no scrape"
    who = {"client": "arm-of.one"}
    assert value(families, "tactus_commands_received", "_total", **who) >= value(families, "tactus_commands_applied", "_total", **who)
    assert value(families, "tactus_command_age_seconds", "_count", **who) >= 50
    assert 0 < value(families, "tactus_command_age_seconds", "_sum", **who)
    histograms = [f for f in families.values() if f.type == "histogram"]
    assert {"tactus_wake_late_seconds", "tactus_work_seconds", "tactus_stage_seconds"} <= {f.name for f in histograms}
    for family in histograms:
        rows = {}
        for s in family.samples:
            key = tuple(sorted((k, v) for k, v in s.labels.items() if k != "le"))
            rows.setdefault(key, []).append(s)
        for samples in rows.values():
            counts = [s.value for s in samples if s.name.endswith("_bucket")]
            total = next(s.value for s in samples if s.name.endswith("_count"))
            assert counts == sorted(counts) and counts[-1] == total, family.name
    # The stages are all of the work: sums of one scrape, less what a beat recorded while the text was made.
    stages = sum(s.value for s in families["tactus_stage_seconds"].samples if s.name.endswith("_sum"))
    work = value(families, "tactus_work_seconds", "_sum")
    assert stages == pytest.approx(work, rel=0.05)


def test_counters_only_grow_and_the_dashboard_asks_for_what_is_there(make_server):
    server = make_server().start()
    with server.connect(name="arm") as client, client.claim("block"):
        first = scrape(server)
        for _ in range(20):
            client.push("block", (1, 0, 0))
            time.sleep(0.002)
        time.sleep(2.2)  # a sample of net a second
        second = scrape(server)
    for family in first.values():
        if family.type != "counter":
            continue
        later = {tuple(sorted(s.labels.items())): s.value for s in second[family.name].samples}
        assert all(later[tuple(sorted(s.labels.items()))] >= s.value for s in family.samples), family.name
    assert value(second, "tactus_beats", "_total") > value(first, "tactus_beats", "_total")
    known = {s.name for family in second.values() for s in family.samples} | set(second)
    # Only with a link that is watched, a recorder, a slow model or refusals: named by the sources that write them.
    written = set(re.findall(r'"(tactus_[a-z_]+)"', (REPOSITORY / "server" / "net" / "web" / "scrape.cc").read_text()))
    missing = {name for name in names_of_dashboard() if name not in known and re.sub(r"_(bucket|sum|count)$", "", name) not in known | written}
    assert not missing, f"the dashboard asks for what no scrape gives: {missing}"


def test_the_loss_of_each_client_is_its_own(make_server):
    """A quarter of the datagrams of one commander, each way; none of another's, nor of one who only looks."""
    server = make_server().start()
    with server.connect(name="lossy") as lossy, server.connect(name="sound") as sound, server.connect(name="viewer") as viewer:
        lossy.set_link_faults(up={"loss": 0.25}, down={"loss": 0.25}, seed=3)
        viewer.subscribe()
        sound.subscribe(), lossy.subscribe()
        with lossy.claim("block"), sound.claim("ball"):

            def seen():
                for _ in range(300):
                    lossy.push("block", (1, 0, 0)), sound.push("ball", (1, 0, 0))
                    time.sleep(0.002)
                families = scrape(server)
                ready = "tactus_packets_sent" in families and [s for s in families["tactus_packets_sent"].samples if s.labels["client"] == "lossy" and s.value > 2000]
                return families if ready and "tactus_link_loss_ratio" in families else None

            families = eventually(seen, timeout_s=60)
    for direction in ("up", "down"):
        loss = {who: value(families, "tactus_link_loss_ratio", client=who, direction=direction) for who in ("lossy", "sound")}
        assert loss["lossy"] == pytest.approx(0.25, abs=0.08), (direction, loss)
        assert loss["sound"] < 0.02, (direction, loss)
    sent, lost = (value(families, f"tactus_packets_{name}", "_total", client="lossy") for name in ("sent", "lost"))
    assert lost / (sent + lost) == pytest.approx(0.25, abs=0.08)  # what a link with faults loses was not sent
    assert value(families, "tactus_packets_lost", "_total", client="viewer") < 0.02 * sent


def test_a_world_that_was_paused_is_well(make_server):
    server = make_server().start()
    assert eventually(lambda: health(server)[0] == 200, timeout_s=20)
    with server.connect(name="pauser") as client, client.claim("world"):
        client.pause()
        assert eventually(lambda: value_of_mode(server) == "paused", timeout_s=20)
        assert health(server)[0] == 200
        client.resume()


def value_of_mode(server):
    return next(s.labels["mode"] for s in scrape(server)["tactus_info"].samples)


def test_metrics_can_be_switched_off_and_say_so(make_server, tmp_path):
    file = tmp_path / "server.toml"
    file.write_text('[web]\nmetrics = "off"\n')
    server = make_server("--config", file).start()
    head, body = get(server.web_port, "/metrics")
    assert status_of(head) == 403 and b"[web] metrics" in body
    assert health(server)[0] in (200, 503)
