# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of a controller that has several addresses."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from lanesum.errors import ConfigurationError
from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let only 10.0.0.9 answer; return the addresses of all calls."""
    found: list[str] = []

    def call(address: str, *_: Any) -> dict[str, Any]:
        found.append(address)
        if not address.startswith("10.0.0.9:"):
            raise json_grpc.NoConnectionError("No connection.")
        return {}

    monkeypatch.setattr(json_grpc, "call", call)
    monkeypatch.setattr(rpc, "_leaders", {})
    return found


def test_call_of_addresses_with_spaces_reaches_each(called: list[str]) -> None:
    """A name with a space was once looked up, so a standby was never reached."""
    addresses = " 10.0.0.8:19551, 10.0.0.9:19551"
    assert rpc.leader(addresses) == "10.0.0.8:19551"
    assert rpc.call(addresses, rpc.JOBS, {}) == {}
    assert called == ["10.0.0.8:19551", "10.0.0.9:19551"] and rpc.leader(addresses) == called[1]


@pytest.mark.parametrize(("method", "attempts"), [(rpc.ADMIT, 1), (rpc.JOBS, 2)])
def test_change_without_an_answer_is_not_repeated(monkeypatch: pytest.MonkeyPatch, method: str, attempts: int) -> None:
    """The controller may have carried it out; a question is asked again."""
    called: list[str] = []

    def call(address: str, *_: Any) -> dict[str, Any]:
        called.append(address)
        if len(called) == 1:
            raise json_grpc.NoAnswerError("No answer.")
        return {}

    monkeypatch.setattr(json_grpc, "call", call)
    monkeypatch.setattr(rpc, "_leaders", {})
    with contextlib.nullcontext() if attempts > 1 else pytest.raises(rpc.UnreachableError):
        rpc.call("10.0.0.8:19551,10.0.0.9:19551", method, {})
    assert called == ["10.0.0.8:19551", "10.0.0.9:19551"][:attempts]


def test_line_of_other_process_is_printable_and_short() -> None:
    assert rpc.one_line("a \n b\x1b[2Jc\u202ed\x00") == "a b?[2Jc?d?"
    assert rpc.one_line("é" * 10_000) == "é" * rpc.MAX_TEXT


@pytest.mark.parametrize("wrong", ["", "10.0.0.8", ":19551", "10.0.0.8:port"])
def test_call_with_malformed_standby_is_refused_at_once(called: list[str], wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{wrong}' is no address"):
        rpc.call(f"10.0.0.9:19551,{wrong}", rpc.JOBS, {})
    assert not called


@pytest.mark.parametrize(("method", "attempts"), [(rpc.KEEPALIVE, 3), (rpc.ADMIT, 1)])
def test_cancelled_call_is_repeated_unless_it_changes_jobs(
    method: str, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC cancels calls while too many others wait."""
    made: list[float] = []

    def call(_address: str, _service: str, _method: str, _message: Any, timeout_s: float, _connect_s: Any) -> Any:
        made.append(timeout_s)
        if len(made) < 3:
            raise json_grpc.CancelledCallError("No answer.")
        return {}

    monkeypatch.setattr(json_grpc, "call", call)
    with contextlib.suppress(rpc.UnreachableError):
        assert rpc.call("10.0.0.9:1", method, {}) == {}
    assert len(made) == attempts and made == sorted(made, reverse=True)
