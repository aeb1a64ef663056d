# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum server``: its address, from an option or from a topology."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum.cli import server
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.server.service import DEFAULT_CONTROL
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return a list that receives the arguments of ``serve``; no server is started."""
    calls: list[tuple[Any, ...]] = []

    @contextlib.contextmanager
    def serve(*arguments: Any, **options: Any) -> Iterator[tuple[SimpleNamespace, SimpleNamespace]]:
        calls.append((*arguments, options))
        yield SimpleNamespace(address=arguments[0]), SimpleNamespace(address=arguments[1])

    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr(server, "serve_until_signal", lambda _: None)
    return calls


def test_main_with_listen_serves_at_that_address(served: list[tuple[Any, ...]], tmp_path: Path) -> None:
    options = ["--listen", "10.0.0.9:7000", "--journal", str(tmp_path), "--threads", "2", "--offload", "off"]
    assert server.main(options) == 0
    assert served == [
        (("10.0.0.9", 7000), DEFAULT_CONTROL, tmp_path, {"threads": 2, "offload": "off", "credentials": None})
    ]


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ([], ("10.19.0.100", 19539)),
        (["--loopback"], ("127.19.0.100", 19539)),
        (["--loopback", "--behind-switch"], ("127.19.0.100", 19540)),
    ],
)
def test_main_takes_the_address_of_the_topology(
    served: list[tuple[Any, ...]], options: list[str], address: tuple[str, int]
) -> None:
    """Without a switch in between, that is the address in the tickets."""
    assert server.main(options) == 0
    assert served[0][0] == address
    holds_own = "--behind-switch" not in options
    assert holds_own == (address in Network.of(load("star4"), loopback="--loopback" in options).servers)


@pytest.mark.parametrize("text", ["19539", "10.0.0.1", "10.0.0.1:", ":19539", "10.0.0.1:port", "10.0.0.1:²"])
def test_main_with_invalid_listen_raises(served: list[tuple[Any, ...]], text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Invalid --listen '{text}': expected HOST:PORT"):
        server.main(["--listen", text])
    assert served == []


def test_main_without_control_package_names_the_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    with pytest.raises(
        MissingToolError,
        match=r"Topologies need the package lanesum-fabric, .* Give --listen HOST:PORT .* pip install",
    ):
        server.main([])


@pytest.mark.parametrize("options", [["--threads", "many"], ["--offload", "perhaps"], ["--color"]])
def test_main_with_invalid_option_names_it(served: list[tuple[Any, ...]], options: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=f"{options[0]}.* See lanesum server --help"):
        server.main(options)
    assert served == []
