# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles of the Tofino program: chip, words per packet, slots, passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino.chips import TOFINO_1, TOFINO_2, Chip

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
            f"-DRECIRCULATION_PORT={self.chip.recirculation_port}",
            f"-DPASSES={self.passes}",
        )

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
