# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Orders for ``tc`` are accepted without a warning, at any rate."""

from __future__ import annotations

import subprocess

import pytest

from lanesum_lab import veth


@pytest.mark.skipif(bool(veth.obstacle()), reason=veth.obstacle())
@pytest.mark.parametrize("rate_mbit", [0.01, 1, 10, 1000, 100_000])
def test_htb_orders_have_no_warning(rate_mbit: float) -> None:
    limits = [veth.htb_rate("lo", rate_mbit, overhead=24), veth.htb_rate("lo", rate_mbit, burst=15_000)]
    orders = [veth.htb_root("lo"), *limits]
    done = subprocess.run(
        ["unshare", "--net", "tc", "-batch", "-"], input="\n".join(orders), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert veth.rate_obstacle() == ""


def test_obstacle_names_the_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "unshare is not on PATH" in veth.rate_obstacle()
