# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum bench codec`` on a device, which is the interpreter here: kernels beside PyTorch's operations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from lanesum_lab.bench import codec, comparison, devices, pictures  # noqa: E402


def test_codecs_with_kernels_are_measured_on_the_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A codec that decodes other bits than on the host, or leaves them there, has no figure but an error."""
    fake = devices.Device(torch.device("cpu"), {"kind": "none", "name": "Another 9000"})
    monkeypatch.setattr(codec, "device", lambda name: fake)
    some = ("thc 4", "topk", "sketch")
    settings = codec.CodecSettings(
        values=4096, repeats=1, compared=4096, recorded=False, devices=("cuda",), codecs=some
    )
    result = codec.run(settings)
    json.dumps(result)
    speeds = {(one["codec"], one["by"]): one for one in result["figures"]}
    peer = "PyTorch, Another 9000"
    assert {by for _, by in speeds} == {"Another 9000", peer} and len(speeds) == 5
    for one in speeds.values():
        assert all(spread["min"] > 0 for spread in one["ns_per_value"].values()) and one["times_peer"]["min"] > 0
    assert speeds["thc, 4 bits", peer]["times_peer"]["median"] == 1
    where = [
        ("thc 4", comparison.GAUSSIAN),
        ("topk", comparison.GAUSSIAN),
        *((name, comparison.SPARSE) for name in some),
    ]
    assert [(one["codec"], one["vectors"]) for one in result["comparison"]] == where
    assert {one["device"] for one in result["comparison"]} == {"Another 9000"}
    assert all(len(row) == len(codec.COLUMNS) for row in codec.rows(result))
    assert [row[1] for row in comparison.rows(result)] == [name for name, _ in where], (
        "one device needs no name in every row"
    )
    pictures.codec(result, tmp_path / "codec.png")
    assert (tmp_path / "codec.png").stat().st_size > 10_000
