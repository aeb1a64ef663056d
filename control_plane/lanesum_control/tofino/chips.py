# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What tells Tofino 1 from Tofino 2, as far as a packet sees it."""

from __future__ import annotations

from dataclasses import dataclass

PIPES = 4
PORTS_PER_PIPE = 128  # a port number is the pipe's number and seven bits

# Of the parser: the flags of parser_err that a packet can cause here.
NO_MATCH, PARTIAL_HEADER = 0x1, 0x2


@dataclass(frozen=True, slots=True)
class Chip:
    """``architecture`` as the include files name it.

    ``port_metadata_bytes``: what stands between intrinsic metadata and packet at ingress, resubmitted data included.
    ``recirculation_port``: within each pipe, the port that sends packets back into the pipe without being set up.
    ``predicates``, ``updates``, ``operands``: comparisons, updates of each half of a register's cell, and fields of the
    packet that one stateful ALU has room for.
    """

    name: str
    architecture: str
    port_metadata_bytes: int
    recirculation_port: int
    predicates: int
    updates: int = 2
    operands: int = 2

    @property
    def recirculation_ports(self) -> frozenset[int]:
        """Those of all pipes."""
        return frozenset(PORTS_PER_PIPE * pipe + self.recirculation_port for pipe in range(PIPES))


TOFINO_1 = Chip("Tofino 1", "TNA", 8, 68, 2)
TOFINO_2 = Chip("Tofino 2", "T2NA", 24, 6, 4)


def pipe_of(port: int) -> int:
    """The pipe that a port belongs to."""
    return port // PORTS_PER_PIPE
