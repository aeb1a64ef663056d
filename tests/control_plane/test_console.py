# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Output of the commands without a terminal."""

from __future__ import annotations

import dataclasses

import pytest

from lanesum_control.capabilities import EVERYTHING
from lanesum_control.service import ControllerService
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_job_list_without_a_terminal_is_complete() -> None:
    controller = Site("tree4x4").start()
    name = "a-name-that-is-much-longer-than-the-column-of-names-in-a-terminal"
    controller.admit(request(name, workers=16, slots=8, codec="fixed", quorum=3))
    with ControllerService(controller, "127.0.0.1:0") as service:
        output = invoke(["job", "list", "--controller", service.address]).output
    (line,) = (line for line in output.splitlines() if name in line)
    assert ", ".join(f"w{number}" for number in range(1, 17)) in line
    (reason,) = controller.job(name).left_out.values()
    assert f"Z: {reason}" in output and "…" not in output


def test_job_list_names_the_pipe_that_combines_sums() -> None:
    site = Site()
    site.switches["s1"].capabilities = dataclasses.replace(EVERYTHING, pipes=True, combining_pipes=frozenset({0}))
    seen = site.network.seen["s1"]
    apart = {"s1": seen | {"w4": dataclasses.replace(seen["w4"], port=130)}}
    site.network = dataclasses.replace(site.network, seen=apart)
    controller = site.start()
    controller.admit(request("a", codec="fixed"))
    with ControllerService(controller, "127.0.0.1:0") as service:
        output = invoke(["job", "list", "--controller", service.address]).output
    assert "sums of its pipes, combined by pipe 0" in output


def test_job_list_keeps_to_columns_that_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    controller = Site("tree4x4").start()
    controller.admit(request("a", workers=16, slots=8, codec="fixed"))
    with ControllerService(controller, "127.0.0.1:0") as service:
        output = invoke(["job", "list", "--controller", service.address]).output
    assert max(map(len, output.splitlines())) <= 70
