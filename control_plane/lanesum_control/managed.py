# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches as the controller manages them, through outages and repairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from lanesum_control.capabilities import Capabilities
from lanesum_control.client import DEFAULT_CONNECT_TIMEOUT_S, SwitchConnection
from lanesum_control.controlled_switch import ControlledSwitch
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.model import PLAIN_STATION, HostPort, Station, SwitchJob
from lanesum_control.pipelines import CompiledPipeline
from lanesum_control.reconcile import reconcile
from lanesum_control.switch import P4RuntimeSwitch
from lanesum_control.tofino.recirculation import check_ports, recirculation_ports


class ManagedSwitch(Protocol):
    """A switch and its connection.

    ``device`` raises SwitchUnreachableError while there is no connection. So does every other method after an outage.
    """

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of its program."""

    @property
    def device(self) -> ControlledSwitch:
        """The switch itself."""

    def check_ports(self, used: Collection[int]) -> None:
        """Check that hosts and switches can be attached to these ports. Raises ConfigurationError."""

    def connect(self, timeout_s: float) -> list[str]:
        """Take control; return the repairs in words.

        Raises SwitchUnreachableError, NotPrimaryError, PipelineError.
        """

    def check(self) -> None:
        """Raise SwitchUnreachableError if it is gone, or is not the one that ``connect`` found."""

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> list[str]:
        """Make it hold exactly these jobs; return the differences in words."""

    def close(self) -> None:
        """Disconnect; its entries remain."""


class RemoteSwitch:
    """P4Runtime switch at ``address`` that runs ``pipeline``. Satisfies ``ManagedSwitch``.

    ``mark_above``: the switch sets ECN on packets to a port while this many packets wait there. ``recirculation``:
    recirculation ports of a chip; None for its default ones. ``station``: its own address and the class of its answers.
    Raises ConfigurationError for any other port.
    """

    def __init__(
        self,
        address: str,
        pipeline: CompiledPipeline,
        mark_above: int | None = None,
        recirculation: Iterable[int] | None = None,
        station: Station = PLAIN_STATION,
    ) -> None:
        self.address = address
        self._recirculation = recirculation_ports(pipeline, recirculation)
        self._mark_above = mark_above
        self._station = station
        self._pipeline = pipeline
        self._cookie = pipeline.cookie()
        self._connection: SwitchConnection | None = None
        self._device: P4RuntimeSwitch | None = None

    @property
    def slots(self) -> int:
        return self._pipeline.slots

    @property
    def capabilities(self) -> Capabilities:
        return self._pipeline.capabilities.recirculating_at(self._recirculation)

    def check_ports(self, used: Collection[int]) -> None:
        check_ports(self._pipeline, used)

    @property
    def device(self) -> P4RuntimeSwitch:
        if self._device is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        return self._device

    def connect(self, timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S) -> list[str]:
        """Connect; push the program only if the switch runs another one, so that running jobs are not disturbed."""
        self.close()
        connection = SwitchConnection(self.address, timeout_s=timeout_s)
        try:
            if connection.runs(self._cookie):
                names, done = connection.use_names(self._pipeline), []
            else:
                names, done = connection.push_pipeline(self._pipeline), ["program pushed"]
        except BaseException:
            connection.close()
            raise
        self._connection, self._device = (
            connection,
            P4RuntimeSwitch(connection, names, self._recirculation, self._station),
        )
        return done

    def check(self) -> None:
        if self._connection is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        if not self._connection.is_primary():
            raise SwitchUnreachableError(f"The session with the switch at {self.address} has ended.")
        if not self._connection.runs(self._cookie):
            raise SwitchUnreachableError(f"The switch at {self.address} has restarted without its program.")

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> list[str]:
        return reconcile(self.device, hosts, jobs, self._mark_above)

    def close(self) -> None:
        connection, self._connection, self._device = self._connection, None, None
        if connection is not None:
            connection.close()


class InProcessSwitch:
    """Switch in this process, without outages. Satisfies ``ManagedSwitch``."""

    def __init__(self, device: ControlledSwitch) -> None:
        self._device = device
        self._hosts: list[HostPort] = []

    @property
    def slots(self) -> int:
        return self._device.slots

    @property
    def capabilities(self) -> Capabilities:
        return self._device.capabilities

    def check_ports(self, used: Collection[int]) -> None:
        return

    @property
    def device(self) -> ControlledSwitch:
        return self._device

    def connect(self, timeout_s: float) -> list[str]:
        return []

    def check(self) -> None:
        return

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> list[str]:
        """Apply the state without reading it back: no other client can change it."""
        for host in hosts:
            if host not in self._hosts:
                self._device.add_host(host)
                self._hosts.append(host)
        return []

    def close(self) -> None:
        return
