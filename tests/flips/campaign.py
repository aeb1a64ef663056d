# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Flips of one bit each, one in a round, and their outcomes by place, codec and target."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bmv2_tests.targets import REFERENCE, open_target
from lanesum._internal.native import availability
from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, Kind
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.transport.errors import TransportError
from lanesum.transport.native_engine import AnyRoundSequence, NativeRoundSequence
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.ticket import JobTicket
from tests.flips import memory
from tests.flips.network import SLOTS, WORKERS, FlipNetwork
from tests.simulator.wire import flipped

EMBEDDED, CHIP, PYTHON_SERVER, NATIVE_SERVER = "embedded", "tofino1-w32", "server, Python", "server, native"
TARGETS = (REFERENCE, EMBEDDED, CHIP, PYTHON_SERVER, NATIVE_SERVER)
_SWITCHES = (REFERENCE, EMBEDDED, CHIP)
LANES, REGISTERS, MEMORY = "lanes", "registers", "server memory"
HEADER_UP, HEADER_DOWN, PAYLOAD_UP, PAYLOAD_DOWN = "header up", "header down", "payload up", "payload down"
_PACKETS = (HEADER_UP, HEADER_DOWN, PAYLOAD_UP, PAYLOAD_DOWN)
PLACES = (LANES, REGISTERS, *_PACKETS, MEMORY)
# Operations of the rounds of each codec.
CODECS = {
    "fixed": (LaneOp.ADD32, LaneOp.MAX),
    "thc": (LaneOp.EXPAND8, LaneOp.MAX),
    "thc bits=3": (LaneOp.EXPAND3TO8,),
    "thc bits=8": (LaneOp.ADD8X4,),
    "sketch": (LaneOp.OR, LaneOp.ADD32),
}
_WORDS = 32


def places_of(target: str) -> tuple[str, ...]:
    """Return the places of a target where bits can flip."""
    return (LANES, REGISTERS, *_PACKETS) if target in _SWITCHES else (*_PACKETS, MEMORY)


@dataclass
class Outcomes:
    """Flips by their outcome.

    Attributes:
        unnoticed: the sum is right, and no packet more was sent.
        repeated: the sum is right; packets were refused or lost their meaning, and others repeated them.
        retaken: the sum is right; a result failed its check and was not used.
        errors: the job ended with a typed error.
        wrong: a worker got a wrong sum without a word.
    """

    unnoticed: int = 0
    repeated: int = 0
    retaken: int = 0
    errors: int = 0
    wrong: int = 0

    @property
    def flips(self) -> int:
        return self.unnoticed + self.repeated + self.retaken + self.errors + self.wrong


@dataclass
class Campaign:
    """Outcomes by (target, place, codec); ``wall_s``: seconds that it took."""

    outcomes: dict[tuple[str, str, str], Outcomes] = field(default_factory=dict)
    wall_s: float = 0.0

    @property
    def flips(self) -> int:
        return sum(one.flips for one in self.outcomes.values())

    @property
    def wrong(self) -> int:
        return sum(one.wrong for one in self.outcomes.values())

    def add(self, other: Campaign) -> None:
        """Add the flips of a campaign that ran at the same time."""
        self.wall_s = max(self.wall_s, other.wall_s)
        for key, outcomes in other.outcomes.items():
            own = self.outcomes.setdefault(key, Outcomes())
            for one in dataclasses.fields(Outcomes):
                setattr(own, one.name, getattr(own, one.name) + getattr(outcomes, one.name))


class Flip:
    """One bit that flips at one packet of a round, or beside it; a hook of the network.

    Args:
        network: the network.
        place: one of ``PLACES``.
        rng: chooses packet and bit.
    """

    def __init__(self, network: FlipNetwork, place: str, rng: random.Random) -> None:
        self.done = False
        self._network = network
        self._place = place
        self._rng = rng
        self._left = rng.randrange(WORKERS * SLOTS)
        self._last: bytes | None = None

    def __call__(self, up: bool, datagram: bytes) -> bytes:
        before, self._last = self._last, datagram if up else self._last
        if self.done or not self._concerns(up, datagram):
            return datagram
        self._left -= 1
        if self._left >= 0:
            return datagram
        self.done = True
        if self._place in (HEADER_UP, HEADER_DOWN):
            return flipped(datagram, self._rng.randrange(8 * HEADER_BYTES))
        if self._place in (PAYLOAD_UP, PAYLOAD_DOWN):
            return flipped(datagram, self._rng.randrange(8 * HEADER_BYTES, 8 * len(datagram)))
        if self._place == LANES:
            self.done = memory.flip_lanes(self._network, self._rng)
        elif self._place == REGISTERS:
            self.done = memory.flip_registers(self._network, self._rng)
        else:
            self.done = before is not None and memory.flip_server_memory(self._network, self._rng, before)
        return datagram

    def _concerns(self, up: bool, datagram: bytes) -> bool:
        if self._place in (HEADER_DOWN, PAYLOAD_DOWN):
            return not up and Header.unpack(datagram).kind == Kind.RESULT
        return up


