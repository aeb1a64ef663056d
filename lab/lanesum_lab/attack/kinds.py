# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of attack. Each says which counters of the switch it moves, and what the server says of it if it gets there.

An attacker writes any bytes into its port: ``frame`` makes them, reproducibly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lanesum.protocol.frames import ETHERTYPE_ARP, ETHERTYPE_IPV4, UdpFrame, internet_checksum
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES, VERSION, Flag, Kind
from lanesum.transport.ticket import JobTicket
from lanesum_lab.attack.attacker import LANESUM_AT, Attacker, Host

_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_WORDS_AT = LANESUM_AT + HEADER_BYTES
_FULL = 1 << 32
_ICMP = 1


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of attack.

    Attributes:
        make: the frame, from an attacker and dice.
        counts: counters of the switch that the frame moves, besides those of every ordinary packet on its way; None
            where the dice decide.
        at_server: why the server refuses what reaches it; empty where nothing does.
    """

    make: Callable[[Attacker, random.Random], bytes]
    counts: tuple[str, ...] | None
    at_server: str = ""


def frame(attacker: Attacker, kind: str, seed: int) -> bytes:
    """A frame of ``kind``, a key of ``ATTACKS``; the same for the same seed and loot."""
    return ATTACKS[kind].make(attacker, random.Random(f"{kind} {seed}"))


def patched(frame: bytes, at: int, new: bytes) -> bytes:
    """``frame`` with other bytes at ``at``, and its IPv4 checksum (of a header without options) made right again."""
    data = bytearray(frame)
    data[at : at + len(new)] = new
    data[ETHERNET_BYTES + 10 : ETHERNET_BYTES + 12] = bytes(2)
    data[ETHERNET_BYTES + 10 : ETHERNET_BYTES + 12] = internet_checksum(bytes(data[ETHERNET_BYTES:_UDP_AT])).to_bytes(
        2, "big"
    )
    return bytes(data)


def _without_udp_checksum(frame: bytes) -> bytes:
    return frame[: LANESUM_AT - 2] + bytes(2) + frame[LANESUM_AT:]


def _from(frame: bytes, source: Host) -> bytes:
    """The same datagram from another address, without a UDP checksum."""
    frame = patched(_without_udp_checksum(frame), ETHERNET_BYTES + 12, source.ip.to_bytes(4, "big"))
    return frame[:6] + source.mac + frame[12:]


# Changes to a header.


def _as_is(header: Header, _dice: random.Random) -> Header:
    return header


def _other_epoch(header: Header, dice: random.Random) -> Header:
    """Old, new, or half the circle away."""
    step = dice.choice((-1, 1, -dice.randrange(1, 1000), dice.randrange(1, 1000), 1 << 31, (1 << 31) - 1))
    return replace(header, epoch=(header.epoch + step) % _FULL)


def _other_place(header: Header, dice: random.Random) -> Header:
    return replace(header, chunk=dice.randrange(_FULL), slot=dice.randrange(1 << 15), shadow=dice.randrange(2))


def _other_round(header: Header, dice: random.Random) -> Header:
    """What honest workers would be told of as a mismatch."""
    return replace(header, op=LaneOp.OR if header.op != LaneOp.OR else LaneOp.MAX, racks=dice.randrange(_FULL))


def _flagged(flags: int) -> Callable[[Header, random.Random], Header]:
    def change(header: Header, dice: random.Random) -> Header:
        return replace(header, flags=flags, workers=dice.randrange(_FULL), fan_in_racks=dice.choice((0, 1, 255)))

    return change


_Change = Callable[[Header, random.Random], Header]


def _spoofed(change: _Change) -> Callable[[Attacker, random.Random], bytes]:
    """In the name of a worker."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        header = change(attacker.header(dice), dice)
        return attacker.to_server(dice.choice(attacker.loot.workers), attacker.words(dice, header), dice)

    return make


def _own(change: _Change) -> Callable[[Attacker, random.Random], bytes]:
    """From the attacker's own address, with the victim's job and tag."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        return attacker.to_server(attacker.own, attacker.words(dice, change(attacker.header(dice), dice)), dice)

    return make


def _unknown(change: _Change) -> Callable[[Attacker, random.Random], bytes]:
    """From an address that nobody has."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        payload = attacker.words(dice, change(attacker.header(dice), dice))
        return attacker.to_server(attacker.nobody(dice), payload, dice)

    return make


