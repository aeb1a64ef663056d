# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what is installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
from collections.abc import Iterator

from lanesum import resources
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.native import Availability, availability
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


def files() -> Iterator[Finding]:
    """What lanesum brings along besides Python."""
    for name in ("p4src/build", "topologies"):
        try:
            yield ok(name, f"In {resources.directory(name)}.")
        except LanesumError as error:
            yield problem(name, error.what, error.next_step)


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


# Package, what pip calls it, what it is for, and the extra that brings it.
_PACKAGES = (
    ("torch", "torch", "the DDP hook and the training example", "torch"),
    ("grpc", "grpcio", "controller, server control and switches", "p4"),
    ("p4", "p4runtime", "controller, server control and switches", "p4"),
    ("sklearn", "scikit-learn", "the training example", "train"),
)


def packages() -> Iterator[Finding]:
    """Packages that parts of lanesum need; they are not imported, which would take seconds."""
    for module, distribution, purpose, extra in _PACKAGES:
        if importlib.util.find_spec(module) is None:
            yield note(distribution, f"Not installed: no {purpose}.", f"pip install 'lanesum[{extra}]'.")
        else:
            yield ok(distribution, _version(distribution))


def programs() -> Iterator[Finding]:
    """Programs that lanesum uses where they are there."""
    # Only what needs them pulls these in: an installation without gRPC can be examined too.
    from lanesum_control.p4build import COMPILER
    from lanesum_switch.bmv2 import PROGRAM as BMV2

    for name, program, without in (
        ("BMv2", BMV2, "Runs use the embedded switch."),
        ("p4c", COMPILER, "The committed build of the P4 program is used; changes to it cannot be compiled."),
    ):
        path = shutil.which(program)
        if path is None:
            yield note(name, f"{program} is not on PATH. {without}")
        else:
            yield ok(name, f"{path}.")
