# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Spans for OpenTelemetry, as a collector in this process receives them."""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.rpc import controller as rpc
from lanesum_control.cli import job as job_command
from lanesum_control.controller.service import ControllerService
from lanesum_control.observe import opentelemetry
from lanesum_control.observe.opentelemetry import CallSpans, CollectorError
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.docs.names import tracked_files
from tests.paths import ROOT

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

BEGIN_US = 1_790_000_000_000_000


class Collector:
    """OTLP collector over HTTP that keeps what it gets, and answers with ``status``."""

    def __init__(self) -> None:
        self.status = 200
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.resource_spans: list[dict[str, Any]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.paths.append(self.path)
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                if collector.status == 200:
                    message = ExportTraceServiceRequest.FromString(body)
                    collector.resource_spans += MessageToDict(message)["resourceSpans"]
                self.send_response(collector.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spans(self) -> list[dict[str, Any]]:
        """Return the spans, each with the attributes of its resource."""
        return [
            {**span, "of": plain(one["resource"]["attributes"]), "own": plain(span.get("attributes", []))}
            for one in self.resource_spans
            for scope in one["scopeSpans"]
            for span in scope["spans"]
        ]


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    found = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")
    monkeypatch.setattr(opentelemetry, "_END_S", 60.0)  # ends with the last spans
    yield found
    found.close()


def traces() -> list[dict[str, Any]]:
    """Two steps of two workers; the second worker is 40 µs later."""
    times = [("lanesum::encode", 0, 100), ("lanesum::round", 100, 900), ("lanesum::encode", 1000, 1300)]
    return [
        {
            "worker": worker,
            "host": f"w{worker + 1}",
            "spans": [[name, BEGIN_US + late + begin, BEGIN_US + late + end] for name, begin, end in times],
            "steps": [7, 7, 8],
            "error_us": 10,
            "offset_us": 0,
        }
        for worker, late in ((0, 0), (1, 40))
    ]


def test_spans_of_all_workers_form_one_trace(collector: Collector) -> None:
    assert opentelemetry.export("train", traces()) == 12
    spans = collector.spans()
    names = {"lanesum::step": 2, "lanesum::worker": 4, "lanesum::encode": 4, "lanesum::round": 2}
    assert Counter(one["name"] for one in spans) == names
    by_id = {one["spanId"]: one for one in spans}
    assert len(by_id) == 12 and len({one["traceId"] for one in spans}) == 2
    parents = {"lanesum::worker": "lanesum::step", "lanesum::encode": "lanesum::worker"}
    for one in spans:
        assert one["own"]["lanesum.job"] == "train"
        if one["name"] == "lanesum::step":
            assert not one.get("parentSpanId") and one["of"]["service.name"] == "lanesum-job"
            continue
        parent = by_id[one["parentSpanId"]]
        assert parent["name"] == parents.get(one["name"], "lanesum::worker")
        assert (parent["traceId"], parent["own"]["lanesum.step"]) == (one["traceId"], one["own"]["lanesum.step"])
        worker = int(one["own"]["lanesum.worker"])
        assert one["of"] == {
            "service.name": "lanesum-worker",
            "service.instance.id": f"train/{worker}",
            "host.name": f"w{worker + 1}",
        }
    (step,) = (one for one in spans if one["name"] == "lanesum::step" and one["own"]["lanesum.step"] == "7")
    assert int(step["startTimeUnixNano"]) == 1000 * BEGIN_US
    assert int(step["endTimeUnixNano"]) == 1000 * (BEGIN_US + 940)
    assert {*collector.paths} == {"/v1/traces"}


def test_variables_of_opentelemetry_are_obeyed(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/other")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=lab")
    opentelemetry.export("train", traces())
    assert {*collector.paths} == {"/other"} and {one["x-key"] for one in collector.headers} == {"secret"}
    assert {(one["of"]["service.name"], one["of"]["deployment.environment"]) for one in collector.spans()} == {
        ("mine", "lab")
    }
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    assert opentelemetry.export("train", traces()) == 0


def test_spans_that_the_collector_refuses_are_an_error(collector: Collector) -> None:
    collector.status = 400
    with pytest.raises(CollectorError, match=rf"The collector at {collector.url} took 0 of 12 spans"):
        opentelemetry.export("train", traces())


def test_collector_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with pytest.raises(CollectorError, match="took 0 of 12 spans"):
        opentelemetry.export("train", traces())


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"])
def test_other_protocol_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "grpc")
    with pytest.raises(ConfigurationError, match=f"{name}='grpc' is not supported"):
        opentelemetry.export("train", traces())


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingToolError, match="Traces need OpenTelemetry, which is not installed: "):
        CallSpans()


def test_no_module_imports_opentelemetry_when_it_is_loaded() -> None:
    sources = [ROOT / name for name in tracked_files() if name.endswith(".py") and not name.startswith("tests/")]
    assert len(sources) > 500
    assert not [path for path in sources if re.search(r"^(from|import) opentelemetry", path.read_text(), re.MULTILINE)]


def test_calls_of_controller_are_spans_with_errors(collector: Collector, site: Site) -> None:
    controller = site.start()
    with CallSpans() as spans, ControllerService(controller, "127.0.0.1:0", spans=spans) as service:
        message = {"name": "a", "workers": ["w1"], "codec": None}
        rpc.call(service.address, rpc.ADMIT, message)
        with pytest.raises(rpc.ControllerError):
            rpc.call(service.address, rpc.ADMIT, message)
        rpc.call(service.address, rpc.JOIN, {"job": "a", "worker": 0})
        rpc.call(service.address, rpc.JOBS, {})
        rpc.call(service.address, rpc.REMOVE, {"job": "a"})
    found = sorted(collector.spans(), key=lambda one: int(one["startTimeUnixNano"]))
    assert [one["name"] for one in found] == [
        f"lanesum/{name}" for name in (rpc.ADMIT, rpc.ADMIT, rpc.JOIN, rpc.REMOVE)
    ]
    assert {one["of"]["service.name"] for one in found} == {"lanesum-controller"}
    assert {one["own"]["lanesum.job"] for one in found} == {"a"}
    failed = [one["status"].get("message", "") for one in found]
    assert failed[1].startswith("AdmissionError: ") and not any(failed[:1] + failed[2:])


def test_controller_without_a_collector_serves_and_ends(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(opentelemetry, "_END_S", 0.05)
    controller = site.start()
    with CallSpans() as spans, ControllerService(controller, "127.0.0.1:0", spans=spans) as service:
        controller.admit(request("a", workers=1))
        rpc.call(service.address, rpc.REMOVE, {"job": "a"})
        assert rpc.call(service.address, rpc.JOBS, {})["jobs"] == []


def test_job_trace_sends_its_spans(collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def call(_controller: str, _method: str, message: dict[str, Any]) -> dict[str, Any]:
        return {"traces": traces()} if message.get("end") else {"workers": [0, 1]}

    monkeypatch.setattr(job_command, "_call", call)
    command = ["job", "trace", "train", "--seconds", "0.1", "--out", str(tmp_path / "trace.json"), "--otlp"]
    done = invoke(command)
    assert done.exit_code == 0 and "12 spans sent" in done.output
    assert len(collector.spans()) == 12
