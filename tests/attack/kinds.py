# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of attack, each with the counters that it increments at the switch and the server's reason for refusing it.

An attacker writes arbitrary bytes into its port. ``frame`` makes them reproducibly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES, VERSION, Flag, Kind
from lanesum.transport.ticket import JobTicket
from lanesum_switch.frames import ETHERTYPE_ARP, ETHERTYPE_IPV4, UdpFrame, internet_checksum
from tests.attack.attacker import LANESUM_AT, Attacker, Host

_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_WORDS_AT = LANESUM_AT + HEADER_BYTES
_ARP_SENDER_AT = ETHERNET_BYTES + 8
_FULL = 1 << 32
_ICMP = 1


_Maker = Callable[[Attacker, random.Random], bytes]
_Change = Callable[[Header, random.Random], Header]


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of attack.

    Attributes:
        make: returns the frame for an attacker and a random number generator.
        counts: counters that the frame increments at the switch, besides those of every ordinary packet; None where
            they depend on random values.
        at_server: reason for which the server refuses the frame; empty where the frame does not reach it.
    """

    make: _Maker
    counts: tuple[str, ...] | None
    at_server: str = ""


def frame(attacker: Attacker, kind: str, seed: int) -> bytes:
    """Return a frame of ``kind``, a key of ``ATTACKS``: the same one for the same seed and captured traffic."""
    return ATTACKS[kind].make(attacker, random.Random(f"{kind} {seed}"))


def patched(frame: bytes, at: int, new: bytes) -> bytes:
    """Return ``frame`` with ``new`` at byte ``at`` and a correct IPv4 checksum (header without options)."""
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
    """Return the datagram with another source address and no UDP checksum."""
    frame = patched(_without_udp_checksum(frame), ETHERNET_BYTES + 12, source.ip.to_bytes(4, "big"))
    return frame[:6] + source.mac + frame[12:]


# Changes to a header.


def _as_is(header: Header, _rng: random.Random) -> Header:
    return header


def _other_epoch(header: Header, rng: random.Random) -> Header:
    """Choose an older or newer epoch, or one half the number circle away."""
    step = rng.choice((-1, 1, -rng.randrange(1, 1000), rng.randrange(1, 1000), 1 << 31, (1 << 31) - 1))
    return replace(header, epoch=(header.epoch + step) % _FULL)


def _other_slot(header: Header, rng: random.Random) -> Header:
    return replace(header, chunk=rng.randrange(_FULL), slot=rng.randrange(1 << 15), shadow=rng.randrange(2))


def _other_round(header: Header, rng: random.Random) -> Header:
    """Change fields that an honest worker would report as a mismatch."""
    return replace(header, op=LaneOp.OR if header.op != LaneOp.OR else LaneOp.MAX, racks=rng.randrange(_FULL))


def _flagged(flags: int) -> _Change:
    def change(header: Header, rng: random.Random) -> Header:
        return replace(header, flags=flags, workers=rng.randrange(_FULL), fan_in_racks=rng.choice((0, 1, 255)))

    return change


def _spoofed(change: _Change) -> _Maker:
    """Send with the address of a worker."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        header = change(attacker.header(rng), rng)
        return attacker.to_server(rng.choice(attacker.traffic.workers), attacker.words(rng, header), rng)

    return make


def _own(change: _Change) -> _Maker:
    """Send from the attacker's own address, with the job and tag of the attacked job."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        return attacker.to_server(attacker.own, attacker.words(rng, change(attacker.header(rng), rng)), rng)

    return make


def _unknown(change: _Change) -> _Maker:
    """Send from an address that no host has."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        payload = attacker.words(rng, change(attacker.header(rng), rng))
        return attacker.to_server(attacker.unassigned_host(rng), payload, rng)

    return make


