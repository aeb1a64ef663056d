# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics: their names, their endpoint, and the dashboard and alert rules that use them."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lanesum._internal.exporters import exporter
from lanesum.cli import server as server_command
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.rpc import tls
from lanesum.rpc.caller import CallerRole
from lanesum.server.service import serve
from lanesum.server.udp import AggregationServer
from lanesum.transport.stats import TransportStats
from lanesum_control.cli import controller as controller_command
from lanesum_control.controller import process as controller_process
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.process import controller_samples
from lanesum_control.jobs.worker_reports import COUNTS
from lanesum_fabric.metrics import endpoint as endpoint_module
from lanesum_fabric.metrics import exporters
from lanesum_fabric.metrics.endpoint import MAX_CONNECTIONS, MetricsEndpoint
from lanesum_fabric.metrics.exporters import server_samples
from lanesum_fabric.metrics.families import FAMILIES, MAX_LABEL_SETS, Family, Samples
from lanesum_fabric.program.capabilities import SLOT
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.api import CounterValue
from lanesum_switch.cli import switch as switch_command
from lanesum_switch.cli.samples import switch_samples
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.descriptors import none_left
from tests.paths import ROOT

FROZEN = Path(__file__).with_name("metrics.txt")
RULES = ROOT / "deploy" / "prometheus" / "lanesum.rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "lanesum.json"
PAGE = ROOT / "docs" / "metrics.md"
NAMES = {family.name for families in FAMILIES.values() for family in families}
GAUGE = Family("lanesum_test", ("part",), "A test.")


def lines() -> list[str]:
    return [
        " ".join((part, family.name, family.kind, *family.labels))
        for part, families in FAMILIES.items()
        for family in families
    ]


def read(samples: Samples) -> dict[str, float]:
    """Return the values by family and labels, as ``name{label,label}``."""
    return {
        f"{found.name}{{{','.join(found.labels.values())}}}": found.value
        for family in samples.collect()
        for found in family.samples
    }


