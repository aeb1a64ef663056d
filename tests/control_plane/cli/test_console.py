# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Output of the commands without a terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re

import pytest
from rich.table import Table

from lanesum_control.cli.console import console
from lanesum_control.controller.service import ControllerService
from lanesum_fabric.program.capabilities import EVERYTHING
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.docs.names import tracked_files
from tests.paths import ROOT

PACKAGES = ("host", "control_plane", "softswitch", "lab")


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


def test_job_list_marks_certified_jobs() -> None:
    controller = Site().start()
    controller.admit(request("checked", certified=True))
    controller.admit(request("plain"))
    with ControllerService(controller, "127.0.0.1:0") as service:
        output = invoke(["job", "list", "--controller", service.address]).output
        listed = invoke(["job", "list", "--json", "--controller", service.address]).output
    (line,) = (line for line in output.splitlines() if "64, certified" in line)
    assert "checked" in line and "plain" not in line
    assert [job["certified"] for job in json.loads(listed)] == [True, False]


def test_output_of_all_commands_is_complete_when_piped() -> None:
    # One function makes the consoles of standard output; nothing else cuts lines, for no terminal is known to it.
    own = "control_plane/lanesum_control/cli/console.py"
    sources = [name for name in tracked_files() if name.endswith(".py") and name.split("/")[0] in PACKAGES]
    found = {name: re.findall(r"\bConsole\(([^)]*)", (ROOT / name).read_text()) for name in sources if name != own}
    assert len(found) > 300 and all("stderr=True" in made for one in found.values() for made in one)
    wide = Table("a" * 300, "b" * 300)
    wide.add_row("c" * 300, "d" * 300)
    with contextlib.redirect_stdout(io.StringIO()) as piped:
        console().print(wide)
    assert all(letter * 300 in piped.getvalue() for letter in "abcd")


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
