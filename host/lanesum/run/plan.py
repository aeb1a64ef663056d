# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a run is asked to do, and on what it will run: decided before anything starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanesum import codecs
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_control.controller import DEFAULT_SLOTS, worker_names
from lanesum_control.topology import Topology, load
from lanesum_switch import veth

Runner = Literal["loopback", "mininet"]
SwitchKind = Literal["embedded", "bmv2"]
BMV2 = "simple_switch_grpc"
MININET_PROGRAMS = ("mnexec", "ip")
RUNNERS: tuple[Runner, ...] = ("loopback", "mininet")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run. ``why`` is one sentence for the user on the choice of runner and switch."""

    topology: Topology
    topology_source: str  # name or file, for the processes that read it again
    runner: Runner
    switch: SwitchKind
    why: str
    workers: tuple[str, ...]
    codec: str
    epochs: int
    slots: int
    out: Path

    @property
    def target(self) -> str:
        """How reports name what summed the gradients."""
        name = "simple_switch_grpc (BMv2)" if self.switch == "bmv2" else "embedded switch"
        return f"{name} on {self.runner}"


def mininet_obstacle() -> str:
    """Why Mininet cannot be used here; empty when it can."""
    if os.geteuid() != 0:
        return "Mininet needs root"
    missing = [program for program in MININET_PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed (apt install mininet iproute2)"
    if mininet_path() is None:
        return "the Python package of Mininet is not installed (apt install mininet)"
    return veth.obstacle()


def mininet_path() -> Path | None:
    """The folder to import ``mininet`` from; Debian installs it for the system's Python only."""
    found = importlib.util.find_spec("mininet")
    if found is not None and found.origin is not None:
        return Path(found.origin).parents[1]
    system = Path("/usr/lib/python3/dist-packages")
    return system if (system / "mininet" / "net.py").exists() else None


def make_plan(*, topology: str, runner: str | None, workers: int | None, codec: str, epochs: int, out: Path) -> RunPlan:
    """Check everything that can be checked before a process starts.

    Args:
        topology: a shipped topology's name or a YAML file; also ``loopback`` or ``mininet``, which mean star4 there.
        runner: ``loopback``, ``mininet``, or None to choose.
        workers: how many of the topology's workers take part; None for all.
        codec: name of a codec.
        epochs: passes over the training data.
        out: folder for report and logs.

    Raises ConfigurationError, MissingToolError, AdmissionError, TopologyError.
    """
    if topology in RUNNERS:
        topology, runner = "star4", topology
    if runner is not None and runner not in RUNNERS:
        raise ConfigurationError(f"There is no runner {runner!r}.", f"Known runners: {', '.join(RUNNERS)}.")
    if epochs < 1:
        raise ConfigurationError(f"epochs = {epochs} must be at least 1.")
    network = load(topology)
    hosts = network.names("worker")
    if workers is not None and workers < 1:
        raise ConfigurationError(f"workers = {workers} must be at least 1.")
    chosen = worker_names(hosts, len(hosts) if workers is None else workers)
    codecs.get(codec, workers=len(chosen))  # an unknown codec or too many workers shows before anything starts
    obstacle = mininet_obstacle()
    if runner == "mininet" and obstacle:
        raise MissingToolError(
            f"The Mininet runner cannot be used: {obstacle}.", "Run as root with Mininet, or TOPOLOGY=loopback."
        )
    switch: SwitchKind = "embedded"
    if runner == "loopback":
        why = "as asked; BMv2 needs network interfaces, so the switch is the embedded one"
    elif not obstacle:
        switch = "bmv2" if shutil.which(BMV2) else "embedded"
        reason = f"{BMV2} is on PATH" if switch == "bmv2" else f"{BMV2} is not on PATH"
        why = f"{'as asked' if runner else 'root and Mininet are there'}; {reason}"
        runner = "mininet"
    else:
        runner, why = "loopback", obstacle
    final: Runner = "mininet" if runner == "mininet" else "loopback"
    return RunPlan(
        topology=network,
        topology_source=topology,
        runner=final,
        switch=switch,
        why=why,
        workers=chosen,
        codec=codec,
        epochs=epochs,
        slots=DEFAULT_SLOTS,
        out=out,
    )
