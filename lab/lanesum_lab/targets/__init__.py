# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switch targets: one record for each kind of switch that runs the lanesum program.

Runner, command line, benchmarks, conformance suite and simulator read this registry. A new target is a module of this
package that calls :func:`register`, and a line in ``_BUILT_IN`` below; docs/extending/switch-target.md has the steps.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanesum.doctor.finding import Finding
from lanesum.errors import ConfigurationError
from lanesum_control.doctor import program
from lanesum_switch.dataplane import EmbeddedSwitch

if TYPE_CHECKING:
    # P4Info needs protobuf, which the simulator does without.
    from lanesum_fabric.program.pipelines import CompiledPipeline

__all__ = ["SwitchProcess", "SwitchTarget", "get", "names", "register", "targets"]

_BUILT_IN = ("embedded", "bmv2", "tofino", "tofino_model")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchProcess:
    """One switch that a runner starts as a process.

    Attributes:
        name: the switch in its topology.
        topology: name or file of the topology.
        p4runtime: address of its P4Runtime server: ``host:port`` or ``unix:path``.
        interfaces: network interfaces by port number; None on loopback.
        faults: options of ``lanesum switch`` for the fault plan; only for targets that inject faults.
    """

    name: str
    topology: str
    p4runtime: str
    interfaces: Mapping[int, str] | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTarget:
    """A kind of switch and the build of the program that it runs.

    Attributes:
        name: as options and environment variables name it.
        description: as reports name it.
        pipeline: returns the compiled program for a number of accumulator words, None meaning the target's default.
        command: returns the command line of a switch without a program.
        device: class of the embedded switch that runs the program in the calling process; None where only a process
            runs it.
        executable: program that must be on PATH; empty where lanesum brings all.
        on_loopback: the switch has UDP ports on loopback; others need network interfaces.
        injects_faults: the switch carries out a fault plan at its own ports; others need relays.
        controller_options: options of ``lanesum controller`` that choose the program.
        packets_per_s: contributions that a switch sums a second beside the workers of a job, on two cores; None
            without a measurement.
    """

    name: str
    description: str
    pipeline: Callable[[int | None], CompiledPipeline]
    command: Callable[[SwitchProcess], list[str]]
    device: type[EmbeddedSwitch] | None = None
    executable: str = ""
    on_loopback: bool = True
    injects_faults: bool = True
    controller_options: tuple[str, ...] = ()
    packets_per_s: int | None = None

    @property
    def obstacle(self) -> str:
        """Reason why the target cannot run on this machine; empty where it can."""
        if self.executable and shutil.which(self.executable) is None:
            return f"{self.executable} is not on PATH"
        return ""

    def finding(self) -> Finding | None:
        """Return the check for ``lanesum doctor``; None for targets that need no other program."""
        if not self.executable:
            return None
        return program(self.name, self.executable, "Runs use the embedded switch.")


_targets: dict[str, SwitchTarget] = {}


def register(target: SwitchTarget) -> SwitchTarget:
    """Add a target and return it. Raises ConfigurationError if its name is taken."""
    if target.name in _targets:
        raise ConfigurationError(f"Switch target {target.name!r} is registered already.", "Choose another name.")
    _targets[target.name] = target
    return target


def targets() -> tuple[SwitchTarget, ...]:
    """Return all targets in the order of their registration."""
    for name in _BUILT_IN:
        importlib.import_module(f"lanesum_lab.targets.{name}")
    return tuple(_targets.values())


def names() -> list[str]:
    """Return the names of all targets."""
    return [target.name for target in targets()]


def get(name: str) -> SwitchTarget:
    """Return the target ``name``. Raises ConfigurationError, with the known names, if there is none."""
    known = {target.name: target for target in targets()}
    if name not in known:
        raise ConfigurationError(f"There is no switch {name!r}.", f"Known switches: {', '.join(known)}, none.")
    return known[name]
