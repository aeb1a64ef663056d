# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Differences between the models of the chips: names of files, and addresses of registers and memories of pipe 0."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from lanesum_fabric.tofino import chips


@dataclass(frozen=True, slots=True)
class ModelChip:
    """The model of a chip.

    Attributes:
        program: name of the test harness, as its own build names it.
        binary: name of the assembled program.
        nodes, groups: first words of the replication engine's nodes and of its group table, in words of 16 bytes.
        group_pipes: first registers of the deparser's two tables with the pipes of each group.
        groups_a_register, group_pipes_bits: groups in a register of these tables, and bits of each.
        recirculation: recirculation port of pipe 0.
        exit: port by which packets for it leave; the harness sends them into it again. On Tofino 1 packets that leave
            by the port itself would not reach the harness, so this is a front port.
    """

    program: str
    binary: str
    nodes: int
    groups: int
    group_pipes: tuple[int, int]
    groups_a_register: int
    group_pipes_bits: int
    recirculation: int
    exit: int


def register(address: int, value: int) -> bytes:
    """Return the configuration of a register of 32 bits."""
    return struct.pack("<III", ord("r") << 24, address, value)


def memory(address: int, value: int) -> bytes:
    """Return the configuration of a word of 128 bits of a memory."""
    low, high = value & (1 << 64) - 1, value >> 64
    return struct.pack("<IQIIQQ", ord("d") << 24, address, 128, 1, low, high)


TOFINO_1 = ModelChip(
    "tofino_test_harness", "tofino.bin",
    nodes=0x61000000000 // 16, groups=0x61001000000 // 16, group_pipes=(0x27F0000, 0x27F8000), groups_a_register=8,
    group_pipes_bits=4, recirculation=chips.TOFINO_1.recirculation_port, exit=63,
)  # fmt: skip
TOFINO_2 = ModelChip(
    "jbay_test_harness", "tofino2.bin",
    nodes=0x67004000000 // 16, groups=0x66000000000 // 16, group_pipes=(0x4D00000, 0x4D10000), groups_a_register=4,
    group_pipes_bits=5, recirculation=chips.TOFINO_2.recirculation_port,
    exit=chips.TOFINO_2.recirculation_port,
)  # fmt: skip
MODELS = {chips.TOFINO_1: TOFINO_1, chips.TOFINO_2: TOFINO_2}
