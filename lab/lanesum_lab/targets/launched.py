# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switch targets for ``lanesum launch``, which finds this module by an entry point."""

from __future__ import annotations

from lanesum.launch.parts import SwitchKind
from lanesum_lab.targets import SwitchProcess, SwitchTarget, targets


def kinds() -> dict[str, SwitchKind]:
    """Return all targets by name."""
    return {target.name: _kind(target) for target in targets()}


def _kind(target: SwitchTarget) -> SwitchKind:
    def command(topology: str, name: str, p4runtime: str) -> list[str]:
        return target.command(SwitchProcess(name=name, topology=topology, p4runtime=p4runtime, interfaces=None))

    obstacle = target.obstacle
    if not target.on_loopback:
        obstacle = f"{target.description} has no ports on loopback: it needs network interfaces, and so root"
    return SwitchKind(command, target.controller_options, obstacle)
