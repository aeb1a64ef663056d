# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reduce-scatter by the rounds of real workers through a switch, with and without lost results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from lanesum._internal.native import availability
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES, Kind
from lanesum.server.aggregator import Aggregator
from lanesum.transport.native_engine import NativeRoundSequence
from lanesum.transport.round_sequence import RoundSequence
from tests.flips.network import FlipNetwork

from .target import Target
from .targets import TARGETS, open_target

WORKERS, CHUNKS_OF_SHARD = 4, 3


@pytest.fixture(params=TARGETS)
def switch(request: pytest.FixtureRequest) -> Iterator[Target]:
    with open_target(request.param) as target:
        yield target


class Downlink:
    """Hook of the network: counts bytes to workers, and loses the first ``losses`` results with words."""

    def __init__(self, losses: int = 0) -> None:
        self.bytes = 0
        self.losses = losses

    def __call__(self, upwards: bool, datagram: bytes) -> bytes:
        if upwards:
            return datagram
        self.bytes += len(datagram)
        if self.losses and datagram[0] & 0xF == Kind.RESULT and len(datagram) > HEADER_BYTES:
            self.losses -= 1
            return b""
        return datagram


@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize("rounds", [RoundSequence, NativeRoundSequence])
def test_workers_reduce_scatter_exactly_through_switch(
    switch: Target, rounds: type[RoundSequence] | type[NativeRoundSequence], certified: bool
) -> None:
    if rounds is NativeRoundSequence and availability().core is None:
        pytest.skip("the native extension is not built")
    words = switch.accumulator_words
    network = FlipNetwork(words, Aggregator(), rounds, switch, certified=certified, workers=WORKERS)
    data_words = network.tickets[0].data_words(LaneOp.ADD32)
    rng = np.random.default_rng(7)
    size = (WORKERS, WORKERS * CHUNKS_OF_SHARD * data_words)
    whole = HEADER_BYTES + WORD_BYTES * words
    chunks = WORKERS * CHUNKS_OF_SHARD
    for losses in (0, 5):
        inputs = rng.integers(0, 1 << 32, size, np.uint32)
        shards = inputs.sum(axis=0, dtype=np.uint32).reshape(WORKERS, -1)
        network.hook = hook = Downlink(losses)
        results = network.reduce(LaneOp.ADD32, list(inputs), scattered=True)
        assert all((result == shard).all() for result, shard in zip(results, shards, strict=True))
        assert hook.losses == 0
        if not losses:
            others = HEADER_BYTES if switch.control.capabilities.shortens else whole
            assert hook.bytes == chunks * (whole + (WORKERS - 1) * others)
    network.hook = hook = Downlink()
    inputs = rng.integers(0, 1 << 32, size, np.uint32)
    assert all(
        (result == inputs.sum(axis=0, dtype=np.uint32)).all() for result in network.reduce(LaneOp.ADD32, list(inputs))
    )
    assert hook.bytes == chunks * WORKERS * whole
