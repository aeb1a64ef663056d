# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol of codecs: a generator that yields rounds of lane words and returns the decoded vector.

A codec opens no socket. Its ``all_reduce`` yields one :class:`Round` after another. Its driver is the network session
or :func:`lanesum_lab.codec_simulation.simulate`: it has the words of all workers aggregated, and sends an
:class:`Aggregate` into the generator::

    steps = codec.all_reduce(x, context)
    try:
        round_ = next(steps)
        while True:
            ...  # send round_.words, call round_.overlap(), wait for the aggregate
            round_ = steps.send(aggregate)
    except StopIteration as stop:
        result = stop.value

Rounds that do not depend on each other's aggregates may be yielded together, as a :class:`RoundGroup`. The driver may
have all of them in flight at once. It sends a tuple with one aggregate for each round into the generator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.aggregation.combine import Words as Words
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp, LaneShape

if TYPE_CHECKING:
    import torch

Vector: TypeAlias = NDArray[np.float32]


class CodecError(LanesumError):
    """Vector or aggregate that a codec cannot encode or decode."""


class NotFiniteError(CodecError):
    """NaN, infinity or a value beyond the codec's range in the vector of some worker; raised on all workers."""


class UnencodableError(CodecError):
    """NaN, infinity or a value beyond the codec's range in a vector.

    Before the first round: in this worker's vector. The driver starts again with ``CodecContext.not_finite``. After a
    round, on all workers: in the vector of some worker. Sessions return NaN then, or raise :class:`NotFiniteError`.
    """


@dataclass(frozen=True, slots=True)
class Part:
    """Range of one parameter in a vector: values ``start`` to ``stop`` (exclusive)."""

    key: str
    start: int
    stop: int


# Not frozen: the constructor of a frozen class is several times as slow, and every small all-reduce calls it.
@dataclass(slots=True, kw_only=True)
class CodecContext:
    """Agreement of all workers about one all-reduce, and this worker's number.

    Attributes:
        worker: number of this worker, from 0.
        seed: 64 bits that key the random bits, together with ``round`` and ``worker``.
        round: number of the all-reduce, modulo 2**32. Two all-reduces of a job must not share it.
        tensor: name of the vector, in errors and for state that is kept by tensor.
        average: the result is the mean over the contributors, else their sum.
        keep_residual: the result includes :attr:`Result.residual`. It costs one more inverse transform.
        complete: every sum is over all workers, because the job has no quorum.
        in_pieces: as ``complete``; and the driver encodes and decodes rounds in parts where they have
            :attr:`Round.pieces`.
        in_place: the codec may write the values to the vector, each coordinate once it is encoded. Not where it keeps a
            residual, which is computed from the vector.
        not_finite: this worker's vector has values that are not finite; zeros take their place. A codec whose first
            group of rounds has no MAX round and no packed values has to tell the others, and all of them raise
            :class:`UnencodableError`.
        parts: parameters of the vector, one after the other; empty where they are unknown.
        adaptive: the vector is a gradient, and its optimizer divides by the size of past ones, as Adam does; or it is
            not known yet. So a relative error counts about as much in a small value as in a large one.
        scattered: a reduce-scatter: the vector is equal shards, one for each worker in the order of their numbers, and
            the values of the result are those of this worker's shard. The residual is of the whole vector.
        error_feedback: vector that a codec with the trait ``adds_error_feedback`` adds first, of the same length and
            device; None for zeros. The codec must not change it.
    """

    workers: int
    worker: int
    seed: int = 0
    round: int = 0
    tensor: str = ""
    average: bool = True
    keep_residual: bool = False
    complete: bool = False
    in_pieces: bool = False
    in_place: bool = False
    not_finite: bool = False
    parts: tuple[Part, ...] = ()
    adaptive: bool = False
    scattered: bool = False
    error_feedback: Any = None

    def __post_init__(self) -> None:
        if self.workers < 1 or not 0 <= self.worker < self.workers:
            raise ConfigurationError(f"Worker {self.worker} of {self.workers} does not exist.", "Workers count from 0.")
        if not 0 <= self.seed < 2**64 or self.round < 0:
            raise ConfigurationError(
                f"Seed {self.seed}, round {self.round}: a seed has 64 bits and a round is not negative."
            )

    @property
    def divisor(self) -> int:
        """Divisor of a sum over all workers: their number for a mean, else 1."""
        return self.workers if self.average else 1

    def array_of_values(self, vector: Vector) -> Vector:
        """Return an array for the values of ``vector``: ``vector`` itself where it may be overwritten."""
        in_place = self.in_place and not self.keep_residual
        return vector if in_place else arrays.empty(vector.size, np.float32)


