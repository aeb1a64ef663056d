# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Implementations that a run consists of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import AnyAggregator, NativeAggregator
from lanesum.transport.native_engine import AnyRoundSequence, NativeRoundSequence
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.ticket import JobTicket
from lanesum_lab.targets import SwitchTarget
from lanesum_lab.targets.embedded import EMBEDDED
from tests.reference import slot_table_of
from tests.reference.slots import SlotTable, TofinoSlotTable


@dataclass(frozen=True, slots=True)
class Parts:
    """Implementations; those not named here are in Python.

    Attributes:
        native_server: use the native server.
        native_workers: use the native rounds of workers.
        shares: workers of jobs without a quorum divide their slots into 1 to ``shares`` shares, by their number.
        switch: kind of switch, whose decisions the simulated switches make.
    """

    native_server: bool = False
    native_workers: bool = False
    shares: int = 1
    switch: SwitchTarget = EMBEDDED

    @property
    def chip(self) -> bool:
        """Return True if switches decide as the Tofino program does (docs/tofino-design.md)."""
        return issubclass(slot_table_of(self.switch), TofinoSlotTable)

    def entries(self) -> SlotTable:
        """Return the slots of a switch after its start."""
        return slot_table_of(self.switch)()

    def aggregator(self, folder: Path | None) -> AnyAggregator:
        """Return a new server. Raises ConfigurationError if the native one is missing."""
        if not self.native_server:
            return Aggregator(folder)
        return NativeAggregator(_core("server"), folder)

    def rounds(self, ticket: JobTicket, *, window: int, congestion: str) -> AnyRoundSequence:
        """Return the rounds of a new worker. Raises ConfigurationError if the native ones are missing."""
        if not self.native_workers:
            return RoundSequence(ticket, window=window, congestion=congestion)
        shares = 1 if ticket.quorum else min(window, 1 + ticket.worker % self.shares)
        return NativeRoundSequence(ticket, window=window, congestion=congestion, shares=shares, run_slots=1)

    def check(self) -> None:
        """Raise ConfigurationError if a native implementation is missing."""
        if self.native_server or self.native_workers:
            _core("server" if self.native_server else "workers")


def _core(what: str) -> ModuleType:
    found = availability()
    if found.core is None:
        raise ConfigurationError(f"No native {what} to simulate: {found.reason}")
    return found.core


PYTHON = Parts()
