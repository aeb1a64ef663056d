# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface between the controller and one of its switches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lanesum_fabric.program.capabilities import Capabilities
from lanesum_fabric.program.switch_job import HostPort, Station, SwitchJob

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

    def set_station(self, station: Station) -> None:
        """Change the switch's own IPv4 address and the class of its answers."""

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

    def set_congestion(self, port: int, depth: int | None) -> None:
        """Set ECN on packets to ``port`` while ``depth`` packets or more wait there; None turns it off."""

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Drop ``share`` (0 to 1) of a port's packets; 0 turns it off."""

    def decisions(self) -> dict[str, int]:
        """Return the packet counters by decision of the program's tables."""
