# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the control plane for ``lanesum doctor``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum_control import resources
from lanesum_control.p4build import COMPILER


def checks() -> Iterator[Finding]:
    """Check the data files and the P4 compiler."""
    for name in ("p4src/build", "topologies"):
        try:
            yield ok(name, f"In {resources.directory(name)}.")
        except LanesumError as error:
            yield problem(name, error.what, error.next_step)
    yield program("p4c", COMPILER, "The committed build of the P4 program is used; changes to it cannot be compiled.")


def program(name: str, executable: str, without: str) -> Finding:
    """Report where an optional executable is, or what happens ``without`` it."""
    path = shutil.which(executable)
    if path is None:
        return note(name, f"{executable} is not on PATH. {without}")
    return ok(name, f"{path}.")
