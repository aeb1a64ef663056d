# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The switch benchmark measures what it says, and says what it leaves out."""

from __future__ import annotations

import json
import shutil

import pytest

from lanesum_lab import veth
from lanesum_lab.bench import switch as bench
from lanesum_lab.targets import bmv2


def test_figures_and_what_was_left_out() -> None:
    result = bench.run(bench.SwitchSettings(ops=("ADD32", "TABLE8"), chunks=40, repeats=2))
    json.dumps(result)
    assert result["packets_per_run"] == 160
    labels = {figure["switch"] for figure in result["figures"]}
    assert labels | result["left_out"].keys() == {"embedded in memory", "embedded on veth", "BMv2 on veth"}
    assert not labels & result["left_out"].keys()
    for figure in result["figures"]:
        assert 0 < figure["min_pps"] <= figure["median_pps"] <= figure["max_pps"]
        assert figure["runs"] == 2
        assert (figure["ratio_to_bmv2"] is None) == ("BMv2 on veth" in result["left_out"])
    if not veth.obstacle() and shutil.which(bmv2.PROGRAM) is None:
        assert "is not on PATH" in result["left_out"]["BMv2 on veth"]


def test_without_root_only_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "obstacle", lambda: "network namespaces need root")
    result = bench.run(bench.SwitchSettings(ops=("OR",), chunks=10, repeats=1, accumulator_words=32))
    assert [figure["switch"] for figure in result["figures"]] == ["embedded in memory"]
    assert set(result["left_out"].values()) == {"network namespaces need root"}


def test_switch_that_loses_packets_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "obstacle", lambda: "not here")
    real = bench.EmbeddedSwitch.process

    def lossy(self: bench.EmbeddedSwitch, port: int, frame: bytes) -> list[object]:
        return [] if port == 2 else list(real(self, port, frame))

    monkeypatch.setattr(bench.EmbeddedSwitch, "process", lossy)
    with pytest.raises(bench.BenchError, match="The embedded switch sent 0 results, not "):
        bench.run(bench.SwitchSettings(ops=("ADD32",), chunks=10, repeats=1))
