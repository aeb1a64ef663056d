# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A run as a value: scenario, seed and what the network did. To JSON and back, and run again."""

from __future__ import annotations

import collections
import json
from dataclasses import dataclass
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum_lab.simulator.draw import draw_scenario
from lanesum_lab.simulator.network import Fault, Network, Packet
from lanesum_lab.simulator.parts import PYTHON, Parts
from lanesum_lab.simulator.scenario import Scenario
from lanesum_lab.simulator.simulation import Simulation, Trace
from lanesum_lab.simulator.violation import Violation


@dataclass(frozen=True, slots=True)
class Schedule:
    """``faults`` None: drawn from the seed at the scenario's rates."""

    scenario: Scenario
    seed: int
    faults: tuple[Fault, ...] | None = None

    @classmethod
    def draw(cls, seed: int) -> Schedule:
        return cls(draw_scenario(seed), seed)

    def to_json(self, *, indent: int | None = None) -> str:
        faults = None if self.faults is None else [[*fault.packet, *fault[1:]] for fault in self.faults]
        fields = {"seed": self.seed, "scenario": self.scenario.to_dict(), "faults": faults}
        return json.dumps(fields, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Schedule:
        """Raises ConfigurationError for text that is no schedule."""
        try:
            fields: dict[str, Any] = json.loads(text)
            given = fields["faults"]
            faults = None if given is None else tuple(Fault(Packet(*one[:7]), *one[7:]) for one in given)
            return cls(Scenario.from_dict(fields["scenario"]), fields["seed"], faults)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"Not a schedule: {error!r}.", "Take the JSON of a failing schedule as it was printed, unchanged."
            ) from error


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a schedule. ``faults``: those that met a packet, in this order."""

    violation: Violation | None
    faults: tuple[Fault, ...]
    events: int
    contributions: int
    virtual_s: float
    decisions: collections.Counter[str]  # of all switches, and of the server with "server " before the name


def run(schedule: Schedule, trace: Trace | None = None, parts: Parts = PYTHON) -> Outcome:
    """Run it to its end or to the first violation; the same schedule has the same outcome, always.

    ``trace`` is called with every step in words; ``parts`` is what runs.
    """
    network = Network(schedule.scenario.rates, schedule.seed, schedule.faults)
    simulation = Simulation(schedule.scenario, schedule.seed, network, trace, parts)
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
