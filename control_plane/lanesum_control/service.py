# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller as a gRPC service: admit, join, remove, list."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from lanesum import rpc
from lanesum.json_grpc import Handler, JsonService
from lanesum.protocol.lanes import LaneOp
from lanesum_control.controller import AdmittedJob, Controller, JobRequest
from lanesum_control.errors import AdmissionError


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
        self._service = JsonService(address, rpc.SERVICE, handlers, owner="controller")
        self.port = self._service.port

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
        self._service.start()

    def close(self) -> None:
        """Stop serving; the jobs stay on the switch."""
        self._service.close()

    def __enter__(self) -> ControllerService:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