def _false(kind: Kind, flags: int = 0, source: str = "server") -> Callable[[Attacker, random.Random], bytes]:
    """An answer to a worker, in the server's name or from another address."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        hosts = {"server": lambda: attacker.loot.server, "own": lambda: attacker.own}
        host = hosts[source]() if source in hosts else attacker.nobody(dice)
        return attacker.to_worker(host, attacker.answer(dice, kind, flags), dice)

    return make


# Frames that are broken, or none of the protocol's.


def _replay(attacker: Attacker, dice: random.Random) -> bytes:
    return attacker.captured(dice)


def _fragment(whose: str) -> Callable[[Attacker, random.Random], bytes]:
    def make(attacker: Attacker, dice: random.Random) -> bytes:
        frame = attacker.captured(dice)
        frame = _from(frame, attacker.own) if whose == "own" else frame
        return patched(frame, ETHERNET_BYTES + 6, dice.choice((0x2000, 0x0001, 0x2001, 0x1FFF)).to_bytes(2, "big"))

    return make


def _options(attacker: Attacker, dice: random.Random) -> bytes:
    """A captured contribution behind IPv4 options, where a switch does not look for it."""
    frame = bytearray(attacker.captured(dice))
    frame[ETHERNET_BYTES] = 0x46
    length = int.from_bytes(frame[ETHERNET_BYTES + 2 : ETHERNET_BYTES + 4], "big") + 4
    frame[ETHERNET_BYTES + 2 : ETHERNET_BYTES + 4] = length.to_bytes(2, "big")
    header = frame[ETHERNET_BYTES:_UDP_AT] + b"\x01\x01\x01\x00"
    header[10:12] = bytes(2)
    header[10:12] = internet_checksum(bytes(header)).to_bytes(2, "big")
    return bytes(frame[:ETHERNET_BYTES] + header + frame[_UDP_AT:])


def _truncated(attacker: Attacker, dice: random.Random) -> bytes:
    frame = attacker.captured(dice)
    return frame[: dice.randrange(ETHERNET_BYTES, len(frame))]


def _wrong_length(attacker: Attacker, dice: random.Random) -> bytes:
    frame = _without_udp_checksum(_from(attacker.captured(dice), attacker.own))
    words = int.from_bytes(frame[_WORDS_AT - 2 : _WORDS_AT], "big")
    other = dice.choice([one for one in (0, 1, words - 1, words + 1, 0x4000 + words, 0xFFFF) if one != words])
    return frame[: _WORDS_AT - 2] + other.to_bytes(2, "big") + frame[_WORDS_AT:]


def _first_byte(attacker: Attacker, dice: random.Random, version: int, kind: int) -> bytes:
    frame = _from(attacker.captured(dice), attacker.own)
    return frame[:LANESUM_AT] + bytes([version << 4 | kind]) + frame[LANESUM_AT + 1 :]


def _wrong_kind(attacker: Attacker, dice: random.Random) -> bytes:
    return _first_byte(attacker, dice, VERSION, dice.choice((0, *range(max(Kind) + 1, 16))))


def _wrong_version(attacker: Attacker, dice: random.Random) -> bytes:
    version = dice.choice([one for one in range(16) if one != VERSION])
    return _first_byte(attacker, dice, version, Kind.CONTRIBUTION)


def _corrupt_header(attacker: Attacker, dice: random.Random) -> bytes:
    frame = bytearray(attacker.captured(dice))
    frame[ETHERNET_BYTES + 10 + dice.randrange(2)] ^= 1 << dice.randrange(8)
    return bytes(frame)


def _corrupt_words(attacker: Attacker, dice: random.Random) -> bytes:
    payload = attacker.words(dice, attacker.header(dice))
    worker, server = dice.choice(attacker.loot.workers), attacker.loot.server
    frame = bytearray(
        UdpFrame(
            worker.mac, attacker.loot.gateway_mac, worker.ip, server.ip, worker.udp_port, server.udp_port, payload
        ).pack(checksum=True)
    )
    frame[dice.randrange(_WORDS_AT, len(frame))] ^= 1 << dice.randrange(8)
    return bytes(frame)


def _garbage(attacker: Attacker, dice: random.Random) -> bytes:
    ether_type = dice.choice((0x86DD, 0x88CC, 0x0000, 0x05DC, 0xFFFF))
    return dice.randbytes(12) + ether_type.to_bytes(2, "big") + dice.randbytes(dice.randrange(1400))


def _vlan(attacker: Attacker, dice: random.Random) -> bytes:
    frame = attacker.captured(dice)
    return frame[:12] + b"\x81\x00" + dice.randbytes(2) + frame[12:]


def _other_ip_version(attacker: Attacker, dice: random.Random) -> bytes:
    return patched(attacker.captured(dice), ETHERNET_BYTES, dice.choice((b"\x65", b"\x55", b"\x40", b"\x44")))


def _arp(attacker: Attacker, dice: random.Random) -> bytes:
    """Requests in others' names, answers that nobody asked for, and nonsense."""
    loot = attacker.loot
    hosts = [*loot.workers, loot.server, attacker.own]
    claimed, target = dice.choice(hosts), dice.choice(hosts)
    fixed = dice.choice((b"\x00\x01\x08\x00\x06\x04", dice.randbytes(6))) + dice.choice((1, 2, 3, 0xFFFF)).to_bytes(
        2, "big"
    )
    addresses = attacker.own.mac + claimed.ip.to_bytes(4, "big") + bytes(6) + target.ip.to_bytes(4, "big")
    return b"\xff" * 6 + attacker.own.mac + ETHERTYPE_ARP.to_bytes(2, "big") + fixed + addresses


