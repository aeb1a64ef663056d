# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tofino 1 and Tofino 2, and profiles of the program: chip, words per packet, slots, passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lanesum.errors import ConfigurationError

PIPES = 4
PORTS_PER_PIPE = 128  # a port number is the pipe's number and seven bits

# Flags of parser_err that a packet can cause here.
NO_MATCH, PARTIAL_HEADER = 0x1, 0x2


PORT_BITS_PER_SECOND = 100_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A chip: what packets and stateful ALUs see, its names in p4c, and the resources of a stage and a pipe.

    Attributes:
        architecture: as in the include files.
        target, preprocessor_value: options of the compiler.
        port_metadata_bytes: bytes between intrinsic metadata and packet at ingress, including resubmitted data.
        recirculation_port: port of each pipe that recirculates without configuration.
        predicates, updates, operands: comparisons, updates per half of a register cell, and packet fields of one
            stateful ALU.
        extra_constant_bits: bits of a large constant in a comparison beyond the width of the register.
        stages: match-action stages of a pipe, shared by ingress and egress.
        clock_hz: clock of parsers and stages, as p4c calculates with it.
        port_rates: rates of a port in bits per second, those of 100 Gbit/s and more.
        stateful_alus, memories, ternary_memories: number per stage.
        container_bits: packet header vector of a pipe, ingress and egress together, without tagalong and dark
            containers.
    """

    title: str
    architecture: str
    target: str
    preprocessor_value: int
    port_metadata_bytes: int
    recirculation_port: int
    predicates: int
    updates: int = 2
    operands: int = 2
    extra_constant_bits: int = 0
    stages: int
    clock_hz: int
    port_rates: tuple[int, ...] = (PORT_BITS_PER_SECOND,)
    stateful_alus: int = 4
    memories: int = 80
    ternary_memories: int = 24
    container_bits: int = 4096

    @property
    def recirculation_ports(self) -> frozenset[int]:
        """Ports that recirculate without configuration, one per pipe."""
        return frozenset(PORTS_PER_PIPE * pipe + self.recirculation_port for pipe in range(PIPES))


TOFINO_1 = Chip(
    title="Tofino 1", architecture="TNA", target="tofino", preprocessor_value=1, port_metadata_bytes=8,
    recirculation_port=68, predicates=2, stages=12, clock_hz=1_220_000_000,
)  # fmt: skip
TOFINO_2 = Chip(
    title="Tofino 2", architecture="T2NA", target="tofino2", preprocessor_value=2, port_metadata_bytes=24,
    recirculation_port=6, predicates=4, extra_constant_bits=2, stages=20, clock_hz=1_350_000_000,
    port_rates=(PORT_BITS_PER_SECOND, 400_000_000_000),
)  # fmt: skip


def pipe_of(port: int) -> int:
    """Return the pipe of a port."""
    return port // PORTS_PER_PIPE


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
