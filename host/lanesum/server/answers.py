# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams that the server answers with. They describe the owner of a chunk, not the packet that they answer."""

from __future__ import annotations

import numpy as np

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import Owner
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER_BYTES, OPENING, WORD_BYTES, Flag, Kind
from lanesum.server.jobs import MemberIndex
from lanesum.server.member_table import MemberTable


def _header(kind: Kind, flags: int, asked: Header, owner: Owner) -> Header:
    return Header(
        kind=kind,
        flags=flags,
        job=owner.job,
        tag=owner.tag,
        epoch=owner.epoch,
        chunk=owner.chunk,
        shadow=asked.shadow,
        slot=asked.slot,
        op=owner.op,
        spare=OPENING if asked.spare == OPENING else 0,
    )


def _add_fan_in(header: Header, members: MemberTable) -> None:
    if members.two_levels:
        header.fan_in_racks = members.racks
    else:
        header.fan_in_workers = len(members.addresses)


def result(members: MemberTable, asked: Header, owner: Owner, workers: int, total: Words, flags: int) -> bytes:
    """Return the result ``total`` over the set ``workers``. If a worker is missing, it is PARTIAL (INV-4).

    Its flag BYPASS tells it from the result of a switch.
    """
    header = _header(Kind.RESULT, flags | Flag.BYPASS, asked, owner)
    _add_fan_in(header, members)
    payload = total
    if workers != members.all_workers:
        header.flags |= Flag.PARTIAL
        if members.two_levels:
            payload = np.concatenate((total, np.array(members.bitmaps(workers), np.uint32)))
    if members.two_levels:
        header.racks = members.contributing_racks(workers)
    else:
        header.workers = members.bitmap(0, workers)
    return Packet(header, payload).pack()


def with_flags(datagram: bytes, flags: int) -> bytes:
    """Return the same packet with additional flags."""
    header = Header.unpack(datagram)
    header.flags |= flags
    return header.pack() + datagram[HEADER_BYTES:]


def header_only(result: bytes, accumulator_words: int) -> bytes:
    """Return a result without its accumulator words: its chunk is complete, and the sum went to its owner."""
    header = Header.unpack(result)
    header.words -= accumulator_words
    return header.pack() + result[HEADER_BYTES + accumulator_words * WORD_BYTES :]


def pending(members: MemberTable, asked: Header, owner: Owner, workers: int, receiver: int) -> bytes:
    """Return a pending packet for worker number ``receiver``: the contributions of ``workers`` have arrived.

    Its flag BYPASS asks for the missing contributions past all switches.
    """
    header = _header(Kind.PENDING, Flag.BYPASS, asked, owner)
    _add_fan_in(header, members)
    header.workers = members.bitmap(members.indices[receiver].rack, workers)
    if members.two_levels:
        header.racks = members.complete_racks(workers)
    return header.pack()


def gone(members: MemberTable, asked: Header) -> bytes:
    """Return a pending packet with flag GONE: the result of the chunk was evicted (INV-4)."""
    owner = Owner(asked.op, asked.job, asked.tag, asked.epoch, asked.chunk)
    header = _header(Kind.PENDING, Flag.GONE, asked, owner)
    _add_fan_in(header, members)
    return header.pack()


def conflict(asked: Header, owner: Owner, offender: MemberIndex) -> bytes:
    """Return a conflict: operation or round size of ``asked`` differ from those of the chunk's owner (INV-4)."""
    header = _header(Kind.CONFLICT, 0, asked, owner)
    header.racks, header.workers = owner.round_words, asked.racks
    header.fan_in_workers = offender.worker & 0xFF
    header.fan_in_racks = asked.op
    return header.pack()
