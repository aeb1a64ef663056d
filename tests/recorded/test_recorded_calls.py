# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of workers and of the command line, as an earlier build sent them: the answers keep their fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.service import ControllerService
from tests.control_plane.control_fakes import Site
from tests.recorded.record import CALLS_VERSION, FOLDER

# Earlier builds named the tag of a job, a secret of its workers, in answers about jobs.
WITHHELD = "tag"
CALLS = json.loads((FOLDER / f"calls-{CALLS_VERSION}.json").read_text())["calls"]


def shape(value: object, pattern: object) -> object:
    """Return the parts of ``value`` that ``pattern`` has, with types in place of scalars; more fields are no change."""
    if isinstance(value, dict) and isinstance(pattern, dict):
        return {key: shape(value[key], one) for key, one in pattern.items() if key in value and key != WITHHELD}
    if isinstance(value, list) and isinstance(pattern, list) and pattern:
        return [shape(value[0], pattern[0])] if value else []
    return type(value).__name__


def test_controller_answers_recorded_calls_with_the_same_fields() -> None:
    tags: dict[int, int] = {}
    controller = Site("tree2x2").start()
    with ControllerService(controller, "127.0.0.1:0") as running:
        for call in CALLS:
            message: dict[str, Any] = dict(call["message"])
            if "tag" in message:
                message["tag"] = tags[message["tag"]]
            reply = rpc.call(f"127.0.0.1:{running.port}", call["method"], message)
            assert shape(reply, call["reply"]) == shape(call["reply"], call["reply"]), call["method"]
            if call["method"] == rpc.JOIN:
                then, now = (JobTicket.from_json(one["ticket"]) for one in (call["reply"], reply))
                assert (then.job, then.worker, then.slots, then.ops) == (now.job, now.worker, now.slots, now.ops)
                tags[then.tag] = now.tag
    assert {call["method"] for call in CALLS} >= {rpc.ADMIT, rpc.JOIN, rpc.KEEPALIVE, rpc.REMOVE, rpc.EVENTS}


def test_call_of_other_service_version_is_refused() -> None:
    with ControllerService(Site().start(), "127.0.0.1:0") as running:
        address = f"127.0.0.1:{running.port}"
        for service, method in (("lanesum.v2.Controller", rpc.JOBS), (rpc.SERVICE, "Jobs2")):
            with pytest.raises(json_grpc.RefusedCallError, match=r"no such method or service\. Run the same"):
                json_grpc.call(address, service, method, {}, 60)