def _short_arp(attacker: Attacker, dice: random.Random) -> bytes:
    return _arp(attacker, dice)[: dice.randrange(ETHERNET_BYTES, ETHERNET_BYTES + 28)]


def _expired(attacker: Attacker, dice: random.Random) -> bytes:
    return patched(_own(_as_is)(attacker, dice), ETHERNET_BYTES + 8, bytes([dice.randrange(2)]))


def _no_route(attacker: Attacker, dice: random.Random) -> bytes:
    frame = _without_udp_checksum(_own(_as_is)(attacker, dice))
    return patched(frame, ETHERNET_BYTES + 16, attacker.nobody(dice).ip.to_bytes(4, "big"))


def _other_size(attacker: Attacker, dice: random.Random) -> bytes:
    header = replace(attacker.header(dice), flags=0)
    right = LaneOp(header.op).shape.uplink_words(attacker.loot.tickets[0].accumulator_words)
    number = dice.choice([one for one in (0, 1, right - 1, right + 1, 300) if one != right])
    payload = Packet(header, np.zeros(number, np.uint32)).pack()
    return attacker.to_server(attacker.own, payload, dice)


def _result_to_server(attacker: Attacker, dice: random.Random) -> bytes:
    kind = dice.choice((Kind.RESULT, Kind.PENDING, Kind.CONFLICT))
    return attacker.to_server(attacker.own, attacker.answer(dice, kind), dice)


def _icmp(code: int) -> _Maker:
    """Destination unreachable, for a datagram that a worker has sent: its kernel hands that to the worker's socket."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        sent = attacker.captured(dice)
        # Unused, then the MTU of the next hop (code 4), then the beginning of the datagram.
        body = bytes(2) + (68).to_bytes(2, "big") + sent[ETHERNET_BYTES : LANESUM_AT + 8]
        message = bytes([3, code, 0, 0]) + body
        message = message[:2] + internet_checksum(message).to_bytes(2, "big") + message[4:]
        worker = UdpFrame.unpack(sent)
        assert worker is not None
        frame = bytearray(sent[:_UDP_AT] + message)
        frame[6:12] = attacker.own.mac
        frame[ETHERNET_BYTES + 2 : ETHERNET_BYTES + 4] = (IPV4_BYTES + len(message)).to_bytes(2, "big")
        frame[ETHERNET_BYTES + 9] = _ICMP
        frame[ETHERNET_BYTES + 12 : _UDP_AT] = attacker.own.ip.to_bytes(4, "big") + worker.source_ip.to_bytes(4, "big")
        return patched(bytes(frame), 0, b"")

    return make


# With a ticket of the attacker's own.


def _with_ticket(change: Callable[[JobTicket, JobTicket, random.Random], dict[str, int]], flags: int = 0) -> _Maker:
    """From its own address; ``change`` gets its own ticket and one of the victim's, and says header fields."""

    def make(attacker: Attacker, dice: random.Random) -> bytes:
        ticket = attacker.own_ticket()
        header = replace(attacker.header(dice), flags=flags, op=ticket.ops[0])
        header = replace(header, **change(ticket, attacker.loot.tickets[0], dice))
        return attacker.to_server(attacker.own, attacker.words(dice, header), dice)

    return make


_Maker = Callable[[Attacker, random.Random], bytes]


def _beyond(own: JobTicket, _victim: JobTicket, dice: random.Random) -> dict[str, int]:
    slot = dice.choice((own.slots, own.slots + 1, (1 << 15) - 1, dice.randrange(own.slots, 1 << 15)))
    return {"job": own.job, "tag": own.tag, "slot": slot}


