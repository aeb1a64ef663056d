# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault injector of one link: it has neither socket nor clock, and returns packets with their arrival times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from lanesum.protocol.packet import HEADER_DTYPE
from lanesum.protocol.spec import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES, OPENING, UDP_BYTES, UDP_PORT, VERSION, Kind
from lanesum_switch.faults.counters import FaultCounters
from lanesum_switch.faults.plan import DOWN, UP, Direction, FaultPlan, FaultRule, PacketMatch
from lanesum_switch.frames import ETHERTYPE_IPV4, PROTOCOL_UDP, udp_checksum

_NUMBER_BYTES = 8


def random_key(seed: int, *parts: object) -> bytes:
    """Return the key of a rule's random numbers, from the seed of a fault plan."""
    return hashlib.blake2b("/".join(map(str, (seed, *parts))).encode(), digest_size=32).digest()


class RandomNumbers:
    """Random numbers of one packet at one rule: four, at most."""

    def __init__(self, key: bytes, number: int) -> None:
        digest = hashlib.blake2b(number.to_bytes(_NUMBER_BYTES, "big"), key=key, digest_size=4 * _NUMBER_BYTES).digest()
        self._unused = [
            int.from_bytes(digest[at : at + _NUMBER_BYTES], "big") for at in range(0, len(digest), _NUMBER_BYTES)
        ]

    def uniform(self) -> float:
        """Return a uniform float from 0 (included) to 1 (excluded)."""
        return (self._unused.pop() >> 11) / (1 << 53)

    def below(self, limit: int) -> int:
        """Return an int from 0 to ``limit - 1``."""
        return self._unused.pop() % limit


Layer = Literal["frame", "datagram"]

_ANY, _OTHER = "any", "other"
_KINDS = {VERSION << 4 | kind: kind.name.lower() for kind in Kind}
_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_LANESUM_AT = _UDP_AT + UDP_BYTES
_PLAIN_IPV4 = ETHERTYPE_IPV4.to_bytes(2, "big") + b"\x45"
_CHECKSUM, _NO_CHECKSUM = slice(_UDP_AT + 6, _UDP_AT + 8), b"\x00\x00"
_PORT = UDP_PORT.to_bytes(2, "big")
_PROTOCOL_TCP, _PROTOCOL_ICMP = 6, 1


def _field(name: str) -> slice:
    kind, start = HEADER_DTYPE.fields[name][:2]  # type: ignore[index]
    return slice(start, start + kind.itemsize)


_EPOCH, _CHUNK, _SPARE = _field("epoch"), _field("chunk"), _field("spare")
_INCARNATION = slice(_field("job").start, _field("tag").stop)


@dataclass(slots=True)
class _ActiveRule:
    """A rule in one direction; ``key`` is the key of its random numbers."""

    index: int
    rule: FaultRule
    exact: frozenset[int] | None
    key: bytes


@dataclass(slots=True)
class _Transit:
    """A packet on the link.

    Attributes:
        in_order_delay: seconds; later packets wait behind it.
        reorder_delay: seconds; later packets arrive before it.
        copies: delays of its copies in seconds.
    """

    data: bytes
    in_order_delay: float = 0.0
    reorder_delay: float = 0.0
    copies: list[float] = field(default_factory=list)


