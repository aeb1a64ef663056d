# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches as the controller manages them: they may go away, come back empty, and are then made right again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from lanesum_control.capabilities import Capabilities
from lanesum_control.client import DEFAULT_CONNECT_TIMEOUT_S, SwitchConnection
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.model import ControlledSwitch, HostPort, SwitchJob
from lanesum_control.pipelines import CompiledPipeline
from lanesum_control.reconcile import reconcile
from lanesum_control.switch import P4RuntimeSwitch
from lanesum_control.tofino.recirculation import check_ports, turning_ports


class ManagedSwitch(Protocol):
    """A switch with the life around it.

    ``device`` raises SwitchUnreachableError while nobody is connected; so does everything that is asked of it when the
    switch went away.
    """

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""

    @property
    def capabilities(self) -> Capabilities:
        """What it does for jobs."""

    @property
    def device(self) -> ControlledSwitch:
        """The switch itself."""

    def check_ports(self, used: Collection[int]) -> None:
        """Whether hosts and switches can hang at these ports of it. Raises ConfigurationError."""

    def connect(self, timeout_s: float) -> list[str]:
        """Take control; what had to be done to it, in words. Raises SwitchUnreachableError, NotPrimaryError,
        PipelineError."""

    def check(self) -> None:
        """Raises SwitchUnreachableError when it is gone, or is not the one that ``connect`` found."""

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> list[str]:
        """Make it hold exactly these; what was wrong, in words."""

    def close(self) -> None:
        """Let go of it; what it holds stays."""


class RemoteSwitch:
    """A P4Runtime switch at ``address`` that shall run ``pipeline``. Satisfies ``ManagedSwitch``.

    ``mark_above``: it marks what leaves by a port to a host or another switch while so many packets wait there.
    ``recirculation``: ports at which a chip sends packets around; where None, those that it has for it. Raises
    ConfigurationError for any other.
    """

    def __init__(
        self,
        address: str,
        pipeline: CompiledPipeline,
        mark_above: int | None = None,
        recirculation: Iterable[int] | None = None,
    ) -> None:
        self.address = address
        self._turning = turning_ports(pipeline, recirculation)
        self._mark_above = mark_above
        self._pipeline = pipeline
        self._cookie = pipeline.cookie()
        self._connection: SwitchConnection | None = None
        self._device: P4RuntimeSwitch | None = None

    @property
    def slots(self) -> int:
        return self._pipeline.slots

    @property
    def capabilities(self) -> Capabilities:
        return self._pipeline.capabilities.turning_at(self._turning)

    def check_ports(self, used: Collection[int]) -> None:
        check_ports(self._pipeline, used)

    @property
    def device(self) -> P4RuntimeSwitch:
        if self._device is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        return self._device

    def connect(self, timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S) -> list[str]:
        """Push the program only if the switch runs another one, or none: what runs goes on undisturbed."""
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
        self._connection, self._device = connection, P4RuntimeSwitch(connection, names, self._turning)
        return done

    def check(self) -> None:
        if self._connection is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        if not self._connection.is_primary():
            raise SwitchUnreachableError(f"The session with the switch at {self.address} has ended.")
        if not self._connection.runs(self._cookie):
            raise SwitchUnreachableError(f"The switch at {self.address} has started again, without its program.")

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> list[str]:
        return reconcile(self.device, hosts, jobs, self._mark_above)

    def close(self) -> None:
        connection, self._connection, self._device = self._connection, None, None
        if connection is not None:
            connection.close()


class InProcessSwitch:
    """A switch of this process, which never goes away by itself. Satisfies ``ManagedSwitch``."""

    def __init__(self, device: ControlledSwitch) -> None:
        self._device = device
        self._hosts: list[HostPort] = []
        self._jobs: dict[int, SwitchJob] = {}

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
        """What was there before is not looked at: nobody else could have put it there."""
        for host in hosts:
            if host not in self._hosts:
                self._device.add_host(host)
                self._hosts.append(host)
        return []

    def close(self) -> None:
        return