def _forbidden(own: JobTicket, _victim: JobTicket, dice: random.Random) -> dict[str, int]:
    op = dice.choice([one for one in LaneOp if one not in own.ops])
    return {"job": own.job, "tag": own.tag, "slot": dice.randrange(own.slots), "op": op}


def _busy(own: JobTicket, _victim: JobTicket, dice: random.Random) -> dict[str, int]:
    """Nothing forbidden, as often as it can: always a newer chunk somewhere."""
    return {
        "job": own.job, "tag": own.tag, "slot": dice.randrange(own.slots), "shadow": dice.randrange(2),
        "epoch": dice.randrange(_FULL), "chunk": dice.randrange(_FULL),
    }  # fmt: skip


# Whatever comes out of it, it is not a contribution of a member from the member's port.


def _fuzz_bits(attacker: Attacker, dice: random.Random) -> bytes:
    frame = bytearray(attacker.captured(dice))
    for _ in range(dice.randrange(1, 9)):
        frame[dice.randrange(dice.choice((_WORDS_AT, len(frame))))] ^= 1 << dice.randrange(8)
    if dice.random() < 0.5:
        frame[ETHERNET_BYTES : ETHERNET_BYTES + 1] = b"\x45"
        return patched(bytes(frame), 0, b"")
    return bytes(frame)


def _fuzz_header(attacker: Attacker, dice: random.Random) -> bytes:
    frame = bytearray(_from(attacker.captured(dice), attacker.own))
    for _ in range(dice.randrange(1, 6)):
        frame[dice.randrange(LANESUM_AT, _WORDS_AT)] = dice.randrange(256)
    return bytes(frame)


def _fuzz_bytes(attacker: Attacker, dice: random.Random) -> bytes:
    body = dice.randbytes(dice.randrange(1400))
    ether_type = dice.choice((ETHERTYPE_IPV4, ETHERTYPE_ARP, dice.randrange(1 << 16)))
    return dice.randbytes(12) + ether_type.to_bytes(2, "big") + body


def _fuzz_length(attacker: Attacker, dice: random.Random) -> bytes:
    frame = attacker.captured(dice)
    frame = dice.choice((frame, _from(frame, attacker.own)))
    return frame + dice.randbytes(dice.randrange(200))


_SUMMED, _PAST, _DOWN = "aggregate", "route_past", "descend_or_route"
_MEMBER = "not a member"  # in the server's words

