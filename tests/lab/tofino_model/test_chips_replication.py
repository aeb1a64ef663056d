# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration of multicast groups: nodes of both levels, group table, pipes of a group."""

from __future__ import annotations

import struct

import pytest

from lanesum_lab.tofino_model.chips import TOFINO_1, TOFINO_2, Groups, ModelChip
from lanesum_lab.tofino_model.harness import TofinoModelError


def _atoms(configuration: bytes) -> tuple[dict[int, int], dict[int, int]]:
    """Return the registers and memory words of a configuration, by address."""
    registers, words = {}, {}
    while configuration:
        (kind,) = struct.unpack_from("<I", configuration)
        if kind >> 24 == ord("r"):
            address, value = struct.unpack_from("<II", configuration, 4)
            registers[address] = value
            configuration = configuration[12:]
        else:
            address, width, count, low, high = struct.unpack_from("<QIIQQ", configuration, 4)
            assert (kind >> 24, width, count) == (ord("d"), 128, 1)
            words[address] = high << 64 | low
            configuration = configuration[36:]
    return registers, words


def _copies(chip: ModelChip, words: dict[int, int], group: int) -> list[tuple[int, int]]:
    """Return port and replication id of the copies that the replication engine makes for a group."""
    nodes = chip.nodes
    node = words[chip.groups + group // 4] >> 20 * (group % 4) & 0xFFFFF
    found = []
    while node:
        first = words[nodes + node // 2]
        assert first & 0xF == 1
        second = words[nodes + (first >> 24 & 0xFFFFF) // 2]
        assert second & 0xFF == 9 | 1 << 7
        found.append(((second >> 8).bit_length() - 1, first >> 48))
        node = first >> 4 & 0xFFFFF
    return found


@pytest.mark.parametrize(("chip", "pipes"), [(TOFINO_1, {0x27F0000: 1 << 20}), (TOFINO_2, {0x4D00004: 1 << 5})])
def test_group_has_a_copy_for_each_replica(chip: ModelChip, pipes: dict[int, int]) -> None:
    registers, words = _atoms(Groups(chip).set(5, [(0, 1), (1, 2), (0, 3)]))
    assert _copies(chip, words, 5) == [(0, 1), (1, 2), (0, 3)]
    assert pipes.items() <= registers.items()


def test_groups_of_one_row_keep_each_other() -> None:
    groups = Groups(TOFINO_1)
    first = groups.set(4, [(0, 1)])
    registers, words = _atoms(first + groups.set(7, [(3, 9)]))
    assert (_copies(TOFINO_1, words, 4), _copies(TOFINO_1, words, 7)) == ([(0, 1)], [(3, 9)])
    assert registers[TOFINO_1.group_pipes[0]] == 1 << 16 | 1 << 28


def test_removed_group_leaves_pipes_and_frees_nodes() -> None:
    groups = Groups(TOFINO_1)
    for _ in range(10):
        groups.set(1, [(copy % 60, 1) for copy in range(2000)])
        registers, words = _atoms(groups.set(1, ()))
    assert (words[TOFINO_1.groups], registers[TOFINO_1.group_pipes[0]]) == (0, 0)


def test_group_beyond_the_nodes_raises() -> None:
    with pytest.raises(TofinoModelError, match="nodes are free"):
        Groups(TOFINO_1).set(1, [(0, 1)] * 9000)
