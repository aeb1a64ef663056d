# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Links between switch processes."""

from __future__ import annotations

import pytest

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.errors import ConfigurationError
from lanesum_switch.ports.trunk import TrunkPort
from tests.free_ports import free_address
from tests.softswitch.ports.links import wait_frames


def test_trunk_works_again_after_restart_of_peer() -> None:
    addresses = free_address("127.0.0.2"), free_address("127.0.0.3")
    near, far = TrunkPort(*addresses), TrunkPort(*addresses[::-1])
    frames = [bytes([n]) * 600 for n in range(100)]  # more than one batch
    for frame in frames:
        near.send(frame)
    assert wait_frames(far, 100) == frames
    far.close()
    near.send(b"the peer is closed")
    assert near.receive_batch() == []
    far = TrunkPort(*addresses[::-1])
    near.send(b"again")
    near.send(b"and again")
    assert b"and again" in wait_frames(far, 1)
    far.send(b"back")
    assert wait_frames(near, 1) == [b"back"]
    with pytest.raises(ConfigurationError, match=r"cannot use the address 127\.0\.0\.3"):
        TrunkPort(*addresses[::-1])
    near.close()
    far.close()


def test_trunk_drops_and_counts_too_long_frame() -> None:
    """An exception would end the port that the frame came from."""
    addresses = free_address("127.0.0.2"), free_address("127.0.0.3")
    near, far = TrunkPort(*addresses), TrunkPort(*addresses[::-1])
    near.send(bytes(MAX_DATAGRAM_BYTES + 100))
    near.send(b"next")
    assert (wait_frames(far, 1), near.unsent) == ([b"next"], 1)
    near.close()
    far.close()