class Bench:
    """A network whose rounds have one flip each.

    Args:
        network: the network.
        target: its name.
        rng: random numbers of data and flips.
    """

    def __init__(self, network: FlipNetwork, target: str, rng: random.Random) -> None:
        self.target = target
        self._network = network
        self._rng = rng
        self._generator = np.random.default_rng(rng.getrandbits(64))

    def flip(self, place: str, op: LaneOp, outcomes: Outcomes) -> bool:
        """Run a round with a flip and count its outcome; return False if no bit could flip."""
        network = self._network
        data_words = network.tickets[0].data_words(op)
        words = op.shape.uplink_words(data_words) * SLOTS
        contributions = [self._generator.integers(0, 1 << 32, words, np.uint32) for _ in range(WORKERS)]
        exact = contributions_sum(op, contributions)
        flip = network.hook = Flip(network, place, self._rng)
        before = self._noticed()
        try:
            results = network.reduce(op, contributions)
        except TransportError:
            outcomes.errors += flip.done
            network.admit()
            return flip.done
        failed, noticed = (now - then for now, then in zip(self._noticed(), before, strict=True))
        if not all(np.array_equal(result, exact) for result in results):
            outcomes.wrong += 1
        elif flip.done:
            outcomes.retaken += failed > 0
            outcomes.repeated += not failed and noticed > 0
            outcomes.unnoticed += not failed and not noticed
        return flip.done

    def _noticed(self) -> tuple[int, int]:
        """Return the failed results of all workers, and what shows that a packet was not used."""
        stats = [one.stats for one in self._network.rounds]
        noticed = sum(one.retransmissions + one.foreign_packets + one.pending_replies for one in stats)
        refused = sum(self._network.server.refused.values())
        return sum(one.failed_results for one in stats), noticed + refused


def contributions_sum(op: LaneOp, contributions: list[np.ndarray]) -> np.ndarray:
    """Return the exact result of a round."""
    first, *others = (expand(op, words, None) for words in contributions)
    for words in others:
        first = combine(op, first, words)
    return first


@contextlib.contextmanager
def open_bench(target: str, rng: random.Random, *, certified: bool = True) -> Iterator[Bench]:
    """Open the network of a target. Workers of the embedded switches and of the native server are native."""
    native = target in (EMBEDDED, CHIP, NATIVE_SERVER) and availability().core is not None
    rounds: Callable[[JobTicket], AnyRoundSequence] = NativeRoundSequence if native else RoundSequence
    if target not in _SWITCHES:
        core = availability().core
        server = NativeAggregator(core) if target == NATIVE_SERVER and core is not None else Aggregator()
        yield Bench(FlipNetwork(_WORDS, server, rounds, certified=certified), target, rng)
        return
    with open_target(target, _WORDS) as switch:
        yield Bench(FlipNetwork(_WORDS, Aggregator(), rounds, switch, certified=certified), target, rng)


def run(flips: int, seed: int, certified: bool = True, targets: tuple[str, ...] = TARGETS) -> Campaign:
    """Flip bits, equally often at each place of each target, with each codec in turn.

    Args:
        flips: number of flips, at least.
        seed: of data and flips.
        certified: rounds have check words.
        targets: of ``TARGETS``.
    """
    campaign, began = Campaign(), time.monotonic()
    targets = tuple(one for one in targets if one != NATIVE_SERVER or availability().core is not None)
    rng = random.Random(seed)
    turns: collections.Counter[tuple[str, str, str]] = collections.Counter()
    with contextlib.ExitStack() as cleanup:
        benches = [
            cleanup.enter_context(open_bench(one, random.Random(rng.getrandbits(64)), certified=certified))
            for one in targets
        ]
        while campaign.flips < flips:
            for bench in benches:
                for place in places_of(bench.target):
                    for codec, ops in CODECS.items():
                        key = bench.target, place, codec
                        outcomes = campaign.outcomes.setdefault(key, Outcomes())
                        bench.flip(place, ops[turns[key] % len(ops)], outcomes)
                        turns[key] += 1
    campaign.wall_s = time.monotonic() - began
    return campaign


def run_processes(
    flips: int, seed: int, processes: int, *, certified: bool = True, targets: tuple[str, ...] = TARGETS
) -> Campaign:
    """Run a campaign of several processes, with consecutive seeds."""
    share = -(-flips // processes)
    tasks = [(share, seed + number, certified, targets) for number in range(processes)]
    campaign = Campaign()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.starmap(run, tasks):
            campaign.add(part)
    return campaign
