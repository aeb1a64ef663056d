# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The record of a switch target."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanesum.doctor.finding import Finding
from lanesum_control.doctor import program
from lanesum_switch.dataplane import EmbeddedSwitch

if TYPE_CHECKING:
    # P4Info needs protobuf, which the simulator does without.
    from lanesum_fabric.program.pipelines import CompiledPipeline


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