class FaultInjector:
    """Applies a plan's rules to the packets of one link.

    Args:
        seed: of all random numbers; None for the plan's.
        layer: ``frame`` for Ethernet frames, ``datagram`` for UDP payloads between a program and its socket. No
            checksum covers a payload there: packets to corrupt are dropped, and counted as lost.

    The effect on the n-th packet that matches a rule depends on the seed, the link, the direction and n only.
    """

    def __init__(
        self,
        plan: FaultPlan,
        link: str,
        seed: int | None = None,
        *,
        counters: FaultCounters | None = None,
        layer: Layer = "frame",
    ) -> None:
        self.link = link
        self.counters = FaultCounters(plan) if counters is None else counters
        self._layer = layer
        seed = plan.seed if seed is None else seed
        self._rules: dict[Direction, list[_ActiveRule]] = {UP: [], DOWN: []}
        self._triggers: dict[Direction, list[tuple[int, PacketMatch]]] = {UP: [], DOWN: []}
        for direction in (UP, DOWN):
            for index, rule in enumerate(plan.rules):
                if rule.covers(link, direction):
                    key = random_key(seed, link, direction, index)
                    self._rules[direction].append(_ActiveRule(index, rule, rule.exact, key))
            for index, trigger in enumerate(plan.triggers):
                if trigger.covers(link, direction):
                    self._triggers[direction].append((index, trigger))
        self._in_order_from: dict[Direction, float] = {UP: 0.0, DOWN: 0.0}
        self._first_epoch: dict[bytes, int] = {}

    def apply(self, direction: Direction, data: bytes, now: float) -> list[tuple[float, bytes]]:
        """Pass a packet over the link.

        Args:
            direction: up is towards the server.
            data: the frame or the datagram (see ``layer``).
            now: seconds of a monotonic clock.

        Returns:
            (arrival time, bytes) of every copy; empty for a lost packet. Packets with equal times arrive in the order
            of the returned lists.
        """
        packet = self._packet(data)
        for index, trigger in self._triggers[direction]:
            if self._matches(trigger, packet):
                self.counters.count_trigger(index)
        transit: _Transit | None = _Transit(data)
        for active in self._rules[direction]:
            # No rule applies to a packet that an earlier rule dropped.
            if transit is not None and self._matches(active.rule, packet):
                transit = self._apply_rule(active, direction, transit)
        if transit is None:
            return []
        start = max(now + transit.in_order_delay, self._in_order_from[direction])
        if transit.in_order_delay:
            self._in_order_from[direction] = start
        arrivals = [(start + transit.reorder_delay, transit.data)]
        arrivals += [(start + transit.reorder_delay + later, transit.data) for later in transit.copies]
        return arrivals

    def _apply_rule(self, active: _ActiveRule, direction: Direction, transit: _Transit) -> _Transit | None:
        rule = active.rule
        number = self.counters.count_match(active.index, direction)
        if active.exact is not None and number not in active.exact:
            return transit
        if rule.after is not None and number <= rule.after:
            return transit
        rng = RandomNumbers(active.key, number)
        if rule.probability is not None and rng.uniform() >= rule.probability:
            return transit
        if rule.kind == "corrupt":
            corrupted = self._corrupt(transit.data, rng)
            self.counters.count_hit(active.index, lost=corrupted is None)
            if corrupted is None:
                return None
            transit.data = corrupted
            return transit
        self.counters.count_hit(active.index)
        if rule.kind == "drop":
            return None
        if rule.kind == "flip":
            transit.data = self._flip(transit.data, rule.part == "header", rng)
            return transit
        later = ((rule.delay_ms or 0.0) + rule.jitter_ms * rng.uniform()) / 1000
        if rule.kind == "delay":
            transit.in_order_delay += later
        elif rule.kind == "reorder":
            transit.reorder_delay += later
        else:
            transit.copies += [later] * (rule.copies or 1)
        return transit

    def _packet(self, data: bytes) -> bytes | None:
        """Return the lanesum packet in ``data``, or None."""
        if self._layer == "frame":
            if len(data) < _LANESUM_AT or data[12:15] != _PLAIN_IPV4 or data[23] != PROTOCOL_UDP:
                return None
            if _PORT not in (data[_UDP_AT : _UDP_AT + 2], data[_UDP_AT + 2 : _UDP_AT + 4]):
                return None
            data = data[_LANESUM_AT:]
        return data if len(data) >= HEADER_BYTES and data[0] in _KINDS else None

    def _matches(self, match: PacketMatch, packet: bytes | None) -> bool:
        if packet is None:
            return match.packet == _OTHER
        if match.packet not in (_ANY, _KINDS[packet[0]]):
            return False
        if match.chunk is not None and int.from_bytes(packet[_CHUNK], "big") != match.chunk:
            return False
        if match.epoch is None:
            return True
        if packet[_SPARE][0] == OPENING:
            return False  # the rounds are counted from the one after it
        epoch = int.from_bytes(packet[_EPOCH], "big")
        first = self._first_epoch.setdefault(packet[_INCARNATION], epoch)
        return (epoch - first) & 0xFFFFFFFF == match.epoch

    def _flip(self, data: bytes, header: bool, rng: RandomNumbers) -> bytes:
        """Return ``data`` with another bit of its lanesum packet, and a checksum that fits.

        A packet without words has a header alone.
        """
        start = _LANESUM_AT if self._layer == "frame" else 0
        words, end = start + HEADER_BYTES, len(data)
        if self._layer == "frame":
            end = min(end, ETHERNET_BYTES + int.from_bytes(data[16:18], "big"))
        first, last = (start, words) if header or words >= end else (words, end)
        bit = rng.below(8 * (last - first))
        changed = bytearray(data)
        changed[first + bit // 8] ^= 1 << bit % 8
        if self._layer == "frame" and changed[_CHECKSUM] != _NO_CHECKSUM:
            changed[_CHECKSUM] = _NO_CHECKSUM
            source, destination = (int.from_bytes(changed[at : at + 4], "big") for at in (_UDP_AT - 8, _UDP_AT - 4))
            changed[_CHECKSUM] = udp_checksum(source, destination, bytes(changed[_UDP_AT:end])).to_bytes(2, "big")
        return bytes(changed)

    def _corrupt(self, data: bytes, rng: RandomNumbers) -> bytes | None:
        """Return ``data`` with wrong bits that a checksum covers, or None if no checksum covers any bit."""
        if self._layer == "datagram" or not _protected(data):
            return None
        end = min(len(data), ETHERNET_BYTES + max(IPV4_BYTES, int.from_bytes(data[16:18], "big")))
        at = ETHERNET_BYTES + rng.below(end - ETHERNET_BYTES)
        changed = bytearray(data)
        # One byte changes: a 16-bit word that changes by less than 0xFFFF changes the one's complement sum.
        changed[at] ^= 1 + rng.below(255)
        return bytes(changed)


def _protected(frame: bytes) -> bool:
    """Return True for an IPv4 packet with a checksum over its payload."""
    if len(frame) < _LANESUM_AT or frame[12:15] != _PLAIN_IPV4:
        return False
    if frame[23] == PROTOCOL_UDP:
        return frame[_CHECKSUM] != _NO_CHECKSUM
    return frame[23] in (_PROTOCOL_TCP, _PROTOCOL_ICMP)
