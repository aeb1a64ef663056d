# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Direct counters account for every packet: each is classified, admitted and decided on exactly once."""

from __future__ import annotations

import dataclasses

import pytest

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import Flag
from lanesum_control.switches.switch import MEMBER, RECEIVER, P4RuntimeSwitch
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_switch.frames import UdpFrame

from .chip_model import MODEL_PROFILES
from .star import NON_MEMBER, SERVER, SLOT_DECISIONS, Place, Star, worker_host

CLASSIFIED = (
    "aggregate", "route", "route_past", "route_other_size", "descend_or_route", "answer_arp", "drop_malformed",
    "drop_corrupt", "drop_tagged", "drop_misdirected", "drop_unknown",
)  # fmt: skip
PING = UdpFrame(worker_host(0).mac, SWITCH_MAC, worker_host(0).ip, SERVER.ip, 5000, 5001, b"ping")


@pytest.mark.offered("one_pass")
def test_decisions_of_all_packets_add_up(star: Star) -> None:
    """One packet of every kind, several times: each counts (INV-4)."""
    job = star.admit(2, slot_count=2, ops=(LaneOp.ADD32, LaneOp.MAX))
    words = job.words(1)
    frames = []
    for epoch in range(3):
        place = Place(epoch)
        frames += [job.contribution(worker, words[worker], place) for worker in (0, 0, 1, 1)]
        frames += [
            job.contribution(0, words[0], Place(epoch, slot=2)),
            job.contribution(0, words[0], Place(-1 % 2**32)),
        ]
        frames += [job.contribution(1, words[1], Place(epoch, op=LaneOp.OR))]
        frames += [job.contribution(1, words[1], Place(epoch, op=LaneOp.MAX))]
        frames += [(NON_MEMBER.port, job.contribution(1, words[1])[1])]
        frames += [job.contribution(0, words[0][:7])]
        frames += [job.contribution(1, words[1], tag=1), job.contribution(1, words[1], flags=Flag.BYPASS)]
        frames += [job.contribution(1, words[1], flags=Flag.UPPER)]
        port, frame = job.contribution(0, words[0], checksum=True)
        frames += [(port, frame[: -1 - star.target.trailer_bytes]), (port, frame[:12] + b"\x86\xdd" + frame[14:])]
        frames += [(port, frame[:-1] + bytes([frame[-1] ^ 1]))]
        for ttl, destination in ((1, SERVER.ip), (9, 0x01020304)):
            frames += [(port, dataclasses.replace(PING, ttl=ttl, destination_ip=destination).pack())]
    for port, frame in frames:
        star.exchange(port, frame)
    counts = star.all_decisions()
    assert sum(counts.get(name, 0) for name in CLASSIFIED) == len(frames)
    dropped = counts["drop_malformed"] + counts["drop_corrupt"] + counts["drop_unknown"]
    stopped = counts["drop_spoofed"] + counts["drop_forged"]
    assert counts["genuine"] + stopped == len(frames) - dropped
    admitted = counts["accept"] + counts["refuse_slot"] + counts["refuse_op"] + counts["not_a_member"]
    assert counts["aggregate"] == admitted + stopped
    routed = counts["forwarded"] + counts["drop_expired"] + counts["drop_no_route"]
    assert routed == counts["genuine"] - counts["accept"]
    assert counts["accept"] == sum(counts.get(name, 0) for name in SLOT_DECISIONS)
    assert counts == {
        "aggregate": 33, "route_other_size": 3, "route_past": 3, "route": 6,
        "drop_malformed": 3, "drop_unknown": 3, "drop_corrupt": 3,
        "genuine": 39, "drop_spoofed": 3, "drop_forged": 3,
        "accept": 18, "refuse_slot": 3, "refuse_op": 3, "not_a_member": 3,
        "forwarded": 15, "drop_expired": 3, "drop_no_route": 3,
        "claim": 3, "report_pending": 3, "contribute_and_complete": 3, "replay": 3, "drop_late": 3,
        "report_conflict": 3,
    }  # fmt: skip


@pytest.mark.offered("one_pass")
def test_direct_counters_count_each_worker(star: Star) -> None:
    """Packets and bytes of the member table, copies of the receiver table; on targets with P4Runtime."""
    job = star.admit(3)
    words = job.words(2)
    sent = {0: 1, 1: 4, 2: 2}
    for worker, times in sent.items():
        for _ in range(times):
            star.contribute(job, worker, words[worker])
    assert star.slot_decisions() == {
        "claim": 1, "contribute": 1, "report_pending": 3, "contribute_and_complete": 1, "replay": 1,
    }  # fmt: skip
    # The model's target reads the counters of constant entries only.
    if not isinstance(star.target.control, P4RuntimeSwitch) or star.target.name in MODEL_PROFILES:
        return
    frame_bytes = len(job.contribution(0, words[0])[1])
    members = {e.params["worker"]: e for e in star.target.control.entries(MEMBER)}
    assert {worker: members[1 << worker].packets for worker in sent} == sent
    assert {worker: members[1 << worker].bytes for worker in sent} == {w: n * frame_bytes for w, n in sent.items()}
    receivers = star.target.control.entries(RECEIVER)
    assert sorted(entry.match["replica"] for entry in receivers) == [2, 3, 4], "the marks of their chunks"
    assert [entry.packets for entry in receivers] == [4, 4, 4], "three pending answers and the result"
