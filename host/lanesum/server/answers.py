# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The datagrams that the server answers with. All of them are built from a chunk's owner, not from who asks."""

from __future__ import annotations

import numpy as np

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import Owner
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER_BYTES, Flag, Kind
from lanesum.server.jobs import Place
from lanesum.server.roster import Roster


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
    )


def _add_fan_in(header: Header, roster: Roster) -> None:
    if roster.two_levels:
        header.fan_in_racks = roster.racks
    else:
        header.fan_in_workers = len(roster.addresses)


def result(roster: Roster, asked: Header, owner: Owner, workers: int, total: Words, flags: int) -> bytes:
    """The sum ``total`` over the set ``workers``; less than everybody is PARTIAL, and names them."""
    header = _header(Kind.RESULT, flags, asked, owner)
    _add_fan_in(header, roster)
    payload = total
    if workers != roster.everybody:
        header.flags |= Flag.PARTIAL
        if roster.two_levels:
            payload = np.concatenate((total, np.array(roster.bitmaps(workers), np.uint32)))
    if roster.two_levels:
        header.racks = roster.touched_racks(workers)
    else:
        header.workers = roster.bitmap(0, workers)
    return Packet(header, payload).pack()


def with_flags(datagram: bytes, flags: int) -> bytes:
    """The same packet with more flags set."""
    header = Header.unpack(datagram)
    header.flags |= flags
    return header.pack() + datagram[HEADER_BYTES:]


def pending(roster: Roster, asked: Header, owner: Owner, workers: int, receiver: int) -> bytes:
    """To worker number ``receiver``: the set ``workers`` is there. BYPASS: send what is missing past all switches."""
    header = _header(Kind.PENDING, Flag.BYPASS, asked, owner)
    _add_fan_in(header, roster)
    header.workers = roster.bitmap(roster.places[receiver].rack, workers)
    if roster.two_levels:
        header.racks = roster.complete_racks(workers)
    return header.pack()


def gone(roster: Roster, asked: Header) -> bytes:
    """There was a result for this chunk, and it is no longer kept."""
    owner = Owner(asked.op, asked.job, asked.tag, asked.epoch, asked.chunk)
    header = _header(Kind.PENDING, Flag.GONE, asked, owner)
    _add_fan_in(header, roster)
    return header.pack()


def conflict(asked: Header, owner: Owner, offender: Place) -> bytes:
    """The contribution ``asked`` disagrees with the chunk's owner about operation or round size."""
    header = _header(Kind.CONFLICT, 0, asked, owner)
    header.racks, header.workers = owner.round_words, asked.racks
    header.fan_in_workers = offender.worker & 0xFF
    header.fan_in_racks = asked.op
    return header.pack()
