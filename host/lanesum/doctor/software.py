# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what is installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator

from lanesum._internal.native import Availability, availability
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.protocol.spec import VERSION

_INSTALL_NATIVE = "apt install g++ && pip install ./host/native, or make setup."


def versions() -> Iterator[Finding]:
    """Who speaks which version."""
    yield ok("protocol", f"Version {VERSION}.")
    yield ok("Python", f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()}).")
    yield ok("numpy", _version("numpy"))


def _version(distribution: str) -> str:
    try:
        return f"{importlib.metadata.version(distribution)}."
    except importlib.metadata.PackageNotFoundError:  # built in place, for example
        return "Installed; its version is not known."


def _native() -> Availability | LanesumError:
    try:
        return availability()
    except LanesumError as error:
        return error


def implementations() -> Iterator[Finding]:
    """Which transport and which server are used, and why not the other ones."""
    found = _native()
    if isinstance(found, LanesumError):
        yield problem("native", found.what, found.next_step or f"Set it to auto, or install it: {_INSTALL_NATIVE}")
        return
    if found.core is None:
        next_step = "" if found.reason.endswith("=off.") else _INSTALL_NATIVE
        yield note("transport", f"In Python. {found.reason}", next_step)
        yield note("server", f"In Python. {found.reason}", next_step)
        return
    yield ok("transport", f"Compiled. {found.reason}")
    yield ok("server", "Compiled; jobs with a quorum are served in Python.")


def lanes() -> Iterator[Finding]:
    """Which vector instructions the compiled lane operations use."""
    found = _native()
    if isinstance(found, LanesumError) or found.core is None:
        yield note("lane operations", "By numpy.")
        return
    if not hasattr(found.core, "lane_level"):
        yield problem(
            "lane operations", "The compiled part is older than lanesum.", f"Install it anew: {_INSTALL_NATIVE}"
        )
        return
    levels = ", ".join(found.core.lane_levels())
    yield ok(
        "lane operations", f"Compiled, with vectors of level {found.core.lane_level()}; the processor has {levels}."
    )


# Package, what pip calls it, what it is for, and how to install it.
_PACKAGES = (
    ("grpc", "grpcio", "controller and server control", "pip install grpcio."),
    ("torch", "torch", "DDP hook", "pip install 'lanesum[torch]'."),
    ("lanesum_control", "lanesum-control", "controller and topologies", "pip install lanesum-control."),
    ("lanesum_switch", "lanesum-switch", "embedded switch", "pip install lanesum-switch."),
    ("lanesum_lab", "lanesum-lab", "runs and benchmarks", "pip install lanesum-lab."),
)


def packages() -> Iterator[Finding]:
    """Packages that parts of lanesum need; they are not imported, which would take seconds."""
    for module, distribution, purpose, install in _PACKAGES:
        if importlib.util.find_spec(module) is None:
            yield note(distribution, f"Not installed: no {purpose}.", install)
        else:
            yield ok(distribution, _version(distribution))
