# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Multicast groups of pipe 0, as a configuration file for the harness.

A group is a list of level-1 nodes, one for each replica with its replication id. Each names a level-2 node with the
replica's port. The group table has the first node of each group, and the deparser the pipes of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanesum_lab.tofino_model.chips import ModelChip, memory, register
from lanesum_lab.tofino_model.harness import TofinoModelError

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
