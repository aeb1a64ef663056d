# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A reproducible run: scenario, seed and network faults. Converts to JSON and back."""

from __future__ import annotations

import collections
import json
from dataclasses import dataclass
from typing import Any

from lanesum.errors import ConfigurationError
from tests.simulator.draw import draw_scenario
from tests.simulator.network import Fault, SimulatedNetwork, SimulatedPacket
from tests.simulator.parts import PYTHON, Parts
from tests.simulator.scenario import Scenario
from tests.simulator.simulation import ProtocolSimulation, Trace
from tests.simulator.violation import Violation


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. ``faults`` None: drawn from the seed at the scenario's rates."""

    scenario: Scenario
    seed: int
    faults: tuple[Fault, ...] | None = None

    @classmethod
    def draw(cls, seed: int, *, certified: bool = False) -> Schedule:
        """Return the schedule of a seed; ``certified``: with check words and flipped bits."""
        return cls(draw_scenario(seed, certified=certified), seed)

    def to_json(self, *, indent: int | None = None) -> str:
        faults = None if self.faults is None else [[*fault.packet, *fault[1:]] for fault in self.faults]
        fields = {"seed": self.seed, "scenario": self.scenario.to_dict(), "faults": faults}
        return json.dumps(fields, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Schedule:
        """Read a schedule. Raises ConfigurationError for any other text."""
        try:
            fields: dict[str, Any] = json.loads(text)
            given = fields["faults"]
            faults = None if given is None else tuple(Fault(SimulatedPacket(*one[:7]), *one[7:]) for one in given)
            return cls(Scenario.from_dict(fields["scenario"]), fields["seed"], faults)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"Not a schedule: {error!r}.", "Take the JSON of a failing schedule as it was printed, unchanged."
            ) from error


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a schedule. ``faults``: faults that met a packet, in order."""

    violation: Violation | None
    faults: tuple[Fault, ...]
    events: int
    contributions: int
    virtual_s: float
    decisions: collections.Counter[str]  # of all switches, and of the server with "server " before the name


def run(schedule: Schedule, trace: Trace | None = None, parts: Parts = PYTHON) -> Outcome:
    """Run to the end or to the first violation; a schedule always has the same outcome.

    ``trace`` is called with every step in words; ``parts`` are the implementations.
    """
    network = SimulatedNetwork(schedule.scenario.rates, schedule.seed, schedule.faults)
    simulation = ProtocolSimulation(schedule.scenario, schedule.seed, network, trace, parts)
    violation = None
    try:
        simulation.run()
    except Violation as found:
        violation = found
    return Outcome(
        violation,
        tuple(network.used),
        simulation.events,
        simulation.contributions,
        simulation.now,
        simulation.decisions,
    )
