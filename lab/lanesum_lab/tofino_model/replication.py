# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Multicast groups of Tofino 1 in pipe 0, as a configuration file for the harness.

A group is a list of level-1 nodes, one for each replica with its replication id. Each names a level-2 node with the
replica's port. The group table has the first node of each group, and the deparser a nibble with the pipes of it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from lanesum_lab.tofino_model.errors import TofinoModelError

Replica = tuple[int, int]  # port, replication id

# Addresses of memories in words of 16 bytes.
_NODES = 0x61000000000 // 16
_GROUPS = 0x61001000000 // 16
_DEPARSER_PIPES = (0x27F0000, 0x27F8000)
_LEVEL_1, _LEVEL_2 = 1, 9
_GROUPS_A_ROW, _GROUP_BITS = 4, 20
_NUM_NODES = 1 << 14
_PIPE_0 = 1


class Groups:
    """The multicast groups, with the nodes that each uses."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[int, ...]] = {}
        self._free = list(range(_NUM_NODES - 1, 0, -1))  # node 0 means none

    def set(self, group: int, replicas: Sequence[Replica]) -> bytes:
        """Return the configuration for a group; without replicas it is empty. Raises TofinoModelError."""
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
            out.append(_memory(_NODES + level_1[number], node))
            out.append(_memory(_NODES + level_2[number], _LEVEL_2 | 1 << 7 | 1 << (8 + port)))
        row = group // _GROUPS_A_ROW
        out.append(_memory(_GROUPS + row, self._row(row)))
        eight = range(group & ~7, (group & ~7) + 8)
        pipes = sum(_PIPE_0 << 4 * (other & 7) for other in eight if self._nodes.get(other))
        out += [_register(table + 4 * (group >> 3), pipes) for table in _DEPARSER_PIPES]
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


def _register(address: int, value: int) -> bytes:
    return struct.pack("<III", ord("r") << 24, address, value)


def _memory(address: int, value: int) -> bytes:
    low, high = value & (1 << 64) - 1, value >> 64
    return struct.pack("<IQIIQQ", ord("d") << 24, address, 128, 1, low, high)
