# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registers and memories of pipe 0: addresses by chip, names of files, and multicast groups as a configuration file.

A group is a list of level-1 nodes, one for each replica with its replication id. Each names a level-2 node with the
replica's port. The group table has the first node of each group, and the deparser the pipes of it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from lanesum_fabric.tofino import chips
from lanesum_lab.tofino_model.harness import TofinoModelError


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


Replica = tuple[int, int]  # port, replication id

_LEVEL_1, _LEVEL_2 = 1, 9
_GROUPS_A_ROW, _GROUP_BITS = 4, 20
_NUM_NODES = 1 << 14
_PIPE_0 = 1


class Groups:
    """The multicast groups, with the nodes that each uses."""

    def __init__(self, chip: ModelChip) -> None:
        self._chip = chip
        self._nodes: dict[int, tuple[int, ...]] = {}
        self._free = list(range(_NUM_NODES - 1, 0, -1))  # node 0 means none

    def set(self, group: int, replicas: Sequence[Replica]) -> bytes:
        """Return the configuration for a group; without replicas it is empty. Raises TofinoModelError."""
        chip = self._chip
        old = self._nodes.pop(group, ())
        self._free += old
        if 2 * len(replicas) > len(self._free):
            raise TofinoModelError(f"Group {group} has {len(replicas)} replicas; {len(self._free)} nodes are free.")
        rows = [self._free.pop() for _ in range(2 * len(replicas))]
        self._nodes[group] = tuple(rows)
        level_1, level_2 = rows[: len(replicas)], rows[len(replicas) :]
        out = []
        for number, (port, rid) in enumerate(replicas):
            following = _address(level_1[number + 1]) if number + 1 < len(replicas) else 0
            node = _LEVEL_1 | following << 4 | _address(level_2[number]) << 24 | rid << 48
            out.append(memory(chip.nodes + level_1[number], node))
            out.append(memory(chip.nodes + level_2[number], _LEVEL_2 | 1 << 7 | 1 << (8 + port)))
        row = group // _GROUPS_A_ROW
        out.append(memory(chip.groups + row, self._row(row)))
        number = group // chip.groups_a_register
        beside = range(number * chip.groups_a_register, (number + 1) * chip.groups_a_register)
        pipes = sum(_PIPE_0 << chip.group_pipes_bits * place for place, g in enumerate(beside) if self._nodes.get(g))
        out += [register(table + 4 * number, pipes) for table in chip.group_pipes]
        return b"".join(out)

    def _row(self, row: int) -> int:
        """Return a row of the group table."""
        found = 0
        for position in range(_GROUPS_A_ROW):
            nodes = self._nodes.get(row * _GROUPS_A_ROW + position)
            if nodes:
                found |= _address(nodes[0]) << _GROUP_BITS * position
        return found


def _address(row: int) -> int:
    """Return the number of a row's node. A row could hold two small nodes."""
    return 2 * row