def text(address: str, context: ssl.SSLContext | None = None) -> str:
    scheme = "http" if context is None else "https"
    with urllib.request.urlopen(f"{scheme}://{address}/metrics", timeout=200, context=context) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return str(answer.read(), "utf-8")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no connection end because the machine is busy."""
    monkeypatch.setattr(endpoint_module, "CONNECTION_S", 200.0)
    monkeypatch.setattr(endpoint_module._Request, "timeout", 200.0)


# Names.


def test_metrics_are_those_of_the_frozen_list() -> None:
    """Dashboards of users have these names: add to the list, and change none."""
    assert lines() == FROZEN.read_text().splitlines()


def test_metric_names_follow_the_conventions() -> None:
    for name in NAMES:
        assert re.fullmatch(r"lanesum_[a-z_]*[a-z]", name)
        assert not re.search(r"_(ms|us|kb|mb|count|sum|bucket|info|created)(_|$)", name)


def test_page_has_every_metric_with_its_labels() -> None:
    found = re.findall(r"^\| `(lanesum_\w+)` \|([^|]*)\| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    rows = [(name, tuple(re.findall(r"`(\w+)`", labels)), meaning.strip()) for name, labels, meaning in found]
    omitted = FAMILIES["worker"][-1]
    documented = [one for part in ("controller", "server", "switch") for one in FAMILIES[part] if one is not omitted]
    assert rows == [(one.name, one.labels, one.meaning) for one in [*documented, omitted]]


def expressions() -> Iterator[str]:
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    dashboard = json.loads(DASHBOARD.read_text())
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    yield from (one["query"]["query"] for one in dashboard["templating"]["list"] if one["name"] == "job")


def test_rules_and_dashboard_use_metrics_that_exist() -> None:
    used = [name for one in expressions() for name in re.findall(r"\blanesum_\w+", one)]
    assert len(used) > 40 and set(used) <= NAMES
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    assert all(rule["annotations"].keys() == {"summary", "action"} for rule in rules)
    leaders = {rule["alert"]: rule["expr"] for rule in rules if "lanesum_controller_leader" in rule["expr"]}
    assert leaders == {
        "LanesumNoLeader": "max(lanesum_controller_leader) == 0",
        "LanesumSeveralLeaders": "sum(lanesum_controller_leader) > 1",
    }


# Samples.


def test_samples_past_bound_are_left_out_and_counted() -> None:
    samples = Samples((GAUGE, FAMILIES["worker"][-1]))
    for number in range(MAX_LABEL_SETS + 3):
        samples.add("lanesum_test", number, number)
    samples.add("lanesum_test", 5, "0")
    found = read(samples)
    assert len(found) == MAX_LABEL_SETS + 1
    assert found["lanesum_test{0}"] == 5 and f"lanesum_test{{{MAX_LABEL_SETS}}}" not in found
    assert found["lanesum_omitted_label_sets{lanesum_test}"] == 3


def test_samples_of_long_names_with_equal_prefix_differ() -> None:
    samples = Samples((GAUGE,))
    for number, name in enumerate(("g" * 200, "g" * 201, "g" * 202)):
        samples.add("lanesum_test", number, name)
    (found,) = samples.collect()
    labels = [sample.labels["part"] for sample in found.samples]
    assert [sample.value for sample in found.samples] == [0, 1, 2]
    assert labels[0] == "g" * 200 and {len(label) for label in labels} == {200}


def test_samples_with_labels_outside_family_raise() -> None:
    with pytest.raises(TypeError, match=r"lanesum_test has the labels \('part',\)"):
        Samples((GAUGE,)).add("lanesum_test", 1)


def test_samples_of_controller_describe_jobs_workers_and_parts() -> None:
    site = Site("tree2x2")
    site.switches["s1"].capabilities = bmv2_pipeline().capabilities
    controller = site.start()
    controller.admit(request("a", workers=2, slots=8))
    held = controller.join("a", 1)
    counts = {**dict.fromkeys(COUNTS, 0), "packets_sent": 7, "latency_us": 1_500_000}
    controller.workers.state(held.job, held.tag, 1, counts=counts)
    site.clock.now += 4
    site.server.away = True
    found = read(controller_samples(controller))
    expected = {
        "lanesum_controller_leader{}": 1,
        "lanesum_jobs{}": 1,
        "lanesum_job_workers{a}": 2,
        "lanesum_job_alive_workers{a}": 0,
        "lanesum_job_slots{a,s1}": 8,
        "lanesum_job_worker_report_age_seconds{a,w2}": 4,
        "lanesum_job_worker_sent_packets_total{a,w2}": 7,
        "lanesum_job_worker_result_latency_seconds_total{a,w2}": 1.5,
        "lanesum_switch_up{s1}": 1,
        "lanesum_switch_slots{s1}": 100,
        "lanesum_switch_used_slots{s1}": 8,
        "lanesum_switch_table_entries{s1,member}": 2,
        "lanesum_switch_table_size{s1,member}": 1024,
        "lanesum_switch_table_entries{s1,descend}": 0,
        "lanesum_switch_table_size{s1,descend}": 1024,
        "lanesum_switch_decisions_total{s1,claim}": 3,
        "lanesum_server_up{server}": 0,
    }
    assert {name: found[name] for name in expected} == expected
    assert not any(name.endswith("{a,w1}") for name in found)
    controller.close()


def test_samples_of_a_standby_have_nothing_else() -> None:
    assert read(controller_samples(None)) == {"lanesum_controller_leader{}": 0}


def test_samples_of_a_server_and_a_switch() -> None:
    with AggregationServer(("127.0.0.1", 0)) as server:
        found = read(server_samples(server))
    assert found["lanesum_server_jobs{}"] == found["lanesum_server_failed_packets_total{}"] == 0
    switch = EmbeddedSwitch()
    switch.process(3, b"frame")
    found = read(switch_samples(switch))
    assert found["lanesum_softswitch_received_packets_total{3}"] == 1
    assert found["lanesum_softswitch_dropped_packets_total{}"] == 1


def test_absorbed_contributions_are_not_dropped_packets() -> None:
    switch = EmbeddedSwitch()
    switch.load(bmv2_pipeline().program)
    slot = switch.tables[SLOT]
    for entry in slot.entries():
        name = entry.target.action.rpartition(".")[2]
        slot.write_counter(entry.match, entry.priority, CounterValue(packets={"claim": 2, "replay": 9}.get(name, 0)))
    absorbed = sum(entry.target.action.endswith(".claim") for entry in slot.entries()) * 2
    for _ in range(absorbed + 5):
        assert switch.process(3, b"frame") == []
    found = read(switch_samples(switch))
    assert found["lanesum_softswitch_absorbed_packets_total{}"] == absorbed > 0
    assert found["lanesum_softswitch_dropped_packets_total{}"] == 5


class FakeSession:
    """The parts of a session that its metrics read."""

    def __init__(self, job: int, packets_sent: int) -> None:
        self.ticket = type("Ticket", (), {"job": job, "worker": 2})()
        self.stats = TransportStats(packets_sent=packets_sent)


def test_worker_serves_all_sessions_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "_endpoint", [])
    monkeypatch.delenv("LANESUM_JOB", raising=False)
    monkeypatch.setenv("LOCAL_RANK", "0")
    sessions: Any = [FakeSession(5, 50), FakeSession(6, 60)]
    for session in sessions:
        exporters.serve_worker(session, "127.0.0.1:0")
    (endpoint,) = exporters._endpoint
    with contextlib.closing(endpoint):
        found = text(endpoint.address)
    for job in (5, 6):
        assert f'lanesum_worker_sent_packets_total{{job="{job}",worker="2"}} {job}0.0' in found
    monkeypatch.setattr(exporters, "_endpoint", [])
    monkeypatch.setenv("LOCAL_RANK", "one")
    with pytest.raises(ConfigurationError, match="Invalid LOCAL_RANK='one': expected a number"):
        exporters.serve_worker(sessions[0], "127.0.0.1:0")


def test_worker_samples_are_of_last_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session before a restart of the job may still be there."""
    monkeypatch.setattr(exporters, "_endpoint", [None])
    monkeypatch.setenv("LANESUM_JOB", "train")
    sessions: Any = [FakeSession(job, sent) for job, sent in enumerate((70, 80, 90))]
    for session in sessions:
        exporters.serve_worker(session, "127.0.0.1:0")
    assert read(exporters.worker_samples())["lanesum_worker_sent_packets_total{train,2}"] == 90


