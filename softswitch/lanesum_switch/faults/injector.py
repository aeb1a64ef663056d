# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A plan at work on one link, without sockets or clocks: packets in, packets and times out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from lanesum.protocol.frames import ETHERTYPE_IPV4, PROTOCOL_UDP
from lanesum.protocol.packet import HEADER_DTYPE
from lanesum.protocol.spec import ETHERNET_BYTES, HEADER_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT, VERSION, Kind
from lanesum_switch.faults.counters import FaultCounters
from lanesum_switch.faults.plan import DOWN, UP, Direction, FaultPlan, FaultRule, PacketMatch

Layer = Literal["frame", "datagram"]

_ANY, _OTHER = "any", "other"
_KINDS = {VERSION << 4 | kind: kind.name.lower() for kind in Kind}
_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_LANESUM_AT = _UDP_AT + UDP_BYTES
_PLAIN_IPV4 = ETHERTYPE_IPV4.to_bytes(2, "big") + b"\x45"
_PORT = UDP_PORT.to_bytes(2, "big")
_PROTOCOL_TCP, _PROTOCOL_ICMP = 6, 1
_DRAW_BYTES = 8


def _field(name: str) -> slice:
    kind, start = HEADER_DTYPE.fields[name][:2]  # type: ignore[index]
    return slice(start, start + kind.itemsize)


_EPOCH, _CHUNK = _field("epoch"), _field("chunk")
_INCARNATION = slice(_field("job").start, _field("tag").stop)


@dataclass(slots=True)
class _Active:
    """A rule in one direction. ``key`` seeds its draws."""

    index: int
    rule: FaultRule
    exact: frozenset[int] | None
    key: bytes


@dataclass(slots=True)
class _Flight:
    """What becomes of one packet: delays of its copies in seconds, before and beside the order of the link."""

    data: bytes
    wait: float = 0.0  # the packets behind it wait as well
    hold: float = 0.0  # the packets behind it overtake it
    copies: list[float] = field(default_factory=list)


