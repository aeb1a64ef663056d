# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface between the controller and one of its switches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lanesum_fabric.program.capabilities import Capabilities
from lanesum_fabric.program.switch_job import HostPort, SwitchJob

#: Device id of a switch over P4Runtime, which has one device.
DEFAULT_DEVICE_ID = 1


class ControlledSwitch(Protocol):
    """Interface of a switch for the controller."""

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of its program."""

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP for it."""

    def admit(self, job: SwitchJob) -> None:
        """Install a job."""

    def remove(self, job: SwitchJob) -> None:
        """Remove a job."""

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        """Change slots, role, threshold, operations or lease of an installed job; its members stay."""

    def modify_all(self, changes: Iterable[tuple[SwitchJob, SwitchJob]]) -> None:
        """Do ``modify`` for several jobs, (old, new) each, in any order."""

    def decisions(self) -> dict[str, int]:
        """Return the packet counters by decision of the program's tables."""
