# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Spans for an OpenTelemetry collector: those of job traces, and the calls of a controller.

OpenTelemetry's SDK is imported where spans are asked for, and reads its usual variables (``OTEL_*``).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from lanesum._internal.closing import Closing
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller
from lanesum_fabric.errors import ControlError

_PROTOCOL = "http/protobuf"
_BATCH = 512  # spans of one request
_END_S = 2.0  # for the last spans of a controller that ends


class CollectorError(ControlError):
    """The OpenTelemetry collector does not answer, or refuses spans."""


def _variable(name: str, default: str) -> tuple[str, str]:
    """Return name and value of a variable of the exporter: that for traces, or else that for everything."""
    names = (f"OTEL_EXPORTER_OTLP_TRACES_{name}", f"OTEL_EXPORTER_OTLP_{name}")
    return next(((one, value) for one in names if (value := os.environ.get(one))), (names[1], default))


def _exporter() -> Any:
    """Return a new exporter. Raises ConfigurationError, MissingToolError."""
    name, protocol = _variable("PROTOCOL", _PROTOCOL)
    if protocol != _PROTOCOL:
        raise ConfigurationError(f"{name}={protocol!r} is not supported.", f"Set it to {_PROTOCOL}, or unset it.")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise MissingToolError(
            f"Traces need OpenTelemetry, which is not installed: {error}.",
            "Run: pip install 'lanesum-control[opentelemetry]'",
        ) from error
    return OTLPSpanExporter()


def _provider(service: str, processor: Any, **attributes: str) -> Any:
    """Return a provider whose spans have this service; ``OTEL_SERVICE_NAME`` and resource attributes precede it."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider

    own = Resource({"service.name": service, **attributes})
    provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


def export(job: str, traces: Sequence[Mapping[str, Any]]) -> int:
    """Send the spans of a job's traces, the messages of ``Traces``; return how many the collector has taken.

    All workers' spans of a step are one trace.

    Raises:
        ConfigurationError: ``OTEL_EXPORTER_OTLP_PROTOCOL`` has another protocol.
        MissingToolError: OpenTelemetry is not installed.
        CollectorError: the collector did not take all spans.
    """
    exporter = _exporter()
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    made = InMemorySpanExporter()
    _record(job, traces, SimpleSpanProcessor(made))
    spans = made.get_finished_spans()
    try:
        for first in range(0, len(spans), _BATCH):
            if exporter.export(spans[first : first + _BATCH]) is not SpanExportResult.SUCCESS:
                name, endpoint = _variable("ENDPOINT", "http://localhost:4318")
                raise CollectorError(
                    f"The collector at {endpoint} took {first} of {len(spans)} spans.",
                    f"Start one that takes OTLP over HTTP there, or set {name}.",
                )
    finally:
        exporter.shutdown()
    return len(spans)


def _record(job: str, traces: Sequence[Mapping[str, Any]], processor: Any) -> None:
    """Record a span for each step, for each worker in it, and for each of the worker's phases and rounds."""
    steps: dict[int, dict[int, list[Sequence[Any]]]] = defaultdict(dict)
    tracers = {}
    for trace in traces:
        worker = trace["worker"]
        instance = {"service.instance.id": f"{job}/{worker}", "host.name": trace["host"]}
        tracers[worker] = _provider("lanesum-worker", processor, **instance).get_tracer("lanesum")
        for span, step in zip(trace["spans"], trace["steps"], strict=True):
            steps[step].setdefault(worker, []).append(span)
    job_tracer = _provider("lanesum-job", processor).get_tracer("lanesum")
    for step, workers in sorted(steps.items()):
        attributes = {"lanesum.job": job, "lanesum.step": step}
        root = _record_span(job_tracer, "lanesum::step", itertools.chain(*workers.values()), None, attributes)
        for worker, spans in workers.items():
            of = {**attributes, "lanesum.worker": worker}
            parent = _record_span(tracers[worker], "lanesum::worker", spans, root, of)
            for span in spans:
                _record_span(tracers[worker], span[0], [span], parent, of)


def _record_span(
    tracer: Any, name: str, spans: Iterable[Sequence[Any]], parent: Any, attributes: Mapping[str, Any]
) -> Any:
    """Record a span from the first begin to the last end of ``spans``, which are in microseconds since 1970."""
    from opentelemetry.trace import set_span_in_context

    times = [(begin, end) for _, begin, end in spans]
    context = None if parent is None else set_span_in_context(parent)
    made = tracer.start_span(name, context, attributes=attributes, start_time=1000 * min(begin for begin, _ in times))
    made.end(1000 * max(end for _, end in times))
    return made


class CallSpans(Closing):
    """Spans of a controller's calls, which a background thread sends; those that do not fit its queue are lost.

    Raises ConfigurationError, MissingToolError.
    """

    def __init__(self) -> None:
        self._exporter = _exporter()
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._provider = _provider("lanesum-controller", BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("lanesum")

    def open(self, method: str, job: object, caller: Caller) -> AbstractContextManager[object]:
        """Return a context manager that records a call as a span; an exception is its status."""
        from opentelemetry.trace import SpanKind

        attributes = {
            "rpc.method": method,
            "lanesum.job": rpc.one_line(job),
            "lanesum.caller": caller.label,
            "client.address": caller.source,
        }
        span: AbstractContextManager[object] = self._tracer.start_as_current_span(
            f"lanesum/{method}", kind=SpanKind.SERVER, attributes=attributes, record_exception=False
        )
        return span

    def close(self) -> None:
        """Send the last spans; a collector that does not answer takes two seconds and one attempt. Idempotent."""
        late = threading.Timer(_END_S, self._exporter.shutdown)
        late.start()
        self._provider.shutdown()
        late.cancel()
