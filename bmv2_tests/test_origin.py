# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Listed addresses are accepted on their own ports only; packets that only switches send are not accepted from hosts.

::

    worker 0 --0 +--------+ 8-- non-member (attached)
    worker 1 --1 | switch |
    trunk -----5 +--------+ 7-- server   (behind the trunk: hosts of another switch)
"""

from __future__ import annotations

import pytest

from lanesum.protocol import Kind, LaneOp
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from lanesum_switch.frames import UdpFrame

from .oracle import aggregate
from .star import NON_MEMBER, SERVER, Star, routed, worker_host
from .test_malformed import patched


def ping(source: HostPort) -> bytes:
    return UdpFrame(source.mac, SWITCH_MAC, source.ip, SERVER.ip, 5000, 5001, b"any traffic").pack()


@pytest.mark.parametrize("port", [0, 2, 5, 7, 8])
def test_spoofed_address_of_any_traffic_is_dropped(star: Star, port: int) -> None:
    frame = ping(worker_host(1))
    assert star.exchange(port, frame) == []
    assert star.exchange(1, frame) == routed(frame, SERVER)
    assert star.all_decisions() == {"route": 2, "drop_spoofed": 1, "genuine": 1, "forwarded": 1}


def test_spoofed_address_of_the_server_is_dropped(star: Star) -> None:
    """Workers would accept a forged result: it comes from the address that their sockets are connected to."""
    job = star.admit(2)
    for kind in (Kind.RESULT, Kind.PENDING, Kind.CONFLICT):
        header = job.contribution(0, job.words(1)[0], kind=kind)[1]
        forged = patched(header, 26, SERVER.ip.to_bytes(4, "big") + worker_host(0).ip.to_bytes(4, "big"))
        assert star.exchange(NON_MEMBER.port, forged) == []
    assert star.decisions() == {"route": 3, "drop_spoofed": 3}


def test_spoofed_address_in_fragments_and_options_is_dropped(star: Star) -> None:
    """The address is in every IPv4 packet."""
    fragment = patched(ping(worker_host(1)), 20, b"\x20\x00")
    assert star.exchange(NON_MEMBER.port, fragment) == []
    assert star.decisions() == {"route": 1, "drop_spoofed": 1}


@pytest.mark.parametrize("kind", [Kind.CONTRIBUTION, Kind.RESULT, Kind.PENDING, Kind.CONFLICT], ids=lambda k: k.name)
def test_packets_of_switches_from_a_host_are_dropped(star: Star, kind: Kind) -> None:
    """Aggregates count for a whole rack, and answers for racks go to all its workers: no host may send them.

    Behind a trunk there is another switch, which has checked its own hosts.
    """
    job = star.admit(2)
    words = job.words(2)[0]
    port, frame = job.contribution(0, words, kind=kind, flags=Flag.UPPER | Flag.ECN)
    assert star.exchange(port, frame) == []
    assert star.decisions()["drop_forged"] == 1
    past = job.contribution(0, words, kind=kind, flags=Flag.UPPER | Flag.BYPASS)[1]
    assert star.exchange(port, past) == []
    assert star.slot_decisions() == {}


def test_packets_of_switches_from_a_trunk_are_accepted(star: Star) -> None:
    """The address is checked; the other switch checks the flags."""
    host = HostPort(5, 0x0A000901 + star.new_address(), bytes.fromhex("020000000901"), attached=False)
    star.add_host(host)
    job = star.admit([worker_host(0).port, 1])
    _, frame = job.contribution(0, job.words(3)[0], flags=Flag.UPPER)
    moved = patched(frame, 26, host.ip.to_bytes(4, "big"))
    assert star.exchange(5, moved) == routed(moved, SERVER)
    assert star.exchange(4, moved) == []
    assert star.decisions() == {"aggregate": 2, "not_a_member": 1, "drop_spoofed": 1}


def test_upper_flag_of_other_versions_is_ignored(star: Star) -> None:
    job = star.admit(1)
    port, frame = job.contribution(0, job.words(4)[0], version=3, flags=Flag.UPPER)
    assert star.exchange(port, frame) == routed(frame, SERVER)


def test_unlisted_addresses_are_routed(star: Star) -> None:
    """The controller need not list all hosts."""
    unlisted = HostPort(3, 0x0A63636, bytes.fromhex("020000006363"))
    frame = ping(unlisted)
    for port in (0, 3, 8):
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.all_decisions() == {"route": 3, "unknown_source": 3, "forwarded": 3}


def test_forged_flag_of_a_member_changes_no_sum(star: Star) -> None:
    job = star.admit(2)
    words = job.words(5)
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 1, words[1], flags=Flag.UPPER) == []
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))
