# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Definition of the packet: fields, codes and sizes.

Packing, unpacking and the scapy layer read this module when they are imported. ``python -m lanesum_lab.generate``
generates the P4 header and constants (``p4src/shared/protocol.p4``), the C++ header fields and the tables of
``docs/protocol.md`` from it; a test fails if they are out of date.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

VERSION = 2
UDP_PORT = 19539  # "LS" in ASCII
MAX_WORKERS = 32  # width of the contributor bitmap of one level
MAX_RACKS = 32  # width of the rack bitmap
MAX_SLOTS = 1 << 15  # the header's slot field has 15 bits
CODE_TABLE_ENTRIES = 16  # a code has 4 bits

# Neighbouring slots of each server of a job form a run, runs form shares, and a thread of the server has whole shares:
# run ``r`` is of share ``(r + r // SLOT_SKEW) % SLOT_SHARES``. 24 is a multiple of most numbers of threads. The skew is
# for messages of 64 joined packets, each of which would begin at a run of the same thread.
SLOT_RUN = 16
SLOT_SKEW = 4
SLOT_SHARES = 24

# Value of ``spare`` in contributions to the opening of a session. Switches ignore it.
OPENING = 1
NONCE_WORDS = 2  # words of each worker's random number in the opening

# Bit of the round size in contributions to a certified round, so that only workers with check words share a round. The
# programs for Tofino store 28 bits of a round size.
CERTIFIED = 1 << 27
# Bit of the round size in contributions to a scattered round: the sum of a chunk is for its owner alone.
SCATTERED = 1 << 26
# Value of ``spare`` that names worker 0 as the owner of a chunk; the others follow. BMv2's program has it, too.
FIRST_OWNER = 2
MAX_NAMED_OWNERS = (1 << 8) - FIRST_OWNER
MAX_ROUND_WORDS = SCATTERED - 1
# Bit of the round size in contributions to a gathered round: the owner of a chunk alone has words for it.
# All of them bypass the switches, so the mark may be above the bits that programs store.
GATHERED = 1 << 28
# Chunks of one owner in a row. Long and short results to a worker alternate by as many packets, so that most can be
# joined (GSO). More would leave downlinks idle where a small window has chunks of few owners.
TURN_CHUNKS = 8

# Accumulator words in one packet. A P4 program is compiled for one value; the controller gives it to each job.
DEFAULT_ACCUMULATOR_WORDS = 64
BUILT_ACCUMULATOR_WORDS = (32, 64, 128)


class Kind(enum.IntEnum):
    """Kind of a packet."""

    CONTRIBUTION = 1
    RESULT = 2
    PENDING = 3
    CONFLICT = 4


class Flag(enum.IntFlag):
    """Bits of the ``flags`` field."""

    RETRANSMISSION = 0x01
    COLLISION = 0x02
    ECN = 0x04
    OVERFLOW = 0x08
    PARTIAL = 0x10
    UPPER = 0x20
    BYPASS = 0x40
    GONE = 0x80


@dataclass(frozen=True, slots=True)
class HeaderField:
    """One header field, most significant bit first on the wire."""

    name: str
    bits: int
    meaning: str


HEADER = (
    HeaderField("version", 4, f"protocol version, {VERSION}"),
    HeaderField("kind", 4, "1 contribution, 2 result, 3 pending, 4 conflict"),
    HeaderField("flags", 8, "bit set, see below"),
    HeaderField("job", 16, "job identifier, given by the controller"),
    HeaderField("tag", 32, "verification tag: random, new for every incarnation of a job"),
    HeaderField("epoch", 32, "round of the job: grows by one with every round, compared as a serial number"),
    HeaderField("chunk", 32, "packet number inside the round, from 0"),
    HeaderField("shadow", 1, "which of the slot's two shadow sets"),
    HeaderField("slot", 15, "slot inside the job's slot range, from 0"),
    HeaderField("op", 8, "lane operation"),
    HeaderField("spare", 8, "sent as 0, ignored"),
    HeaderField("workers", 32, "bitmap of workers, by kind of packet"),
    HeaderField(
        "racks",
        32,
        "contribution: uplink words of the sender's whole round; answers: bitmap of racks, by kind of packet",
    ),
    HeaderField(
        "fan_in_workers", 8, "contributions that complete the first level; contribution of a worker: its number"
    ),
    HeaderField("fan_in_racks", 8, "contributions that complete the second level; 0 with one level, by kind of packet"),
    HeaderField("words", 16, "payload length in 32-bit words"),
)

HEADER_BITS = sum(field.bits for field in HEADER)
HEADER_BYTES = HEADER_BITS // 8
WORD_BYTES = 4

# Headers before the lanesum header in an untagged frame.
ETHERNET_BYTES = 14
IPV4_BYTES = 20
UDP_BYTES = 8
FRAME_OVERHEAD_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + HEADER_BYTES

_MAX_UDP_PAYLOAD_BYTES = 65507  # IPv4's 65,535 less its own header and UDP's
MAX_WORDS = (_MAX_UDP_PAYLOAD_BYTES - HEADER_BYTES) // WORD_BYTES

# Accumulator words of a job without a switch: a result fills an Ethernet frame. Multiples of 8 fill vector registers.
ETHERNET_MTU = 1500
FULL_ACCUMULATOR_WORDS = (ETHERNET_MTU - IPV4_BYTES - UDP_BYTES - HEADER_BYTES) // WORD_BYTES // 8 * 8
