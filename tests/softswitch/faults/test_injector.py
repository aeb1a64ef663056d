# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of an injector on the packets of a link."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import OPENING, Kind
from lanesum_switch.faults import FaultCounters, FaultInjector, FaultPlan
from lanesum_switch.faults.counters import RuleCounts
from lanesum_switch.frames import UdpFrame, internet_checksum

from .packets import datagram, frame


def plan(*rules: str, processes: str = "[]") -> FaultPlan:
    """Return a plan."""
    return FaultPlan.parse(f"rules: [{', '.join(rules)}]\nprocesses: {processes}\n", "test")


def injector(*rules: str, link: str = "w1", seed: int = 3) -> FaultInjector:
    """Return the injector of a plan with these rules."""
    return FaultInjector(plan(*rules), link, seed)


def arrivals(one: FaultInjector, count: int = 200, direction: str = "up") -> list[list[tuple[float, bytes]]]:
    """Apply an injector to packets with chunks from 0; return their arrivals."""
    return [one.apply(direction, frame(datagram(chunk=n)), float(n)) for n in range(count)]  # type: ignore[arg-type]


def test_injector_without_rules_passes_every_packet() -> None:
    assert injector().apply("up", b"anything", 3.5) == [(3.5, b"anything")]


def test_counters_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"Cannot keep the fault counters in {tmp_path}: Is a directory"):
        FaultCounters(plan(), tmp_path)


def test_packet_behind_a_delayed_one_waits_for_it() -> None:
    one, data = injector("{kind: delay, delay_ms: 100, nth: 1}"), frame(datagram(chunk=0))
    assert one.apply("up", data, 0.0) == [(0.1, data)]
    assert one.apply("up", data, 0.01) == [(0.1, data)]
    assert one.apply("up", data, 0.2) == [(0.2, data)]


RULES = (
    "{kind: drop, probability: 0.2}",
    "{kind: duplicate, probability: 0.2, delay_ms: 3, copies: 2}",
    "{kind: reorder, probability: 0.2, delay_ms: 5, jitter_ms: 5}",
    "{kind: delay, probability: 0.1, delay_ms: 1, jitter_ms: 5}",
    "{kind: corrupt, probability: 0.1}",
)


def test_same_seed_link_and_direction_repeat_the_faults() -> None:
    first = arrivals(injector(*RULES))
    assert first == arrivals(injector(*RULES))
    assert first != arrivals(injector(*RULES, seed=4))
    assert first != arrivals(injector(*RULES, link="w2"))
    assert first != arrivals(injector(*RULES), direction="down")


def test_packets_outside_rule_do_not_change_effect() -> None:
    rule = "{kind: drop, packet: contribution, probability: 0.5}"
    alone = arrivals(injector(rule))
    crowded = injector(rule)
    with_others = []
    for n in range(200):
        assert crowded.apply("up", frame(datagram(Kind.RESULT)), float(n))
        assert crowded.apply("down", frame(), float(n)) is not None
        with_others.append(crowded.apply("up", frame(datagram(chunk=n)), float(n)))
    assert alone == with_others


def test_probability_is_the_share_of_dropped_packets() -> None:
    one = injector("{kind: drop, probability: 0.3}")
    lost = sum(not arrival for arrival in arrivals(one, 2000))
    assert 500 < lost < 700
    assert one.counters.counts == {"1 drop": RuleCounts(matched=2000, hit=lost)}


def test_nth_drops_exactly_these_packets() -> None:
    one = injector("{kind: drop, nth: [2, 4], packet: contribution}")
    assert [bool(arrival) for arrival in arrivals(one, 5)] == [True, False, True, False, True]
    assert [bool(one.apply("down", frame(), 0.0)) for _ in range(3)] == [True, False, True], (
        "each direction has its own packet numbers"
    )


