# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a value on the wire, beside packets that a worker and a server make."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import Header, Kind, Packet
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.builds.rates import WireBytes, gloo_bytes, packet_sizes

_AROUND_UDP = 8 + 20 + 14 + 4 + 8 + 12  # UDP, IPv4, Ethernet, frame check, preamble, gap


@pytest.mark.parametrize(("op", "lanes", "divisor"), [(LaneOp.EXPAND8, 4, 2), (LaneOp.ADD32, 1, 1)])
def test_wire_bytes_are_those_of_packets(op: LaneOp, lanes: int, divisor: int) -> None:
    for _, words in packet_sizes():
        sent = [
            len(Packet(Header(kind=kind, op=op), np.zeros(count, np.uint32)).pack()) + _AROUND_UDP
            for kind, count in ((Kind.CONTRIBUTION, words // divisor), (Kind.RESULT, words))
        ]
        found = WireBytes.of(op, words)
        assert [found.up * lanes * words, found.down * lanes * words] == pytest.approx(sent)


def test_speed_up_is_of_busier_direction() -> None:
    assert gloo_bytes(2) == pytest.approx(4 * 1538 / 1448)
    assert WireBytes(1.0, 2.0).speed_up(2) == WireBytes(2.0, 1.0).speed_up(2) == pytest.approx(2 * 1538 / 1448)
    assert WireBytes(1.0, 1.0).speed_up(4) == pytest.approx(6 * 1538 / 1448)