def never() -> bool:
    """Return False: another round may follow. Default of ``Round.last``."""
    return False


def always() -> bool:
    """Return True: no round follows. For ``Round.last``."""
    return True


class RoundPieces:
    """Callbacks of a codec for the pieces of a round; each piece is encoded and decoded once, in order.

    Args:
        encode: writes the uplink words of a piece, by number, into the words of the round.
        decode: uses the accumulator words of a piece, by number; they are the sum over all workers.
        uplink_ends: number of uplink words up to the end of each piece; of each shard in a scattered round.
        shape: shape of the operation; every piece ends with a whole group.
    """

    def __init__(
        self,
        encode: Callable[[int], None],
        decode: Callable[[int, Words], None],
        uplink_ends: Sequence[int],
        shape: LaneShape,
    ) -> None:
        self.encoded = 0
        self.decoded = 0
        self._encode = encode
        self._decode = decode
        self._ends = uplink_ends
        self._result_ends = [shape.accumulator_words(end) for end in uplink_ends]

    def __len__(self) -> int:
        return len(self._ends)

    def encode_next(self) -> int:
        """Encode the next piece; return the number of uplink words, of each shard, encoded so far."""
        number = self.encoded
        self._encode(number)
        self.encoded = number + 1
        return self._ends[number]

    def encode_all(self) -> None:
        """Encode all remaining pieces."""
        while self.encoded < len(self):
            self.encode_next()

    @property
    def needed(self) -> int:
        """Accumulator words up to the end of the next piece to decode; there must be one."""
        return self._result_ends[self.decoded]

    def decode_up_to(self, available: int, words: Words) -> None:
        """Decode all pieces within the first ``available`` of the round's accumulator ``words``."""
        while self.decoded < len(self) and self.needed <= available:
            number = self.decoded
            begin = self._result_ends[number - 1] if number else 0
            self._decode(number, words[begin : self.needed])
            self.decoded = number + 1


@dataclass(slots=True)
class Round:
    """One network round.

    Attributes:
        op: lane operation that combines the words of all workers.
        words: uplink words (uint32, native byte order). They must not change until the aggregate is there.
        overlap: work that does not need the aggregate. The driver calls it when the words have been sent.
        label: name of the round in traces.
        pieces: encoding and decoding in parts, only if :attr:`CodecContext.in_pieces` is set. The parts make the words,
            and may decode accumulator words before the aggregate is complete. The codec decodes the remaining parts.
        last: returns True as soon as the codec yields no round after this one, or after its group. The next all-reduce
            may start its rounds then. The value stays True, and becomes True on all workers.
        divisible: has ``pieces`` on the workers that support them.
        scattered: the words are equal shards, one for each worker, and the aggregate is that of this worker's shard.
            Only without a quorum, and not as the first round.
        gathered: the words are the shard of this worker, and the aggregate are those of all. Only without a quorum.
    """

    op: LaneOp
    words: Words
    overlap: Callable[[], object] | None = None
    label: str = ""
    pieces: RoundPieces | None = None
    last: Callable[[], bool] = never
    divisible: bool = False
    scattered: bool = False
    gathered: bool = False

    @property
    def result_words(self) -> int:
        """Number of accumulator words of the aggregate."""
        return self.op.shape.accumulator_words(self.words.size)

    @property
    def rounds(self) -> tuple[Round]:
        """The round itself: a codec yields either a round or a :class:`RoundGroup`."""
        return (self,)


@dataclass(frozen=True)
class RoundGroup:
    """One or more rounds that do not depend on each other, in the same order on all workers.

    The reply is a tuple of aggregates, one for each round, in the same order.
    """

    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        if not self.rounds:
            raise CodecError("A group of rounds is empty.", "Yield at least one round.")


@dataclass(frozen=True)
class Members:
    """Contributors of a sum that lacks some workers.

    Attributes:
        sets: distinct sets of contributors, boolean, shape (sets, workers of the job).
        of_word: row of ``sets`` for each accumulator word.
    """

    sets: NDArray[np.bool_]
    of_word: NDArray[np.intp]


