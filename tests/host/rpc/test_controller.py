# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of a controller that has several addresses."""

from __future__ import annotations

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
    addresses = " 10.0.0.8:50551, 10.0.0.9:50551"
    assert rpc.leader(addresses) == "10.0.0.8:50551"
    assert rpc.call(addresses, rpc.JOBS, {}) == {}
    assert called == ["10.0.0.8:50551", "10.0.0.9:50551"] and rpc.leader(addresses) == called[1]


@pytest.mark.parametrize("wrong", ["", "10.0.0.8", ":50551", "10.0.0.8:port"])
def test_call_with_malformed_standby_is_refused_at_once(called: list[str], wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{wrong}' is no address"):
        rpc.call(f"10.0.0.9:50551,{wrong}", rpc.JOBS, {})
    assert not called