class FaultInjector:
    """Applies a plan's rules to the packets of one link.

    Args:
        plan: the rules.
        link: name of the link.
        seed: of all draws; the plan's own when None.
        ledger: where to count; in memory when None.
        layer: whether packets are Ethernet frames, or datagrams between a program and its UDP socket. A bit that is
            wrong there is covered by no checksum: what the plan corrupts is lost then, and counted as such.

    What happens to the n-th packet that matches a rule depends on the seed, the link, the direction and n alone.
    """

    def __init__(
        self,
        plan: FaultPlan,
        link: str,
        seed: int | None = None,
        *,
        ledger: FaultCounters | None = None,
        layer: Layer = "frame",
    ) -> None:
        self.link = link
        self.ledger = FaultCounters(plan) if ledger is None else ledger
        self._layer = layer
        seed = plan.seed if seed is None else seed
        self._rules: dict[Direction, list[_Active]] = {UP: [], DOWN: []}
        self._triggers: dict[Direction, list[tuple[int, PacketMatch]]] = {UP: [], DOWN: []}
        for direction in (UP, DOWN):
            for index, rule in enumerate(plan.rules):
                if rule.covers(link, direction):
                    key = hashlib.blake2b(f"{seed}/{link}/{direction}/{index}".encode(), digest_size=32).digest()
                    self._rules[direction].append(_Active(index, rule, rule.exact, key))
            for index, trigger in enumerate(plan.triggers):
                if trigger.covers(link, direction):
                    self._triggers[direction].append((index, trigger))
        self._in_order_from: dict[Direction, float] = {UP: 0.0, DOWN: 0.0}
        self._first_epoch: dict[bytes, int] = {}

    def apply(self, direction: Direction, data: bytes, now: float) -> list[tuple[float, bytes]]:
        """What the link does with a packet.

        Args:
            direction: up is towards the server.
            data: the whole frame, or the datagram (see ``layer``).
            now: seconds of any clock that does not go back.

        Returns:
            (time at which it arrives, bytes) of every copy; none where it is lost. Times may be ``now``. Packets with
            equal times arrive in the order in which they were returned.
        """
        packet = self._packet(data)
        for index, trigger in self._triggers[direction]:
            if self._matches(trigger, packet):
                self.ledger.see(index)
        flight: _Flight | None = _Flight(data)
        for active in self._rules[direction]:
            # Lost packets meet no further rule: what is not there cannot be counted.
            if flight is not None and self._matches(active.rule, packet):
                flight = self._meet(active, direction, flight)
        if flight is None:
            return []
        start = max(now + flight.wait, self._in_order_from[direction])
        if flight.wait:
            self._in_order_from[direction] = start
        arrivals = [(start + flight.hold, flight.data)]
        arrivals += [(start + flight.hold + later, flight.data) for later in flight.copies]
        return arrivals

    def _meet(self, active: _Active, direction: Direction, flight: _Flight) -> _Flight | None:
        rule = active.rule
        number = self.ledger.match(active.index, direction)
        if active.exact is not None and number not in active.exact:
            return flight
        draws = _Draws(active.key, number)
        if rule.probability is not None and draws.share() >= rule.probability:
            return flight
        if rule.kind == "corrupt":
            corrupted = self._corrupt(flight.data, draws)
            self.ledger.hit(active.index, lost=corrupted is None)
            if corrupted is None:
                return None
            flight.data = corrupted
            return flight
        self.ledger.hit(active.index)
        if rule.kind == "drop":
            return None
        later = ((rule.delay_ms or 0.0) + rule.jitter_ms * draws.share()) / 1000
        if rule.kind == "delay":
            flight.wait += later
        elif rule.kind == "reorder":
            flight.hold += later
        else:
            flight.copies += [later] * (rule.copies or 1)
        return flight

    def _packet(self, data: bytes) -> bytes | None:
        """The lanesum packet in ``data``, if there is one."""
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
        epoch = int.from_bytes(packet[_EPOCH], "big")
        first = self._first_epoch.setdefault(packet[_INCARNATION], epoch)
        return (epoch - first) & 0xFFFFFFFF == match.epoch

    def _corrupt(self, data: bytes, draws: _Draws) -> bytes | None:
        """``data`` with wrong bits that a checksum covers, or None where the receiver could not tell."""
        if self._layer == "datagram" or not _protected(data):
            return None
        end = min(len(data), ETHERNET_BYTES + max(IPV4_BYTES, int.from_bytes(data[16:18], "big")))
        at = ETHERNET_BYTES + draws.below(end - ETHERNET_BYTES)
        changed = bytearray(data)
        # Within one byte: no change of a 16-bit word by less than 0xFFFF keeps a one's complement sum.
        changed[at] ^= 1 + draws.below(255)
        return bytes(changed)


def _protected(frame: bytes) -> bool:
    """IPv4 with a checksum over its payload too; what has none would be believed."""
    if len(frame) < _LANESUM_AT or frame[12:15] != _PLAIN_IPV4:
        return False
    if frame[23] == PROTOCOL_UDP:
        return frame[_UDP_AT + 6 : _UDP_AT + 8] != b"\x00\x00"
    return frame[23] in (_PROTOCOL_TCP, _PROTOCOL_ICMP)


class _Draws:
    """The dice of one packet at one rule."""

    def __init__(self, key: bytes, number: int) -> None:
        digest = hashlib.blake2b(number.to_bytes(_DRAW_BYTES, "big"), key=key, digest_size=4 * _DRAW_BYTES).digest()
        self._left = [int.from_bytes(digest[at : at + _DRAW_BYTES], "big") for at in range(0, len(digest), _DRAW_BYTES)]

    def share(self) -> float:
        """Evenly between 0 and 1, 1 excluded."""
        return (self._left.pop() >> 11) / (1 << 53)

    def below(self, limit: int) -> int:
        """An int from 0 to ``limit - 1``."""
        return self._left.pop() % limit