# The endpoint.


def samples_of(*parts: str) -> Callable[[], Samples]:
    def source() -> Samples:
        samples = Samples((GAUGE,))
        for part in parts:
            samples.add("lanesum_test", 1, part)
        return samples

    return source


def test_endpoint_serves_samples_at_one_path() -> None:
    with MetricsEndpoint(samples_of("a", 'b"\n'), "127.0.0.1:0") as endpoint:
        found = text(endpoint.address)
        assert 'lanesum_test{part="a"} 1.0\nlanesum_test{part="b\\"\\n"} 1.0\n' in found
        assert "# TYPE lanesum_test gauge" in found
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://{endpoint.address}/", timeout=200)
        taken = endpoint.address
        with pytest.raises(ConfigurationError, match=rf"cannot be served at {taken}: Address already in use"):
            MetricsEndpoint(samples_of(), taken)


def test_endpoint_caches_samples_for_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "CACHE_S", 3600.0)
    calls: list[int] = []

    def source() -> Samples:
        calls.append(1)
        return samples_of("a")()

    with MetricsEndpoint(source, "127.0.0.1:0") as endpoint:
        assert text(endpoint.address) == text(endpoint.address)
    assert len(calls) == 1


@pytest.mark.parametrize("address", ["9464", "127.0.0.1:x", "127.0.0.1:65536", ":1"])
def test_endpoint_refuses_a_malformed_address(address: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Invalid address of metrics .*expected HOST:PORT"):
        MetricsEndpoint(samples_of(), address)


def test_endpoint_that_others_reach_needs_tls_or_insecure(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"reach 0\.0\.0\.0:0 can use the metrics endpoint.*--insecure"):
        MetricsEndpoint(samples_of(), "0.0.0.0:0")
    MetricsEndpoint(samples_of(), "0.0.0.0:0", insecure=True).close()
    assert "warning: All hosts that reach 0.0.0.0:0" in capsys.readouterr().err


def test_endpoint_answers_beside_hosts_that_hold_connections() -> None:
    """Two addresses with eight silent connections each ended all scrapes."""
    with MetricsEndpoint(samples_of("a"), "127.0.0.1:0") as endpoint:
        host, _, port = endpoint.address.rpartition(":")
        with contextlib.ExitStack() as stack:
            silent = [
                stack.enter_context(socket.create_connection((host, int(port)), 200, (f"127.0.0.{2 + number % 2}", 0)))
                for number in range(MAX_CONNECTIONS)
            ]
            for _ in range(3):
                assert "lanesum_test" in text(endpoint.address)
            assert silent[0].recv(1) == b"", "the oldest connection made room"
            silent[-1].setblocking(False)
            with pytest.raises(BlockingIOError):
                silent[-1].recv(1)


def test_endpoint_without_descriptors_answers_later() -> None:
    with MetricsEndpoint(samples_of("a"), "127.0.0.1:0") as endpoint:
        host, _, port = endpoint.address.rpartition(":")
        with socket.socket() as waiting, none_left():
            waiting.connect((host, int(port)))
            waiting.settimeout(0.3)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
        assert "lanesum_test" in text(endpoint.address)


def test_endpoint_without_thread_counts_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: object) -> None:
        raise RuntimeError("can't start new thread")

    endpoint = MetricsEndpoint(samples_of(), "127.0.0.1:0")
    with contextlib.closing(endpoint), monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", refuse)
        host, _, port = endpoint.address.rpartition(":")
        with socket.create_connection((host, int(port)), 200) as one:
            endpoint._server.handle_request()
            assert one.recv(1) == b""
        assert not endpoint._server._open