def test_epoch_and_chunk_select_one_packet() -> None:
    """Round 0 of a rule is the first round on the link after the opening, whatever the job's first epoch is."""
    one = injector("{kind: drop, epoch: 1, chunk: 2}")
    first = 0xFFFFFFFF
    lost = []
    for epoch in (first, 70):
        assert one.apply("up", frame(datagram(epoch=epoch, chunk=2, spare=OPENING)), 0.0)
    for round_ in range(3):
        for chunk in range(4):
            packet = frame(datagram(epoch=(first + round_) & 0xFFFFFFFF, chunk=chunk))
            if not one.apply("up", packet, 0.0):
                lost.append((round_, chunk))
    assert lost == [(1, 2)]
    for round_ in range(2):  # the rounds of another incarnation begin at 0
        packet = frame(datagram(epoch=70 + round_, chunk=2, tag=8))
        assert bool(one.apply("up", packet, 0.0)) == (round_ == 0)


@pytest.mark.parametrize(
    ("kind", "packet", "hit"),
    [
        ("any", frame(datagram(Kind.PENDING)), True),
        ("pending", frame(datagram(Kind.PENDING)), True),
        ("conflict", frame(datagram(Kind.CONFLICT)), True),
        ("result", frame(datagram(Kind.PENDING)), False),
        ("any", frame(datagram(), port=5000), False),
        ("other", frame(datagram(), port=5000), True),
        ("other", b"", True),
        ("other", bytes(60), True),
        ("other", frame()[:30], True),
        ("other", frame(b"no lanesum packet, though at its port and long enough"), True),
        ("any", frame(b"short"), False),
        ("other", frame(), False),
    ],
)
def test_packet_kind_selects_packets(kind: str, packet: bytes, hit: bool) -> None:
    assert (injector(f"{{kind: drop, packet: {kind}}}").apply("up", packet, 0.0) == []) == hit


def test_delay_keeps_order_and_reorder_does_not() -> None:
    waiting = injector("{kind: delay, nth: 1, delay_ms: 10}")
    late = [waiting.apply("up", frame(), now)[0][0] for now in (0.0, 0.005, 0.02)]
    assert late == [0.01, 0.01, 0.02]
    reordered = injector("{kind: reorder, nth: 1, delay_ms: 10}")
    assert [reordered.apply("up", frame(), now)[0][0] for now in (0.0, 0.005, 0.02)] == [0.01, 0.005, 0.02]
    other_way = injector("{kind: delay, nth: 1, delay_ms: 10, direction: up}")
    other_way.apply("up", frame(), 0.0)
    assert other_way.apply("down", frame(), 0.0) == [(0.0, frame())]


def test_duplicate_adds_delayed_copies() -> None:
    one = injector("{kind: duplicate, nth: 1, copies: 2, delay_ms: 5}")
    assert one.apply("up", frame(), 1.0) == [(1.0, frame()), (1.005, frame()), (1.005, frame())]


def test_rules_apply_in_order_until_packet_is_dropped() -> None:
    one = injector("{kind: duplicate, nth: 1}", "{kind: drop, nth: 1}", "{name: after, kind: drop}")
    assert one.apply("up", frame(), 0.0) == []
    assert one.counters.counts["after"].matched == 0, "no rule applies to a dropped packet"


def checksums_hold(data: bytes) -> bool:
    """Return True if a receiver accepts the checksums (RFC 768, RFC 791)."""
    length = int.from_bytes(data[16:18], "big")
    if internet_checksum(data[14:34]) or UdpFrame.unpack(data) is None:
        return False
    segment = data[34 : 14 + length]
    pseudo = data[26:34] + struct.pack(">BBH", 0, data[23], len(segment))
    return internet_checksum(pseudo + segment + bytes(len(segment) % 2)) == 0


def test_corrupted_packet_always_fails_its_checksum() -> None:
    one = injector("{kind: corrupt}")
    good = frame(datagram() + b"\xff" * 9)
    assert checksums_hold(good)
    seen = set()
    for n in range(3000):
        ((due, bad),) = one.apply("up", good, float(n))
        assert due == n
        assert bad[:14] == good[:14]
        assert len(bad) == len(good)
        (at,) = [i for i, (a, b) in enumerate(zip(bad, good, strict=True)) if a != b]
        seen.add(at)
        if bad[40:42] != b"\x00\x00":  # UDP checksum 0: the payload is unchanged
            assert not checksums_hold(bad)
    assert seen == set(range(14, len(good))), "any byte after the Ethernet header may change"
    assert one.counters.counts == {"1 corrupt": RuleCounts(3000, 3000, 0)}