def _false(kind: Kind, flags: int = 0, source: str = "server") -> _Maker:
    """Send an answer to a worker, from the server's address or from another one."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        hosts = {"server": lambda: attacker.traffic.server, "own": lambda: attacker.own}
        host = hosts[source]() if source in hosts else attacker.unassigned_host(rng)
        return attacker.to_worker(host, attacker.answer(rng, kind, flags), rng)

    return make


# Frames that are malformed or of another protocol.


def _replay(attacker: Attacker, rng: random.Random) -> bytes:
    return attacker.captured_frame(rng)


def _fragment(whose: str) -> _Maker:
    def make(attacker: Attacker, rng: random.Random) -> bytes:
        frame = attacker.captured_frame(rng)
        frame = _from(frame, attacker.own) if whose == "own" else frame
        return patched(frame, ETHERNET_BYTES + 6, rng.choice((0x2000, 0x0001, 0x2001, 0x1FFF)).to_bytes(2, "big"))

    return make


def _options(attacker: Attacker, rng: random.Random) -> bytes:
    """Put IPv4 options in front of a captured contribution: switches do not parse them."""
    frame = bytearray(attacker.captured_frame(rng))
    frame[ETHERNET_BYTES] = 0x46
    length = int.from_bytes(frame[ETHERNET_BYTES + 2 : ETHERNET_BYTES + 4], "big") + 4
    frame[ETHERNET_BYTES + 2 : ETHERNET_BYTES + 4] = length.to_bytes(2, "big")
    header = frame[ETHERNET_BYTES:_UDP_AT] + b"\x01\x01\x01\x00"
    header[10:12] = bytes(2)
    header[10:12] = internet_checksum(bytes(header)).to_bytes(2, "big")
    return bytes(frame[:ETHERNET_BYTES] + header + frame[_UDP_AT:])


def _truncated(attacker: Attacker, rng: random.Random) -> bytes:
    frame = attacker.captured_frame(rng)
    return frame[: rng.randrange(ETHERNET_BYTES, len(frame))]


def _wrong_length(attacker: Attacker, rng: random.Random) -> bytes:
    frame = _without_udp_checksum(_from(attacker.captured_frame(rng), attacker.own))
    words = int.from_bytes(frame[_WORDS_AT - 2 : _WORDS_AT], "big")
    other = rng.choice([one for one in (0, 1, words - 1, words + 1, 0x4000 + words, 0xFFFF) if one != words])
    return frame[: _WORDS_AT - 2] + other.to_bytes(2, "big") + frame[_WORDS_AT:]


def _first_byte(attacker: Attacker, rng: random.Random, version: int, kind: int) -> bytes:
    frame = _from(attacker.captured_frame(rng), attacker.own)
    return frame[:LANESUM_AT] + bytes([version << 4 | kind]) + frame[LANESUM_AT + 1 :]


def _wrong_kind(attacker: Attacker, rng: random.Random) -> bytes:
    return _first_byte(attacker, rng, VERSION, rng.choice((0, *range(max(Kind) + 1, 16))))


def _wrong_version(attacker: Attacker, rng: random.Random) -> bytes:
    version = rng.choice([one for one in range(16) if one != VERSION])
    return _first_byte(attacker, rng, version, Kind.CONTRIBUTION)


def _corrupt_header(attacker: Attacker, rng: random.Random) -> bytes:
    frame = bytearray(attacker.captured_frame(rng))
    frame[ETHERNET_BYTES + 10 + rng.randrange(2)] ^= 1 << rng.randrange(8)
    return bytes(frame)


def _corrupt_words(attacker: Attacker, rng: random.Random) -> bytes:
    payload = attacker.words(rng, attacker.header(rng))
    worker, server = rng.choice(attacker.traffic.workers), attacker.traffic.server
    frame = bytearray(
        UdpFrame(
            worker.mac, attacker.traffic.gateway_mac, worker.ip, server.ip, worker.udp_port, server.udp_port, payload
        ).pack(checksum=True)
    )
    frame[rng.randrange(_WORDS_AT, len(frame))] ^= 1 << rng.randrange(8)
    return bytes(frame)


def _garbage(attacker: Attacker, rng: random.Random) -> bytes:
    ether_type = rng.choice((0x86DD, 0x88CC, 0x0000, 0x05DC, 0xFFFF))
    source = attacker.traffic.gateway_mac + rng.randbytes(6)
    return source + ether_type.to_bytes(2, "big") + rng.randbytes(rng.randrange(1400))


def _misdirected(attacker: Attacker, rng: random.Random) -> bytes:
    """Send a captured contribution to another station, to a group or to all stations."""
    mac = rng.choice((b"\xff" * 6, b"\x01\x00\x5e" + rng.randbytes(3), attacker.own.mac, b"\x06" + rng.randbytes(5)))
    return mac + attacker.captured_frame(rng)[6:]


def _vlan(attacker: Attacker, rng: random.Random) -> bytes:
    frame = attacker.captured_frame(rng)
    return frame[:12] + rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2) + frame[12:]


def _other_ip_version(attacker: Attacker, rng: random.Random) -> bytes:
    return patched(attacker.captured_frame(rng), ETHERNET_BYTES, rng.choice((b"\x65", b"\x55", b"\x40", b"\x44")))


def _arp(attacker: Attacker, rng: random.Random, operation: int = 1, target: Host | None = None) -> bytes:
    """Make a request for another host; the sender is a probe's, the attacker or another host."""
    others = [*attacker.traffic.workers, attacker.traffic.server]
    claimed = rng.choice((0, attacker.own.ip, rng.choice(others).ip))
    fixed = b"\x00\x01\x08\x00\x06\x04" + operation.to_bytes(2, "big")
    addresses = attacker.own.mac + claimed.to_bytes(4, "big") + bytes(6)
    asked = rng.choice(others) if target is None else target
    frame = b"\xff" * 6 + attacker.own.mac + ETHERTYPE_ARP.to_bytes(2, "big") + fixed + addresses
    return frame + asked.ip.to_bytes(4, "big")