# For attackers at any port.
ATTACKS: dict[str, Attack] = {
    "replay": Attack(_replay, (_SUMMED, "drop_spoofed")),
    "spoofed": Attack(_spoofed(_as_is), (_SUMMED, "drop_spoofed")),
    "spoofed_epoch": Attack(_spoofed(_other_epoch), (_SUMMED, "drop_spoofed")),
    "spoofed_place": Attack(_spoofed(_other_place), (_SUMMED, "drop_spoofed")),
    "spoofed_round": Attack(_spoofed(_other_round), (_SUMMED, "drop_spoofed")),
    "spoofed_aggregate": Attack(_spoofed(_flagged(Flag.UPPER)), (_SUMMED, "drop_spoofed")),
    "spoofed_bypass": Attack(_spoofed(_flagged(Flag.BYPASS)), (_PAST, "drop_spoofed")),
    "spoofed_fragment": Attack(_fragment("victim's"), ("route", "drop_spoofed")),
    "spoofed_options": Attack(_options, ("route", "drop_spoofed")),
    "false_result": Attack(_false(Kind.RESULT), ("route", "drop_spoofed")),
    "false_pending": Attack(_false(Kind.PENDING, Flag.BYPASS), ("route", "drop_spoofed")),
    "false_gone": Attack(_false(Kind.PENDING, Flag.GONE), ("route", "drop_spoofed")),
    "false_conflict": Attack(_false(Kind.CONFLICT), ("route", "drop_spoofed")),
    "false_upper_result": Attack(_false(Kind.RESULT, Flag.UPPER), (_DOWN, "drop_spoofed")),
    "own_contribution": Attack(_own(_as_is), (_SUMMED, "not_a_member"), _MEMBER),
    "own_epoch": Attack(_own(_other_epoch), (_SUMMED, "not_a_member"), _MEMBER),
    "own_place": Attack(_own(_other_place), (_SUMMED, "not_a_member"), _MEMBER),
    "own_round": Attack(_own(_other_round), (_SUMMED, "not_a_member"), _MEMBER),
    "own_bypass": Attack(_own(_flagged(Flag.BYPASS)), (_PAST,), _MEMBER),
    "own_partial": Attack(_own(_flagged(Flag.PARTIAL)), (_PAST,), _MEMBER),
    "own_size": Attack(_other_size, ("route_other_size",), _MEMBER),
    "own_aggregate": Attack(_own(_flagged(Flag.UPPER)), (_SUMMED, "drop_forged")),
    "own_aggregate_past": Attack(_own(_flagged(Flag.UPPER | Flag.BYPASS)), (_PAST, "drop_forged")),
    "own_result": Attack(_false(Kind.RESULT, source="own"), ("route",)),
    "own_conflict": Attack(_false(Kind.CONFLICT, source="own"), ("route",)),
    "own_upper_result": Attack(_false(Kind.RESULT, Flag.UPPER, "own"), (_DOWN, "drop_forged")),
    "own_result_to_server": Attack(_result_to_server, ("route",), "not a contribution"),
    "own_fragment": Attack(_fragment("own"), ("route",)),
    "unknown_address": Attack(_unknown(_as_is), (_SUMMED, "not_a_member"), _MEMBER),
    "unknown_aggregate": Attack(_unknown(_flagged(Flag.UPPER)), (_SUMMED, "not_a_member"), _MEMBER),
    "unknown_result": Attack(_false(Kind.RESULT, source="nobody"), ("route",)),
    "unknown_upper_result": Attack(_false(Kind.RESULT, Flag.UPPER, "nobody"), (_DOWN,)),
    "port_unreachable": Attack(_icmp(3), ("route",)),
    "too_big": Attack(_icmp(4), ("route",)),
    "wrong_version": Attack(_wrong_version, ("route",), "other version"),
    "wrong_kind": Attack(_wrong_kind, ("drop_malformed",)),
    "wrong_length": Attack(_wrong_length, ("drop_malformed",)),
    "truncated": Attack(_truncated, ("drop_malformed",)),
    "other_ip_version": Attack(_other_ip_version, ("drop_malformed",)),
    "short_arp": Attack(_short_arp, ("drop_malformed",)),
    "arp": Attack(_arp, ("answer_arp",)),
    "corrupt_header": Attack(_corrupt_header, ("drop_corrupt",)),
    "corrupt_words": Attack(_corrupt_words, ("drop_corrupt",)),
    "garbage": Attack(_garbage, ("drop_unknown",)),
    "vlan": Attack(_vlan, ("drop_unknown",)),
    "expired": Attack(_expired, (_SUMMED, "not_a_member", "drop_expired")),
    "no_route": Attack(_no_route, (_SUMMED, "not_a_member", "drop_no_route")),
    "fuzz_bits": Attack(_fuzz_bits, None),
    "fuzz_header": Attack(_fuzz_header, None),
    "fuzz_bytes": Attack(_fuzz_bytes, None),
    "fuzz_length": Attack(_fuzz_length, None),
}
ANYBODY = tuple(ATTACKS)

# For members of another job; "busy" is none: it is all theirs.
_OF_MEMBERS = {
    "beyond_slots": Attack(_with_ticket(_beyond), (_SUMMED, "refuse_slot"), "slot out of range"),
    "forbidden_op": Attack(_with_ticket(_forbidden), (_SUMMED, "refuse_op"), "operation not allowed"),
    "victims_tag": Attack(
        _with_ticket(lambda own, victim, _: {"job": own.job, "tag": victim.tag}), (_SUMMED, "not_a_member"), "wrong tag"
    ),
    "victims_job": Attack(
        _with_ticket(lambda own, victim, _: {"job": victim.job, "tag": own.tag}), (_SUMMED, "not_a_member"), _MEMBER
    ),
}
BUSY = "busy"
MEMBER_OF_ANOTHER_JOB = (*ANYBODY, *_OF_MEMBERS)

# For those whose ticket is void.
_OF_FORMER_MEMBERS = {
    "old_tag": Attack(
        _with_ticket(lambda own, _, __: {"job": own.job, "tag": own.tag}), (_SUMMED, "not_a_member"), _MEMBER
    ),
    "old_tag_past": Attack(
        _with_ticket(lambda own, _, __: {"job": own.job, "tag": own.tag}, Flag.BYPASS), (_PAST,), _MEMBER
    ),
    "old_tag_aggregate": Attack(
        _with_ticket(lambda own, _, __: {"job": own.job, "tag": own.tag}, Flag.UPPER), (_SUMMED, "drop_forged")
    ),
}
FORMER_MEMBER = (*ANYBODY, *_OF_FORMER_MEMBERS)

ATTACKS |= _OF_MEMBERS | _OF_FORMER_MEMBERS | {BUSY: Attack(_with_ticket(_busy), None)}
