# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles of the Tofino program: chip, words per packet, slots, passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino import chips

PORT_BITS_PER_SECOND = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip as p4c and its assembler name it, and the resources of a stage and a pipe.

    Attributes:
        ports: properties that packets see.
        target, architecture, preprocessor_value: options of the compiler.
        stages: match-action stages of a pipe, shared by ingress and egress.
        stateful_alus, memories, ternary_memories: number per stage.
        container_bits: packet header vector of a pipe, ingress and egress together, without tagalong and dark
            containers.
        clock_hz: clock of parsers and stages, as p4c calculates with it.
        port_rates: rates of a port in bits per second, those of 100 Gbit/s and more.
    """

    title: str
    target: str
    architecture: str
    preprocessor_value: int
    stages: int
    ports: chips.Chip
    clock_hz: int
    port_rates: tuple[int, ...] = (PORT_BITS_PER_SECOND,)
    stateful_alus: int = 4
    memories: int = 80
    ternary_memories: int = 24
    container_bits: int = 4096

    @property
    def recirculation_ports(self) -> frozenset[int]:
        """Ports that recirculate without configuration, one per pipe."""
        return self.ports.recirculation_ports


TOFINO_1 = Chip("Tofino 1", "tofino", "tna", 1, 12, chips.TOFINO_1, 1_220_000_000)
TOFINO_2 = Chip(
    "Tofino 2", "tofino2", "t2na", 2, 20, chips.TOFINO_2, 1_350_000_000, (PORT_BITS_PER_SECOND, 400_000_000_000)
)
CHIPS = {"tofino1": TOFINO_1, "tofino2": TOFINO_2}
#: Slots of a pipe for contributions of one pass.
SLOTS = 16_384


@dataclass(frozen=True, slots=True)
class TofinoProfile:
    """One build of ``p4src/tofino``.

    Attributes:
        name: name of the build's files.
        accumulator_words: 32-bit words of a packet's sum.
        slots: slots of a pipe, each with two shadow sets.
        passes: pipeline passes of a contribution, each with an equal part of the words.
    """

    name: str
    chip: Chip
    accumulator_words: int
    slots: int = SLOTS
    passes: int = 1

    @property
    def defines(self) -> tuple[str, ...]:
        """Preprocessor macros for the compiler."""
        return (
            f"-D__TARGET_TOFINO__={self.chip.preprocessor_value}",
            f"-DACCUMULATOR_WORDS={self.accumulator_words // self.passes}",
            f"-DSLOTS={self.slots}",
            f"-DRECIRCULATION_PORT={self.chip.ports.recirculation_port}",
            f"-DPASSES={self.passes}",
        )

    @property
    def recirculations(self) -> int:
        """Recirculations of a contribution."""
        return self.passes - 1

    @property
    def recirculations_for_sum(self) -> int:
        """Recirculations of a packet that returns with the sum, whose words it collects block by block."""
        return 2 * self.passes - 1 if self.passes > 1 else 0


PROFILES = (
    TofinoProfile("tofino1-w32", TOFINO_1, 32),
    TofinoProfile("tofino1-w256", TOFINO_1, 256, slots=2_048, passes=8),
    TofinoProfile("tofino2-w64", TOFINO_2, 64),
    TofinoProfile("tofino2-w256", TOFINO_2, 256, slots=4_096, passes=4),
)


def profile(name: str) -> TofinoProfile:
    """Return the profile ``name``. Raises ConfigurationError."""
    for found in PROFILES:
        if found.name == name:
            return found
    raise ConfigurationError(f"There is no Tofino profile {name!r}; built: {', '.join(p.name for p in PROFILES)}.")


def nearest(refused: TofinoProfile, fitting: tuple[TofinoProfile, ...] = PROFILES) -> TofinoProfile | None:
    """Return the most similar profile for the same chip with at most as many passes; None without another one.

    Similarity: the factors between words, slots and passes.
    """

    def distance(other: TofinoProfile) -> float:
        return (
            abs(math.log2(other.accumulator_words / refused.accumulator_words))
            + abs(math.log2(other.slots / refused.slots))
            + math.log2(refused.passes / other.passes)
        )

    others = (kept for kept in fitting if kept.chip is refused.chip and kept.passes <= refused.passes)
    return min((kept for kept in others if kept != refused), key=distance, default=None)