def _arp_for_itself(attacker: Attacker, rng: random.Random) -> bytes:
    return _arp(attacker, rng, target=attacker.own)


def _unsolicited_arp(attacker: Attacker, rng: random.Random) -> bytes:
    return _arp(attacker, rng, rng.choice((2, 3, 0xFFFF)))


def _malformed_arp(attacker: Attacker, rng: random.Random) -> bytes:
    """Change a field that names hardware, protocol or lengths, or claim a group's MAC address."""
    frame = bytearray(_arp(attacker, rng))
    if rng.random() < 0.3:
        frame[_ARP_SENDER_AT] |= 1
    else:
        frame[rng.randrange(ETHERNET_BYTES, ETHERNET_BYTES + 6)] ^= rng.randrange(1, 256)
    return bytes(frame)


def _short_arp(attacker: Attacker, rng: random.Random) -> bytes:
    return _arp(attacker, rng)[: rng.randrange(ETHERNET_BYTES, ETHERNET_BYTES + 28)]


def _expired(attacker: Attacker, rng: random.Random) -> bytes:
    return patched(_own(_as_is)(attacker, rng), ETHERNET_BYTES + 8, bytes([rng.randrange(2)]))


def _no_route(attacker: Attacker, rng: random.Random) -> bytes:
    frame = _without_udp_checksum(_own(_as_is)(attacker, rng))
    return patched(frame, ETHERNET_BYTES + 16, attacker.unassigned_host(rng).ip.to_bytes(4, "big"))


def _other_size(attacker: Attacker, rng: random.Random) -> bytes:
    header = replace(attacker.header(rng), flags=0)
    right = LaneOp(header.op).shape.uplink_words(attacker.traffic.tickets[0].accumulator_words)
    number = rng.choice([one for one in (0, 1, right - 1, right + 1, 300) if one != right])
    payload = Packet(header, np.zeros(number, np.uint32)).pack()
    return attacker.to_server(attacker.own, payload, rng)


def _result_to_server(attacker: Attacker, rng: random.Random) -> bytes:
    kind = rng.choice((Kind.RESULT, Kind.PENDING, Kind.CONFLICT))
    return attacker.to_server(attacker.own, attacker.answer(rng, kind), rng)