@dataclass(slots=True)
class Aggregate:
    """Aggregate of one round.

    Attributes:
        words: accumulator words (uint32, ``Round.result_words`` of them).
        contributors: number of workers in the sum. Where a quorum completed packets with different contributors, an
            integer array with one number for each accumulator word.
        included: True if this worker's words are in the sum; one boolean, or one for each accumulator word.
        members: the contributors, where workers are missing. None where all workers contributed, or where the driver
            has no list; a codec may refuse that.
    """

    words: Words
    contributors: int | NDArray[np.integer]
    included: bool | NDArray[np.bool_] = True
    members: Members | None = None


@dataclass(slots=True)
class Result:
    """Decoded vector.

    Attributes:
        values: mean or sum over the contributors (float32), with the same bits on all workers.
        residual: this worker's vector minus the decoding of its own words (float32); None without ``keep_residual``.
        skipped: parameter because of which all workers skip this all-reduce; ``values`` are zeros then. Else None.
        not_finite: ``values`` are NaN on all workers, because of the vector of some worker; ``residual`` is None.
        max_error: NMSE that was planned, for workers whose vectors have nothing in common; None of codecs that plan
            none.
        estimated_error: the same, relative to the decoded mean; None where it is not known.
    """

    values: Vector
    residual: Vector | None = None
    skipped: str | None = None
    not_finite: bool = False
    max_error: float | None = None
    estimated_error: float | None = None


@dataclass(frozen=True)
class RoundShape:
    """Lane operation and number of uplink words of one round, known before any data."""

    op: LaneOp
    words: int

    @property
    def result_words(self) -> int:
        """Number of accumulator words, which are also those of the downlink."""
        return self.op.shape.accumulator_words(self.words)


# The reply to a Round is an Aggregate, to a RoundGroup a tuple. The type of a reply cannot depend on the yielded value.
Steps: TypeAlias = Generator[Round | RoundGroup, Any, Result]


@runtime_checkable
class Codec(Protocol):
    """Protocol of a codec, which sessions, policies and tests rely on."""

    @property
    def name(self) -> str:
        """Name in the registry of :mod:`lanesum.codecs`."""

    @property
    def traits(self) -> CodecTraits:
        """Capabilities and requirements; constant."""

    @property
    def workers(self) -> int:
        """Maximum number of workers whose words may be summed without a carry between lanes."""

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Table of 16 entries that switches require for lookups; None if no round has one."""

    def describe(self) -> str:
        """Return name and parameters in one line.

        The lines of two workers are equal exactly if one may sum the words of the other. The control plane compares
        them when workers join.
        """

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a vector of ``size`` values, in order. Slots and bytes are planned from them."""

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """Encode ``x`` (float32, one dimension), yield rounds, and return the decoded vector.

        The documentation of this module shows how to drive the generator.

        Raises:
            UnencodableError: before the first round, if ``x`` has a NaN or an infinity.
            CodecError: before the first round, if ``x`` has the wrong type, or if the context has more workers than the
                codec was built for. After a round, if its aggregate does not fit.
        """


def round_in_pieces(
    context: CodecContext,
    op: LaneOp,
    words: Words,
    label: str,
    pieces: RoundPieces,
    overlap: Callable[[], object] | None = None,
    last: Callable[[], bool] = never,
) -> Round:
    """Return a round whose ``words`` the driver encodes piece by piece, or are all encoded now if it does not."""
    if context.in_pieces:
        return Round(op, words, overlap, label, pieces, last, divisible=True)
    pieces.encode_all()
    return Round(op, words, overlap, label, last=last, divisible=True)


class StatefulCodec(Codec, Protocol):
    """Protocol of a codec that keeps state between all-reduces; its traits say ``stateful``."""

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state for a checkpoint: arrays and plain Python values."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by one of ``state_dict``. Raises CodecError, changing nothing, if it does not fit."""


def as_stateful(codec: Codec) -> StatefulCodec | None:
    """Return ``codec`` if its traits say that it keeps state, else None."""
    return cast(StatefulCodec, codec) if codec.traits.stateful else None


def is_tensor(x: object) -> TypeGuard[torch.Tensor]:
    """Return True if ``x`` is a PyTorch tensor, without importing PyTorch: a caller with a tensor has imported it."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(x, module.Tensor)