def test_endpoint_ends_a_slow_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "CONNECTION_S", 0.05)
    with MetricsEndpoint(samples_of("a"), "127.0.0.1:0") as endpoint:
        host, _, port = endpoint.address.rpartition(":")
        with socket.create_connection((host, int(port)), 200) as slow:
            slow.sendall(b"GET /metrics HTTP/1.0\r\n")
            with contextlib.suppress(ConnectionResetError):  # if the line was not read
                assert slow.recv(1) == b""


def test_endpoint_with_tls_answers_operators_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lanesum_control.security import certs

    monkeypatch.setenv("LANESUM_TLS", "")
    monkeypatch.setenv("GRPC_VERBOSITY", "ERROR")
    certs.init(tmp_path)
    certs.Authority(tmp_path).issue("tenant", CallerRole.TENANT)

    def context(name: str | None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=tmp_path / "controller" / tls.AUTHORITY)
        if name is not None:
            made.load_cert_chain(tmp_path / name / tls.CERTIFICATE, tmp_path / name / tls.KEY)
        return made

    with MetricsEndpoint(samples_of("a"), "127.0.0.1:0", tmp_path / "controller") as endpoint:
        assert "lanesum_test" in text(endpoint.address, context("operator"))
        for name in ("tenant", "worker", None):
            with pytest.raises((OSError, ssl.SSLError)):
                text(endpoint.address, context(name))
        with pytest.raises(OSError):
            text(endpoint.address)
        assert "lanesum_test" in text(endpoint.address, context("operator"))


def test_metrics_without_the_package_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    with pytest.raises(MissingToolError, match=r"pip install 'lanesum\[metrics\]'"):
        exporter("server")