def _icmp(code: int) -> _Maker:
    """Make an ICMP destination unreachable for a worker's datagram; the kernel reports it to the worker's socket."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        sent = attacker.captured_frame(rng)
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


# Attacks with a ticket of the attacker's own.


def _with_ticket(change: Callable[[JobTicket, JobTicket, random.Random], dict[str, int]], flags: int = 0) -> _Maker:
    """Send from the attacker's address; ``change`` maps its ticket and one of the attacked job to header fields."""

    def make(attacker: Attacker, rng: random.Random) -> bytes:
        ticket = attacker.own_ticket()
        header = replace(attacker.header(rng), flags=flags, op=ticket.ops[0])
        header = replace(header, **change(ticket, attacker.traffic.tickets[0], rng))
        return attacker.to_server(attacker.own, attacker.words(rng, header), rng)

    return make


def _own_tag(own: JobTicket, _victim: JobTicket, _rng: random.Random) -> dict[str, int]:
    return {"job": own.job, "tag": own.tag}


def _beyond(own: JobTicket, _victim: JobTicket, rng: random.Random) -> dict[str, int]:
    slot = rng.choice((own.slots, own.slots + 1, (1 << 15) - 1, rng.randrange(own.slots, 1 << 15)))
    return {"job": own.job, "tag": own.tag, "slot": slot}


def _forbidden(own: JobTicket, _victim: JobTicket, rng: random.Random) -> dict[str, int]:
    op = rng.choice([one for one in LaneOp if one not in own.ops])
    return {"job": own.job, "tag": own.tag, "slot": rng.randrange(own.slots), "op": op}


def _busy(own: JobTicket, _victim: JobTicket, rng: random.Random) -> dict[str, int]:
    """Send only permitted contributions, each one for a new chunk."""
    return {
        "job": own.job, "tag": own.tag, "slot": rng.randrange(own.slots), "shadow": rng.randrange(2),
        "epoch": rng.randrange(_FULL), "chunk": rng.randrange(_FULL),
    }  # fmt: skip


# Random frames; none of them is a contribution of a member from the member's port.


