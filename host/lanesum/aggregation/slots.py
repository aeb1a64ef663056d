# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Owners of slots, and the order of chunks, with the names of ``p4src/bmv2/slots.p4``."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lanesum.protocol.packet import Header

_HALF_RANGE = 1 << 31


class ChunkOrder(enum.Enum):
    """Order of a packet's (epoch, chunk) relative to the owner of its entry."""

    NEWER = 0
    SAME = 1
    OLDER = 2
    CONFLICT = 3
    FOREIGN = 4


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of an entry. ``round_words``: uplink words of its whole round, header field ``racks``."""

    op: int
    job: int
    tag: int
    epoch: int
    chunk: int
    round_words: int = 0


def order_of(header: Header, owner: Owner | None) -> ChunkOrder:
    """Compare epochs as serial numbers (RFC 1982), then chunks. Never FOREIGN, which depends on the time."""
    if owner is None or (owner.job, owner.tag) != (header.job, header.tag):
        return ChunkOrder.NEWER
    epochs_ahead = (header.epoch - owner.epoch) % (1 << 32)
    if epochs_ahead >= _HALF_RANGE:
        return ChunkOrder.OLDER
    if epochs_ahead != 0 or header.chunk > owner.chunk:
        return ChunkOrder.NEWER
    if header.chunk < owner.chunk:
        return ChunkOrder.OLDER
    return ChunkOrder.SAME if (header.op, header.racks) == (owner.op, owner.round_words) else ChunkOrder.CONFLICT
