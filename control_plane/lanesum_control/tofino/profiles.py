# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles of the Tofino program: which chip, how many words a packet, how many slots."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lanesum.errors import ConfigurationError
from lanesum_control.tofino import chips


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip as p4c and its assembler name it, and what one stage and one pipe of it have.

    Attributes:
        ports: what packets see of it.
        target, architecture, preprocessor_value: options of the compiler.
        stages: match-action stages of a pipe, shared by ingress and egress.
        stateful_alus, memories, ternary_memories: of one stage.
        container_bits: packet header vector of a pipe, ingress and egress together: what carries headers through the
            stages, that is without tagalong containers and dark ones.
    """

    title: str
    target: str
    architecture: str
    preprocessor_value: int
    stages: int
    ports: chips.Chip
    stateful_alus: int = 4
    memories: int = 80
    ternary_memories: int = 24
    container_bits: int = 4096

    @property
    def recirculation_ports(self) -> frozenset[int]:
        """Those that send packets around without being set up, one in each pipe."""
        return self.ports.recirculation_ports


TOFINO_1 = Chip("Tofino 1", "tofino", "tna", 1, 12, chips.TOFINO_1)
TOFINO_2 = Chip("Tofino 2", "tofino2", "t2na", 2, 20, chips.TOFINO_2)
CHIPS = {"tofino1": TOFINO_1, "tofino2": TOFINO_2}
#: Slots of a pipe where contributions have one pass.
SLOTS = 16_384


@dataclass(frozen=True, slots=True)
class TofinoProfile:
    """One build of ``p4src/tofino``.

    Attributes:
        name: of the build's files.
        accumulator_words: 32-bit words that a packet's sum has.
        slots: of a pipe, each with two shadow sets.
        passes: times that a contribution goes through ingress, each time with as many of the words.
    """

    name: str
    chip: Chip
    accumulator_words: int
    slots: int = SLOTS
    passes: int = 1

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the compiler's command line."""
        return (
            f"-D__TARGET_TOFINO__={self.chip.preprocessor_value}",
            f"-DACCUMULATOR_WORDS={self.accumulator_words // self.passes}",
            f"-DSLOTS={self.slots}",
            f"-DRECIRCULATION_PORT={self.chip.ports.recirculation_port}",
            f"-DPASSES={self.passes}",
        )

    @property
    def recirculations(self) -> int:
        """Times that a contribution goes around."""
        return self.passes - 1

    @property
    def recirculations_for_sum(self) -> int:
        """Times that a packet goes around in all that comes back with the sum: it fetches its words block by block."""
        return 2 * self.passes - 1 if self.passes > 1 else 0


PROFILES = (
    TofinoProfile("tofino1-w32", TOFINO_1, 32),
    TofinoProfile("tofino1-w256", TOFINO_1, 256, slots=2_048, passes=8),
    TofinoProfile("tofino2-w64", TOFINO_2, 64),
    TofinoProfile("tofino2-w256", TOFINO_2, 256, slots=4_096, passes=4),
)


def profile(name: str) -> TofinoProfile:
    """The profile of that name. Raises ConfigurationError."""
    for found in PROFILES:
        if found.name == name:
            return found
    raise ConfigurationError(f"There is no Tofino profile {name!r}; built: {', '.join(p.name for p in PROFILES)}.")


def nearest(refused: TofinoProfile, fitting: tuple[TofinoProfile, ...] = PROFILES) -> TofinoProfile | None:
    """Of those for the same chip that need no more passes, the one whose words, slots and passes differ by the
    smallest factors; None when there is none besides ``refused``."""

    def distance(other: TofinoProfile) -> float:
        return (
            abs(math.log2(other.accumulator_words / refused.accumulator_words))
            + abs(math.log2(other.slots / refused.slots))
            + math.log2(refused.passes / other.passes)
        )

    others = (kept for kept in fitting if kept.chip is refused.chip and kept.passes <= refused.passes)
    return min((kept for kept in others if kept != refused), key=distance, default=None)
