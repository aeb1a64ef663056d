# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of installed software."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator

from lanesum._internal.native import Availability, availability
from lanesum._internal.processors import thread_choice, transport_thread_choice
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.protocol.spec import VERSION

_INSTALL_NATIVE = "apt install g++ python3-dev, then: pip install ./host/native"


def versions() -> Iterator[Finding]:
    """Report the versions of protocol, Python and NumPy."""
    yield ok("protocol", f"Version {VERSION}.")
    yield ok("Python", f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()}).")
    yield ok("numpy", _version("numpy"))


def _version(distribution: str) -> str:
    try:
        return f"{importlib.metadata.version(distribution)}."
    except importlib.metadata.PackageNotFoundError:  # for example built in place
        return "Installed, without a version."


def _native() -> Availability | LanesumError:
    try:
        return availability()
    except LanesumError as error:
        return error


def implementations() -> Iterator[Finding]:
    """Report which transport and server implementation is in use, and why."""
    found = _native()
    if isinstance(found, LanesumError):
        step = found.next_step or f"Set it to auto, or install the extension: {_INSTALL_NATIVE}"
        yield problem("native", found.what, step)
        return
    if found.core is None:
        next_step = "" if found.reason.endswith("=off.") else _INSTALL_NATIVE
        yield note("transport", f"In Python. {found.reason}", next_step)
        yield note("server", f"In Python. {found.reason}", next_step)
        return
    yield ok("transport", f"Native. {found.reason}")
    yield ok("server", "Native; jobs with a quorum are served in Python.")


def lanes() -> Iterator[Finding]:
    """Report which vector instructions the native lane operations use."""
    found = _native()
    if isinstance(found, LanesumError) or found.core is None:
        yield note("lane operations", "By NumPy.")
        return
    if not hasattr(found.core, "lane_level"):
        what = "The native extension is older than lanesum."
        yield problem("lane operations", what, f"Install it again: {_INSTALL_NATIVE}")
        return
    levels = ", ".join(found.core.lane_levels())
    yield ok("lane operations", f"Native, with vectors of level {found.core.lane_level()}; the processor has {levels}.")


def threads() -> Iterator[Finding]:
    """Report the numbers of threads of codecs and transport, and why."""
    for name, choose in (("codec threads", thread_choice), ("transport threads", transport_thread_choice)):
        try:
            chosen = choose()
        except LanesumError as error:
            yield problem(name, error.what, "Correct the variable, or unset it: it has a default.")
            continue
        yield ok(name, f"{chosen.number} ({chosen.reason}).")


# Module, its distribution, its purpose, and the command that installs it.
_PACKAGES = (
    ("grpc", "grpcio", "controller and server control", "pip install grpcio."),
    ("torch", "torch", "DDP hook", "pip install 'lanesum[torch]'."),
    ("lanesum_fabric", "lanesum-fabric", "topologies and metrics", "pip install lanesum-fabric."),
    ("lanesum_control", "lanesum-control", "controller", "pip install lanesum-control."),
    ("lanesum_switch", "lanesum-switch", "embedded switch", "pip install lanesum-switch."),
    ("lanesum_lab", "lanesum-lab", "runs and benchmarks", "pip install lanesum-lab."),
)


def packages() -> Iterator[Finding]:
    """Report optional packages. They are not imported, which would take seconds."""
    for module, distribution, purpose, install in _PACKAGES:
        if importlib.util.find_spec(module) is None:
            yield note(distribution, f"Not installed: no {purpose}.", install)
        else:
            yield ok(distribution, _version(distribution))
