# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cut links, by the packets that one switch sends and the other one receives."""

from __future__ import annotations

import pytest

from lanesum_control.controller.cut_links import CutLinks
from lanesum_control.errors import SwitchUnreachableError
from lanesum_fabric.program.capabilities import FORWARD, ORIGIN
from lanesum_fabric.program.p4info import EntryRead
from tests.control_plane.control_fakes import FakeSwitch

LINK = "s1-spine1"
SERVER, WORKER, FAR = 100, 1, 2


class Link:
    """Switch s1 with port 5 at port 1 of spine1, and the packets so far on its ways up and down."""

    def __init__(self) -> None:
        self.rack, self.spine = FakeSwitch(), FakeSwitch()
        self.rack.connected = self.spine.connected = True
        self.links = CutLinks({LINK: ("s1", 5, "spine1", 1)})
        self.sent, self.arrived = {"up": 0, "down": 0}, {"up": 0, "down": 0}
        self.look()

    def look(self, arrive: bool = True, **packets: int) -> dict[str, str]:
        for way, count in packets.items():
            self.sent[way] += count
            self.arrived[way] += count * arrive
        self.rack.counted = {
            FORWARD: [_forward(SERVER, 5, self.sent["up"]), _forward(WORKER, 1, 50), EntryRead(FORWARD, {}, "unknown")],
            ORIGIN: [_origin(SERVER, 5, self.arrived["down"]), _origin(WORKER, 1, self.sent["up"])],
        }
        self.spine.counted = {
            FORWARD: [_forward(WORKER, 1, self.sent["down"]), _forward(SERVER, 3, self.sent["up"])],
            ORIGIN: [_origin(WORKER, 1, self.arrived["up"]), _origin(SERVER, 3, 70), _origin(FAR, 2, 70)],
        }
        return self.links.look({"s1": self.rack, "spine1": self.spine, "s9": self.rack})  # type: ignore[dict-item]


def _forward(address: int, port: int, packets: int) -> EntryRead:
    return EntryRead(FORWARD, {"destination": address}, "route", {"port": port}, packets)


def _origin(address: int, port: int, packets: int) -> EntryRead:
    return EntryRead(ORIGIN, {"source": address}, "expect", {"port": port, "attached": 0}, packets)


@pytest.mark.parametrize(("way", "sender", "receiver"), [("up", "s1", "spine1"), ("down", "spine1", "s1")])
def test_link_is_cut_after_packets_of_two_looks(way: str, sender: str, receiver: str) -> None:
    link = Link()
    assert link.look(arrive=False, **{way: 20}) == {}
    assert link.look() == {}, "a pause of the workers"
    assert link.look(arrive=False, **{way: 1}) == {
        LINK: f"{sender} sent 21 packets, none of which arrived at {receiver}"
    }
    assert link.look(arrive=False, **{way: 20}) == {}, "counted anew"


def test_link_with_one_arrival_is_not_cut() -> None:
    link = Link()
    assert link.look(arrive=False, up=20, down=5) == {}
    assert link.look(up=1, down=1) == {}
    assert link.look(arrive=False, up=20) == {}
    assert link.look(arrive=False, down=3) == {}
    assert link.look(arrive=False, down=3) == {}, "too few packets"


def test_counters_that_begin_anew_count_nothing() -> None:
    link = Link()
    link.look(up=100)
    link.sent["up"] = 0
    for _ in range(3):
        assert link.look() == {}
    link.spine.away = True
    for _ in range(3):
        with pytest.raises(SwitchUnreachableError):
            link.spine.check()
        assert link.look(arrive=False, up=50) == {}, "a lost spine is noticed otherwise"
