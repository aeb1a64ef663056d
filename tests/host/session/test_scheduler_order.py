# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces whose rounds depend on sums before, of other tensors: the next one's rounds start as soon as it is known
that the one before makes no more, and not sooner. Against a transport that brings results when it is told to."""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np
import pytest

from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs import CodecContext, CodecError, CodecTraits, Policy, Result, Round, Rule, Sketch, Steps, Union
from lanesum.codecs.base import Codec, always
from lanesum.protocol.lanes import LaneOp
from lanesum.session.all_reduce import AllReduce
from lanesum.session.scheduler import AllReduceScheduler
from lanesum_lab.codec_simulation import simulate

SIZE = 20_000


class Flight:
    """A round of one worker."""

    def __init__(self, op: LaneOp, words: np.ndarray, pieces: RoundPieces | None) -> None:
        self.op, self.words, self.pieces = op, words, pieces
        self.arrived = False

    @property
    def encoding(self) -> bool:
        return self.pieces is not None and self.pieces.encoded < len(self.pieces)

    @property
    def ready(self) -> bool:
        return self.arrived and self.pieces is not None and self.pieces.decoded < len(self.pieces)

    @property
    def finished(self) -> bool:
        return self.arrived and not self.ready


class Transport:
    """All rounds that were begun, in order."""

    can_begin = True
    ticket = types.SimpleNamespace(quorum=0, accumulator_words=360, workers=1, worker=0, job=1)

    def __init__(self) -> None:
        self.begun: list[Flight] = []

    def begin_round(self, op: LaneOp, words: np.ndarray, pieces: RoundPieces | None) -> Flight:
        self.begun.append(Flight(op, words, pieces))
        return self.begun[-1]

    def encode(self, flight: Flight) -> None:
        assert flight.pieces is not None
        flight.pieces.encode_next()

    def decode(self, flight: Flight) -> None:
        assert flight.pieces is not None
        flight.pieces.decode_up_to(flight.words.size, flight.words)

    def attend(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    def finish(self, flight: Flight) -> tuple[np.ndarray, np.ndarray]:
        return flight.words.copy(), np.ones((1, 1), np.uint32)


class Job:
    """One worker, with codecs that know tensors ``a`` and ``b``."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.transport = Transport()
        self.scheduler = AllReduceScheduler(self.transport)  # type: ignore[arg-type]
        self._numbers = collections.Counter[str]()

    def submit(self, tensor: str, x: np.ndarray) -> AllReduce:
        self._numbers["all"] += 1
        context = CodecContext(
            workers=1, worker=0, tensor=tensor, round=self._numbers["all"], complete=True, in_pieces=True
        )
        all_reduce = AllReduce(self.codec, self.codec.all_reduce(x, context), x.size, (tensor,))
        self.scheduler.submit(all_reduce)
        return all_reduce

    def arrive(self, number: int) -> None:
        self.transport.begun[number].arrived = True
        self.scheduler.progress()

    def ops(self) -> list[str]:
        return [flight.op.name for flight in self.transport.begun]


def some(seed: int, density: float = 0.01) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.integers(1, 1000, SIZE) * (generator.random(SIZE) < density)).astype(np.float32)


def knowing(kind: Any, **options: Any) -> Any:
    codec = kind(workers=1, **options)
    for number in range(4):
        for tensor in ("a", "b"):
            simulate(codec, [some(number)], tensor=tensor, round=number)
    return codec


GROUP = ["MAX", "OR", "ADD32"]


def test_a_sketch_is_out_of_the_way_once_scale_and_index_have_come() -> None:
    job = Job(knowing(Sketch))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    job.scheduler.progress()
    assert job.ops() == GROUP
    job.arrive(0)
    assert job.ops() == GROUP
    job.arrive(1)  # all keys can be read: whatever the cells hold
    assert job.ops() == GROUP * 2 and not a.done
    for number in (3, 4, 5, 2):
        job.arrive(number)
    assert a.result is not None and b.result is not None
    assert (a.result.values == some(1)).all() and (b.result.values == some(2)).all()


def test_keys_that_are_left_over_come_before_the_next_all_reduce() -> None:
    job = Job(knowing(Sketch))
    a, b = job.submit("a", some(1, density=0.1)), job.submit("b", some(2))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP  # another round is to come, which takes the sums of this one
    job.arrive(2)
    assert job.ops() == [*GROUP, "ADD32", *GROUP]
    for number in (3, 4, 5, 6):
        job.arrive(number)
    assert a.result is not None and (a.result.values == some(1, density=0.1)).all()
    assert b.result is not None and (b.result.values == some(2)).all()


def test_the_values_of_a_union_are_the_last_round() -> None:
    job = Job(knowing(Union))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    assert job.ops() == GROUP[:2]
    job.arrive(0)
    job.arrive(1)
    assert job.ops() == [*GROUP, *GROUP[:2]] and not a.done
    for number in (3, 4, 2, 5):
        job.arrive(number)
    assert a.result is not None and (a.result.values == some(1)).all()
    assert b.result is not None and (b.result.values == some(2)).all()


def test_the_same_tensor_waits_for_its_sum() -> None:
    job = Job(knowing(Sketch))
    a, again = job.submit("a", some(1)), job.submit("a", some(2))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP and not again.begun
    job.arrive(2)
    assert a.done and job.ops() == GROUP * 2


def test_a_policy_is_out_of_the_way_when_all_its_codecs_are() -> None:
    job = Job(knowing(Policy, rules=(Rule("sketch"),)))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    for number in (1, 2):
        job.arrive(number)
    assert job.ops() == ["MAX", *GROUP, "MAX", *GROUP]
    for number in (0, 3, 4, 5, 6, 7):
        job.arrive(number)
    assert a.result is not None and (a.result.values == some(1)).all()
    assert b.result is not None and (b.result.values == some(2)).all()


def test_a_round_after_the_last_one_is_an_error() -> None:
    class Liar:
        name, code_table, workers = "liar", None, 1
        traits = CodecTraits(depends_on_past_sums=True)

        def describe(self) -> str:
            return self.name

        def shapes(self, size: int) -> tuple[()]:
            return ()

        def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
            for _ in range(2):
                yield Round(LaneOp.ADD32, x.view(np.uint32), last=always)
            return Result(x)

    job = Job(Liar())
    a = job.submit("a", some(1))
    job.arrive(0)
    assert isinstance(a.error, CodecError)
    with pytest.raises(CodecError, match="its last"):
        raise a.error