@pytest.fixture
def scraped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the metrics of each command, which ends then."""
    found: list[str] = []
    endpoints: list[MetricsEndpoint] = []
    start = MetricsEndpoint.start

    def started(endpoint: MetricsEndpoint) -> None:
        start(endpoint)
        endpoints.append(endpoint)

    def scrape(_what: str, *_wait: object) -> None:
        found.append(text(endpoints[-1].address))

    monkeypatch.setattr(MetricsEndpoint, "start", started)
    for command in (server_command, controller_process, switch_command):
        monkeypatch.setattr(command, "serve_until_signal", scrape)
    return found


def test_commands_serve_their_metrics(scraped: list[str]) -> None:
    metrics = ["--metrics", "127.0.0.1:0"]
    assert server_command.main(["--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", *metrics]) == 0
    assert "lanesum_server_jobs 0.0" in scraped[-1]
    assert switch_command.main(["--loopback", "--p4runtime", "127.0.0.1:0", *metrics]) == 0
    assert "lanesum_softswitch_dropped_packets_total 0.0" in scraped[-1]
    with serve(("127.0.0.1", 0), "127.0.0.1:0") as (_, service):
        options = ["--listen", "127.0.0.1:0", "--server", service.address]
        assert controller_command.main([*options, *metrics]) == 0
    assert 'lanesum_server_up{server="server"} 1.0' in scraped[-1]
    refused = invoke(["server", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--metrics", "0.0.0.0:0"])
    assert refused.exit_code != 0 and "can use the metrics endpoint" in refused.output


# A real Prometheus.


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian package prometheus)")
def test_promtool_accepts_rules_and_configuration() -> None:
    configuration = ROOT / "deploy" / "prometheus" / "prometheus.yml"
    done = subprocess.run(["promtool", "check", "config", str(configuration)], capture_output=True, text=True)
    assert done.returncode == 0 and "rules found" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not installed (Debian package prometheus)"
)
def test_prometheus_scrapes_a_controller_and_fires_an_alert(tmp_path: Path) -> None:
    site = Site()
    controller = site.start()
    controller.admit(request("a", workers=2, slots=8))
    site.server.away = True
    rules = tmp_path / "lanesum.rules.yml"
    rules.write_text(re.sub(r"for: \d+[ms]", "for: 0s", RULES.read_text()))
    leading: list[Controller] = []
    with MetricsEndpoint(lambda: controller_samples(leading[0] if leading else None), "127.0.0.1:0") as endpoint:
        (tmp_path / "prometheus.yml").write_text(
            (ROOT / "deploy" / "prometheus" / "prometheus.yml")
            .read_text()
            .replace("15s", "200ms")
            .replace("127.0.0.1:9464", endpoint.address)
        )
        command = ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen([*command, "--web.listen-address=127.0.0.1:0"], stderr=log)
        try:
            while (found := re.search(r"Listening on\" address=(\S+)", (tmp_path / "log").read_text())) is None:
                assert process.poll() is None, "prometheus ended"
                time.sleep(0.05)
            listen = found[1]
            query(process, listen, 'ALERTS{alertname="LanesumNoLeader",alertstate="firing"}')
            leading.append(controller)
            assert query(process, listen, 'lanesum_job_slots{job="a"}')[0]["metric"]["switch"] == "s1"
            alert = query(process, listen, 'ALERTS{alertname="LanesumServerLost",alertstate="firing"}')[0]["metric"]
            assert (alert["server"], alert["severity"]) == ("server", "critical")
        finally:
            process.kill()
            process.wait()
    controller.close()


def query(process: subprocess.Popen[bytes], address: str, expression: str) -> list[dict[str, Any]]:
    """Return the result of a query once it has one; the test's time limit ends the wait."""
    url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    while True:
        assert process.poll() is None, "prometheus ended"
        try:
            with urllib.request.urlopen(url, timeout=200) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            found = []
        if found:
            return list(found)
        time.sleep(0.05)
