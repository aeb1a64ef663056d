# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Differences between Tofino 1 and Tofino 2 that packets and stateful ALUs see."""

from __future__ import annotations

from dataclasses import dataclass

PIPES = 4
PORTS_PER_PIPE = 128  # a port number is the pipe's number and seven bits

# Flags of parser_err that a packet can cause here.
NO_MATCH, PARTIAL_HEADER = 0x1, 0x2


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip; ``architecture`` as in the include files.

    ``port_metadata_bytes``: bytes between intrinsic metadata and packet at ingress, including resubmitted data.
    ``recirculation_port``: port of each pipe that recirculates without configuration.
    ``predicates``, ``updates``, ``operands``: comparisons, updates per half of a register cell, and packet fields of
    one stateful ALU.
    ``extra_constant_bits``: bits of a large constant in a comparison beyond the width of the register.
    """

    name: str
    architecture: str
    port_metadata_bytes: int
    recirculation_port: int
    predicates: int
    updates: int = 2
    operands: int = 2
    extra_constant_bits: int = 0

    @property
    def recirculation_ports(self) -> frozenset[int]:
        """Recirculation ports of all pipes."""
        return frozenset(PORTS_PER_PIPE * pipe + self.recirculation_port for pipe in range(PIPES))


TOFINO_1 = Chip("Tofino 1", "TNA", 8, 68, 2)
TOFINO_2 = Chip("Tofino 2", "T2NA", 24, 6, 4, extra_constant_bits=2)


def pipe_of(port: int) -> int:
    """Return the pipe of a port."""
    return port // PORTS_PER_PIPE
