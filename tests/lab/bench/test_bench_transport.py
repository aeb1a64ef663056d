# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of transport and server: figures of every kind, and names for what is left out. No speed is judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from lanesum._internal.native import availability
from lanesum_lab.bench import datagrams, transport
from lanesum_lab.bench import server as server_bench
from lanesum_lab.bench.datagrams import IPERF3
from lanesum_lab.veth import obstacle


def bench(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "lanesum.cli", "bench", *arguments, "--quick", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed


def rises(figure: dict[str, float]) -> bool:
    return 0 < figure["min"] <= figure["median"] <= figure["max"]


def kinds() -> set[str]:
    return {"Python"} if availability().core is None else {"Python", "native"}


def test_transport() -> None:
    result = bench("transport")
    paths = {"loopback"} if obstacle() else {"loopback", "1000 Mbit/s"}
    assert {(figure["path"], figure["by"]) for figure in result["latency"]} == {
        (path, by) for path in paths for by in kinds() | {transport.ECHO, transport.ECHOES, transport.ECHO_BURST}
    }
    assert {(figure["path"], figure["by"]) for figure in result["rate"]} == {
        (path, by) for path in paths for by in kinds()
    }
    for figure in result["latency"]:
        assert rises(figure["p50_us"])
        assert rises(figure["p99_us"])
        assert figure["p50_us"]["median"] <= figure["p99_us"]["median"]
        assert figure["by"] != transport.ECHO or set(figure["p50_to_echo"].values()) == {1.0}
    for figure in result["rate"]:
        assert rises(figure["packets_per_s"])
        assert rises(figure["packets_per_cpu_s"])
        assert rises(figure["chunk_p50_s"])
        assert figure["chunk_p50_s"]["median"] <= figure["chunk_p99_s"]["median"]
    assert len(list(transport.chunk_rows(result))) == len(result["rate"])
    assert ("limited links" in result["left_out"]) == bool(obstacle())
    assert ("native" in result["left_out"]) == (availability().core is None)
    assert len(list(transport.latency_rows(result))) == len(result["latency"])


def test_server() -> None:
    result = bench("server")
    assert {(figure["op"], figure["by"]) for figure in result["lanes"]} == {
        (op, by) for op in ("ADD32", "EXPAND8", "TABLE8", "MAX") for by in kinds()
    }
    assert all(rises(figure["added_to_copied"]) for figure in result["lanes"])
    by = {figure["by"]: figure for figure in result["datagrams"]}
    there = shutil.which(IPERF3) is not None
    assert by.keys() == {server_bench.BARE, *(f"server, {kind}" for kind in kinds()), *([IPERF3] if there else [])}
    assert (IPERF3 in result["left_out"]) != there
    for name, figure in by.items():
        assert rises(figure["gbit_s_per_core"])
        assert (figure["to_iperf3"] is not None) == there
        assert (figure["gbit_s_in_all"] is not None) == name.startswith("server")
    assert len(list(server_bench.rows(result))) == len(by)


def test_without_iperf3_it_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "iperf3 is not on PATH" in datagrams.iperf3_missing()


def test_bare_sockets_move_datagrams() -> None:
    assert 0 < datagrams.bare_sockets(1472, 0.05) < 1
