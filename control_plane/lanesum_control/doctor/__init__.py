# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the control plane for ``lanesum doctor``: of this machine, and of the path to switches and servers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from lanesum import environment
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.errors import LanesumError
from lanesum.rpc import controller as rpc
from lanesum_control.doctor import hops, job_reasons, machine, site
from lanesum_control.observe.live_view import Poll
from lanesum_fabric import resources
from lanesum_fabric.program.manifest import COMPILER, MANIFEST, sha256


def checks() -> Iterator[Finding]:
    """Check the machine, the data files and the P4 compiler."""
    yield from machine.checks()
    for name in ("p4src/build", "topologies"):
        try:
            yield ok(name, f"In {resources.directory(name)}.")
        except LanesumError as error:
            yield problem(name, error.what, error.next_step)
    yield builds()
    yield program("p4c", COMPILER, "The committed build of the P4 program is used; changes to it cannot be compiled.")


def builds() -> Finding:
    """Compare the committed programs of switches with their manifest, which the compiler's run wrote."""
    try:
        folder = resources.directory("p4src/build")
        manifest = json.loads((folder / MANIFEST).read_text())
        wrong = [name for name, digest in manifest["outputs"].items() if is_other(folder / name, digest)]
    except (LanesumError, OSError, ValueError) as error:
        return problem("switch programs", f"Their manifest cannot be read: {error}", "Reinstall lanesum-fabric.")
    if wrong:
        what = f"{', '.join(wrong)} is not the file that its manifest names: switches would get another program."
        return problem("switch programs", what, "make p4, or reinstall lanesum-fabric.")
    return ok("switch programs", f"{len(manifest['outputs'])} files, as their manifest names them.")


def is_other(path: Path, digest: str) -> bool:
    """Return True if a file exists with another SHA-256; wheels do not contain the test builds."""
    return path.exists() and sha256(path) != digest


def program(name: str, executable: str, without: str) -> Finding:
    """Report where an optional executable is, or what happens ``without`` it."""
    path = shutil.which(executable)
    if path is None:
        return note(name, f"{executable} is not on PATH. {without} docs/tools.md says where it comes from.")
    return ok(name, f"{path}.")


def path_checks(controller: str | None, job: str | None) -> Iterator[Finding]:
    """Check a controller, its switches and servers, and the path to them; with ``job`` that job alone.

    ``controller``: its address; by default that of ``LANESUM_CONTROLLER``, or the usual one.
    """
    address = controller or os.environ.get(environment.CONTROLLER, f"127.0.0.1:{rpc.DEFAULT_PORT}")
    try:
        yield from _site_checks(address) if job is None else _job_checks(address, job)
    except LanesumError as error:
        yield problem("controller", error.what, error.next_step or "Start it: lanesum controller.")


def _site_checks(address: str) -> Iterator[Finding]:
    examined = rpc.call(address, rpc.EXAMINE, {}, connect_s=rpc.CONNECT_S)
    yield from site.checks(address, examined)
    yield from hops.checks(examined, lambda: rpc.call(address, rpc.COUNTERS, {})["switches"])


def _job_checks(address: str, name: str) -> Iterator[Finding]:
    from lanesum_control.cli.top import snapshot  # imports rich

    jobs = rpc.jobs_by_name(address)
    if name not in jobs:
        names = ", ".join(jobs) or "none"
        step = "Correct the name, or admit the job: lanesum job admit."
        yield problem(f"job {name}", f"The controller has no job {name!r}; its jobs: {names}.", step)
        return
    events = rpc.call(address, rpc.EVENTS, {})["events"]
    examined = None
    with contextlib.suppress(rpc.ControllerError):  # only operators may examine the controller
        examined = rpc.call(address, rpc.EXAMINE, {})
    figures = snapshot(lambda: Poll(time.monotonic(), rpc.call(address, rpc.LIVE, {"job": name})))
    yield from job_reasons.checks(jobs[name], figures["jobs"][0], examined, events)