def _fuzz_bits(attacker: Attacker, rng: random.Random) -> bytes:
    frame = bytearray(attacker.captured_frame(rng))
    for _ in range(rng.randrange(1, 9)):
        frame[rng.randrange(rng.choice((_WORDS_AT, len(frame))))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.5:
        frame[ETHERNET_BYTES : ETHERNET_BYTES + 1] = b"\x45"
        return patched(bytes(frame), 0, b"")
    return bytes(frame)


def _fuzz_header(attacker: Attacker, rng: random.Random) -> bytes:
    frame = bytearray(_from(attacker.captured_frame(rng), attacker.own))
    for _ in range(rng.randrange(1, 6)):
        frame[rng.randrange(LANESUM_AT, _WORDS_AT)] = rng.randrange(256)
    return bytes(frame)


def _fuzz_bytes(attacker: Attacker, rng: random.Random) -> bytes:
    body = rng.randbytes(rng.randrange(1400))
    ether_type = rng.choice((ETHERTYPE_IPV4, ETHERTYPE_ARP, rng.randrange(1 << 16)))
    destination = rng.choice((attacker.traffic.gateway_mac, rng.randbytes(6)))
    return destination + rng.randbytes(6) + ether_type.to_bytes(2, "big") + body


def _fuzz_length(attacker: Attacker, rng: random.Random) -> bytes:
    frame = attacker.captured_frame(rng)
    frame = rng.choice((frame, _from(frame, attacker.own)))
    return frame + rng.randbytes(rng.randrange(200))


_SUMMED, _PAST, _DOWN = "aggregate", "route_past", "descend_or_route"
_MEMBER = "not a member"  # the server's reason

# Attacks from any port.
ATTACKS: dict[str, Attack] = {
    "replay": Attack(_replay, (_SUMMED, "drop_spoofed")),
    "spoofed": Attack(_spoofed(_as_is), (_SUMMED, "drop_spoofed")),
    "spoofed_epoch": Attack(_spoofed(_other_epoch), (_SUMMED, "drop_spoofed")),
    "spoofed_slot": Attack(_spoofed(_other_slot), (_SUMMED, "drop_spoofed")),
    "spoofed_round": Attack(_spoofed(_other_round), (_SUMMED, "drop_spoofed")),
    "spoofed_aggregate": Attack(_spoofed(_flagged(Flag.UPPER)), (_SUMMED, "drop_spoofed")),
    "spoofed_bypass": Attack(_spoofed(_flagged(Flag.BYPASS)), (_PAST, "drop_spoofed")),
    "spoofed_fragment": Attack(_fragment("worker"), ("route", "drop_spoofed")),
    "spoofed_options": Attack(_options, ("route", "drop_spoofed")),
    "false_result": Attack(_false(Kind.RESULT), ("route", "drop_spoofed")),
    "false_pending": Attack(_false(Kind.PENDING, Flag.BYPASS), ("route", "drop_spoofed")),
    "false_gone": Attack(_false(Kind.PENDING, Flag.GONE), ("route", "drop_spoofed")),
    "false_conflict": Attack(_false(Kind.CONFLICT), ("route", "drop_spoofed")),
    "false_upper_result": Attack(_false(Kind.RESULT, Flag.UPPER), (_DOWN, "drop_spoofed")),
    "own_contribution": Attack(_own(_as_is), (_SUMMED, "not_a_member"), _MEMBER),
    "own_epoch": Attack(_own(_other_epoch), (_SUMMED, "not_a_member"), _MEMBER),
    "own_slot": Attack(_own(_other_slot), (_SUMMED, "not_a_member"), _MEMBER),
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
    "unknown_result": Attack(_false(Kind.RESULT, source="unassigned"), ("route",)),
    "unknown_upper_result": Attack(_false(Kind.RESULT, Flag.UPPER, "unassigned"), (_DOWN,)),
    "port_unreachable": Attack(_icmp(3), ("route",)),
    "too_big": Attack(_icmp(4), ("route",)),
    "wrong_version": Attack(_wrong_version, ("route",), "other version"),
    "wrong_kind": Attack(_wrong_kind, ("drop_malformed",)),
    "wrong_length": Attack(_wrong_length, ("drop_malformed",)),
    "truncated": Attack(_truncated, ("drop_malformed",)),
    "other_ip_version": Attack(_other_ip_version, ("drop_malformed",)),
    "short_arp": Attack(_short_arp, ("drop_malformed",)),
    "arp": Attack(_arp, ("answer_arp", "replied")),
    "arp_for_itself": Attack(_arp_for_itself, ("answer_arp", "drop_same_port")),
    "unsolicited_arp": Attack(_unsolicited_arp, ("answer_arp", "drop_unknown_host")),
    "corrupt_header": Attack(_corrupt_header, ("drop_corrupt",)),
    "corrupt_words": Attack(_corrupt_words, ("drop_corrupt",)),
    "malformed_arp": Attack(_malformed_arp, ("drop_malformed",)),
    "misdirected": Attack(_misdirected, ("drop_misdirected",)),
    "garbage": Attack(_garbage, ("drop_unknown",)),
    "vlan": Attack(_vlan, ("drop_tagged",)),
    "expired": Attack(_expired, (_SUMMED, "not_a_member", "drop_expired")),
    "no_route": Attack(_no_route, (_SUMMED, "not_a_member", "drop_no_route")),
    "fuzz_bits": Attack(_fuzz_bits, None),
    "fuzz_header": Attack(_fuzz_header, None),
    "fuzz_bytes": Attack(_fuzz_bytes, None),
    "fuzz_length": Attack(_fuzz_length, None),
}
ANY_PORT = tuple(ATTACKS)

# Attacks by members of another job. "busy" is none: it uses their own slots only.
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
MEMBER_OF_ANOTHER_JOB = (*ANY_PORT, *_OF_MEMBERS)

# Attacks with a ticket that is no longer valid.
_OF_FORMER_MEMBERS = {
    "old_tag": Attack(_with_ticket(_own_tag), (_SUMMED, "not_a_member"), _MEMBER),
    "old_tag_past": Attack(_with_ticket(_own_tag, Flag.BYPASS), (_PAST,), _MEMBER),
    "old_tag_aggregate": Attack(_with_ticket(_own_tag, Flag.UPPER), (_SUMMED, "drop_forged")),
}
FORMER_MEMBER = (*ANY_PORT, *_OF_FORMER_MEMBERS)

ATTACKS |= _OF_MEMBERS | _OF_FORMER_MEMBERS | {BUSY: Attack(_with_ticket(_busy), None)}
