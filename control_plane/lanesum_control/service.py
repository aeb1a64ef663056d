# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller as a gRPC service: admit, join, remove, list."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from types import TracebackType
from typing import Any

import grpc

from lanesum import rpc
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum_control.controller import AdmittedJob, Controller, JobRequest
from lanesum_control.errors import AdmissionError

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def request_from_message(message: dict[str, Any]) -> JobRequest:
    """Raises AdmissionError for a message that is no job request."""
    try:
        fields = dict(message)
        fields["workers"] = tuple(fields["workers"])
        if "ops" in fields:
            fields["ops"] = tuple(LaneOp[name] for name in fields["ops"])
        return JobRequest(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise AdmissionError(f"Not a job request: {error!r}.") from error


def job_message(admitted: AdmittedJob) -> dict[str, Any]:
    """What the service says about a job."""
    job = admitted.switch_job
    return {
        "name": admitted.request.name,
        "job": job.job,
        "workers": list(admitted.request.workers),
        "slot_base": job.slot_base,
        "slots": job.slot_count,
        "group": job.group,
        "ops": [op.name for op in job.ops],
    }


class ControllerService:
    """Serves ``controller`` at ``address`` (``host:port``; port 0 picks one, see ``port``).

    Raises ConfigurationError when the port is taken.
    """

    def __init__(self, controller: Controller, address: str) -> None:
        self._controller = controller
        handlers: dict[str, Handler] = {
            rpc.JOIN: self._join,
            rpc.ADMIT: self._admit,
            rpc.REMOVE: self._remove,
            rpc.JOBS: self._jobs,
            rpc.COUNTERS: self._counters,
        }
        methods = {name: _rpc_handler(handler) for name, handler in handlers.items()}
        # Port reuse would let a second controller share the port silently.
        self._server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(rpc.SERVICE, methods),))
        try:
            self.port: int = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise ConfigurationError(
                f"The controller cannot listen at {address}.",
                "Another process holds the port, or the address is not this host's.",
            ) from error

    def _join(self, message: dict[str, Any]) -> dict[str, Any]:
        worker = message.get("worker")
        if not isinstance(worker, int):
            raise AdmissionError(f"{worker!r} is no worker number.")
        return {"ticket": self._controller.join(str(message.get("job")), worker).to_json()}

    def _admit(self, message: dict[str, Any]) -> dict[str, Any]:
        return job_message(self._controller.admit(request_from_message(message)))

    def _remove(self, message: dict[str, Any]) -> dict[str, Any]:
        self._controller.remove(str(message.get("job")))
        return {}

    def _jobs(self, _message: dict[str, Any]) -> dict[str, Any]:
        return {"jobs": [job_message(job) for job in self._controller.jobs()]}

    def _counters(self, _message: dict[str, Any]) -> dict[str, Any]:
        return {"packets": self._controller.switch.decisions()}

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        """Stop serving; the jobs stay on the switch."""
        self._server.stop(grace=None).wait()

    def __enter__(self) -> ControllerService:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _rpc_handler(handler: Handler) -> Any:
    def handle(message: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            return handler(message)
        except LanesumError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            raise AssertionError("abort raises") from error

    return grpc.unary_unary_rpc_method_handler(handle, rpc.decode, rpc.encode)
