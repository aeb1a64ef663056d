# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Order of rounds, with codecs whose rounds depend on sums: the next all-reduce starts once the last round is known.

The transport is a fake one, whose results arrive when the test says so.
"""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import CodecContext, CodecError, CodecTraits, Policy, Result, Round, Rule, Sketch, Steps, Union
from lanesum.codecs.base import Codec, always
from lanesum.protocol.lanes import LaneOp
from lanesum.session.all_reduce import AllReduce
from lanesum.session.scheduler import AllReduceScheduler
from lanesum_lab.codec_simulation import simulate

SIZE = 20_000


class Flight:
    """A round in flight of the only worker."""

    chunks = awaited_chunks = 1

    def __init__(self, op: LaneOp, words: np.ndarray) -> None:
        self.op, self.words = op, words
        self.arrived = False

    @property
    def complete(self) -> bool:
        return self.arrived

    @property
    def done_chunks(self) -> int:
        return int(self.arrived)

    def await_words(self, words: int) -> None:
        pass

    def arriving(self) -> np.ndarray:
        return self.words


class Transport:
    """Records all rounds that were begun, in order."""

    can_begin = True
    opening = None
    ticket = types.SimpleNamespace(quorum=0, accumulator_words=360, workers=1, worker=0, job=1)

    def __init__(self) -> None:
        self.begun: list[Flight] = []

    def begin_round(self, op: LaneOp, words: np.ndarray, *, withheld: bool, scattered: bool, gathered: bool) -> Flight:
        self.begun.append(Flight(op, words))
        return self.begun[-1]

    def release(self, flight: Flight, words: int) -> None:
        pass

    def poll(self) -> None:
        pass

    def abandon(self, error: BaseException | None = None) -> None:
        pass

    def finish(self, flight: Flight) -> tuple[np.ndarray, np.ndarray]:
        return flight.words.copy(), np.ones((1, 1), np.uint32)


class Job:
    """A job of one worker, whose codec has reduced tensors ``a`` and ``b`` before."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.transport = Transport()
        self.scheduler = AllReduceScheduler(self.transport)  # type: ignore[arg-type]
        self._numbers = collections.Counter[str]()

    def submit(
        self, tensor: str, x: np.ndarray, *, parameters: tuple[str, ...] = (), codec: Codec | None = None
    ) -> AllReduce:
        codec = codec or self.codec
        self._numbers["all"] += 1
        context = CodecContext(
            workers=1, worker=0, tensor=tensor, round=self._numbers["all"], complete=True, in_pieces=True
        )
        names = (tensor, *parameters)
        all_reduce = AllReduce(self.scheduler, x.shape, codec, x, context, codec.all_reduce(x, context), x.size, names)
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


def experienced(kind: Any, **options: Any) -> Any:
    codec = kind(workers=1, **options)
    for number in range(4):
        for tensor in ("a", "b"):
            simulate(codec, [some(number)], tensor=tensor, round=number)
    return codec


GROUP = ["MAX", "OR", "ADD32"]


def test_next_starts_once_sketch_has_scale_and_index() -> None:
    job = Job(experienced(Sketch))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    job.scheduler.progress()
    assert job.ops() == GROUP
    job.arrive(0)
    assert job.ops() == GROUP
    job.arrive(1)  # all keys can be read, so no further round follows
    assert job.ops() == GROUP * 2 and not a.ended
    for number in (3, 4, 5, 2):
        job.arrive(number)
    assert a.completed is not None and b.completed is not None
    assert (a.completed.values == some(1)).all() and (b.completed.values == some(2)).all()


def test_unreadable_keys_are_sent_before_next_starts() -> None:
    job = Job(experienced(Sketch))
    a, b = job.submit("a", some(1, density=0.1)), job.submit("b", some(2))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP  # another round follows, which depends on the sums of this one
    job.arrive(2)
    assert job.ops() == [*GROUP, "ADD32", *GROUP]
    for number in (3, 4, 5, 6):
        job.arrive(number)
    assert a.completed is not None and (a.completed.values == some(1, density=0.1)).all()
    assert b.completed is not None and (b.completed.values == some(2)).all()


def test_next_starts_once_union_has_sent_values() -> None:
    job = Job(experienced(Union))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    assert job.ops() == GROUP[:2]
    job.arrive(0)
    job.arrive(1)
    assert job.ops() == [*GROUP, *GROUP[:2]] and not a.ended
    for number in (3, 4, 2, 5):
        job.arrive(number)
    assert a.completed is not None and (a.completed.values == some(1)).all()
    assert b.completed is not None and (b.completed.values == some(2)).all()


def test_same_tensor_starts_after_its_earlier_sum() -> None:
    job = Job(experienced(Sketch))
    a, again = job.submit("a", some(1)), job.submit("a", some(2))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP and not again.begun
    job.arrive(2)
    assert a.ended and job.ops() == GROUP * 2


def test_bucket_starts_after_earlier_sum_of_its_parameter() -> None:
    """PyTorch rebuilds buckets, so two may contain the same parameter under other names."""
    job = Job(experienced(Sketch))
    a = job.submit("a", some(1), parameters=("p", "q"))
    b = job.submit("b", some(2), parameters=("q", "r"))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP and not b.begun
    job.arrive(2)
    assert a.ended and job.ops() == GROUP * 2


def test_same_tensor_of_another_codec_starts_before_sum() -> None:
    job = Job(experienced(Sketch))
    a = job.submit("a", some(1))
    job.submit("a", some(2), codec=experienced(Sketch))
    for number in (0, 1):
        job.arrive(number)
    assert job.ops() == GROUP * 2 and not a.ended


def test_next_starts_after_all_codecs_of_policy() -> None:
    job = Job(experienced(Policy, rules=(Rule("sketch"),)))
    a, b = job.submit("a", some(1)), job.submit("b", some(2))
    for number in (1, 2):
        job.arrive(number)
    assert job.ops() == ["MAX", *GROUP, "MAX", *GROUP]
    for number in (0, 3, 4, 5, 6, 7):
        job.arrive(number)
    assert a.completed is not None and (a.completed.values == some(1)).all()
    assert b.completed is not None and (b.completed.values == some(2)).all()


def test_round_after_last_one_raises() -> None:
    class WrongLast:
        name, code_table, workers = "wrong-last", None, 1
        traits = CodecTraits(depends_on_past_sums=True)

        def describe(self) -> str:
            return self.name

        def shapes(self, size: int) -> tuple[()]:
            return ()

        def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
            for _ in range(2):
                yield Round(LaneOp.ADD32, x.view(np.uint32), last=always)
            return Result(x)

    job = Job(WrongLast())
    a = job.submit("a", some(1))
    job.arrive(0)
    assert isinstance(a.error, CodecError)
    with pytest.raises(CodecError, match="makes a round after one that it marked as its last"):
        raise a.error