@pytest.mark.parametrize(
    "packet", [frame(checksum=False), b"\xff" * 12 + b"\x08\x06" + bytes(28), bytes(8)], ids=["udp", "arp", "short"]
)
def test_corruption_without_checksum_drops_the_frame(packet: bytes) -> None:
    one = FaultInjector(plan("{kind: corrupt}", "{kind: corrupt, packet: other}"), "w1")
    assert one.apply("up", packet, 0.0) == []
    assert sum(counts.lost for counts in one.counters.counts.values()) == 1


def test_corruption_of_datagram_drops_it() -> None:
    one = FaultInjector(
        plan("{kind: corrupt, packet: contribution}", "{kind: drop, packet: result}"), "w1", layer="datagram"
    )
    assert one.apply("up", datagram(), 0.0) == []
    assert one.apply("down", datagram(Kind.RESULT), 0.0) == []
    assert one.apply("up", b"neither", 0.0) == [(0.0, b"neither")]
    assert one.counters.counts == {"1 corrupt": RuleCounts(1, 1, 1), "2 drop": RuleCounts(1, 1, 0)}


def test_corruption_with_wrong_ipv4_length_changes_a_byte() -> None:
    short = bytearray(frame())
    short[16:18] = b"\x00\x00"
    ((_, bad),) = injector("{kind: corrupt}").apply("up", bytes(short), 0.0)
    assert bad != short


def changed_bits(before: bytes, after: bytes) -> list[int]:
    """Return the positions of the bits that differ."""
    return [
        8 * at + bit
        for at, (a, b) in enumerate(zip(before, after, strict=True))
        for bit in range(8)
        if (a ^ b) >> bit & 1
    ]


@pytest.mark.parametrize(("part", "start", "end"), [("words", 42 + 32, 42 + 48), ("header", 42, 42 + 32)])
def test_flipped_packet_passes_its_checksum(part: str, start: int, end: int) -> None:
    one = injector(f"{{kind: flip, part: {part}}}")
    good, places = frame(), set()
    for n in range(2000):
        ((due, bad),) = one.apply("up", good, float(n))
        assert due == n and checksums_hold(bad)
        (bit,) = [bit for bit in changed_bits(good, bad) if not 8 * 40 <= bit < 8 * 42]
        places.add(bit)
    assert places == set(range(8 * start, 8 * end))
    assert one.counters.counts == {"1 flip": RuleCounts(2000, 2000, 0)}


def test_flip_without_checksum_changes_one_bit() -> None:
    for layer, packet in (("frame", frame(checksum=False)), ("datagram", datagram())):
        one = FaultInjector(plan("{kind: flip}"), "w1", layer=layer)  # type: ignore[arg-type]
        ((_, bad),) = one.apply("up", packet, 0.0)
        assert len(changed_bits(packet, bad)) == 1


def test_flip_of_packet_without_words_is_in_header() -> None:
    pending = Header(kind=Kind.PENDING, job=1, tag=7).pack()
    ((_, bad),) = FaultInjector(plan("{kind: flip}"), "w1", layer="datagram").apply("down", pending, 0.0)
    assert len(changed_bits(pending, bad)) == 1


def test_counters_continue_in_the_next_process(tmp_path: Path) -> None:
    rules = plan(
        "{kind: drop, nth: 3, direction: up}",
        processes="[{kind: kill, process: s1, after: {direction: down, nth: 4}}]",
    )
    arrivals = []
    for _ in range(4):  # four processes; none closes its file
        one = FaultInjector(rules, "w1", counters=FaultCounters(rules, tmp_path / "w1"))
        arrivals.append(bool(one.apply("up", frame(), 0.0)))
        one.apply("down", frame(), 0.0)
    assert arrivals == [True, True, False, True]
    reader = FaultCounters(rules, tmp_path / "w1")
    assert reader.counts == {"1 drop": RuleCounts(4, 1)}
    assert reader.triggered(0) == 4
    reader.close()
    reader.close()


def test_rule_after_packets_cuts_the_link() -> None:
    one = injector("{kind: drop, after: 3}")
    for direction in ("up", "down"):  # counted separately
        assert [bool(arrival) for arrival in arrivals(one, 6, direction)] == [True] * 3 + [False] * 3
