# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What every codec is: a generator that yields rounds of lane words and returns the decoded vector.

A codec never touches a socket. Its ``all_reduce`` yields one :class:`Round` after another; whoever drives it
(the network session, or :func:`lanesum_lab.codec_simulation.simulate`) has the words of all workers aggregated and
sends an :class:`Aggregate` back in::

    steps = codec.all_reduce(x, context)
    try:
        round_ = next(steps)
        while True:
            ...  # start round_.words on its way, call round_.overlap(), wait for the aggregate
            round_ = steps.send(aggregate)
    except StopIteration as stop:
        result = stop.value

Rounds that do not need each other's aggregates may come together, as a :class:`RoundGroup`: the driver puts all of
them on their way before it waits, and sends a tuple of as many aggregates in.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NoReturn,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words as Words
from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp

if TYPE_CHECKING:
    import torch

Vector: TypeAlias = NDArray[np.float32]
T = TypeVar("T")
# To compare with a type makes a data type of it every time.
_FLOAT32, _UINT32 = np.dtype(np.float32), np.dtype(np.uint32)
#: Next step of who is refused because of its values, before anything of them was sent.
NOTHING_SENT = "Nothing of it was sent: skip the step or lower the loss scale."


class CodecError(LanesumError):
    """A vector or an aggregate that a codec cannot encode or decode."""


@dataclass(frozen=True, slots=True)
class Part:
    """A parameter's place in a vector: values ``start`` to ``stop``."""

    key: str
    start: int
    stop: int


# Not frozen, which would make making one several times as slow: every small all-reduce makes one.
@dataclass(slots=True, kw_only=True)
class CodecContext:
    """What all workers agree on before they encode one vector.

    ``seed`` (64 bits) and ``round`` (32 bits, wraps) key the random bits together with ``worker``, so two
    all-reduces of a job must never share a ``round``. ``tensor`` names the vector in errors and keys the
    error-feedback memory. ``average`` asks for the mean over the contributors, else for their sum.
    ``keep_residual`` asks for :attr:`Result.residual`, which costs a codec one more inverse transform.
    ``complete`` says that every sum is over all workers: the job has no quorum. ``in_pieces`` says so too, and that the
    driver makes rounds piece by piece where they have :attr:`Round.pieces`. ``parts``: the parameters that the vector
    is made of, one after the other; none where nobody knows.

    ``memory``: what a codec with ``adds_memory`` adds to the vector first, as long and on the same device; None for
    nothing. It is the codec's: the residual may be written there.
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
    parts: tuple[Part, ...] = ()
    memory: Any = None

    def __post_init__(self) -> None:
        if self.workers < 1 or not 0 <= self.worker < self.workers:
            raise ConfigurationError(f"Worker {self.worker} of {self.workers} does not exist.", "Workers count from 0.")
        if not 0 <= self.seed < 2**64 or self.round < 0:
            raise ConfigurationError(
                f"Seed {self.seed}, round {self.round}: a seed has 64 bits and a round is not negative."
            )


class Deferred(Generic[T]):
    """Work that may run while a round is in flight: runs once, on the first call, and remembers its value.

    A second caller, from whichever thread, waits for the first and gets the same value. A driver that ignores
    ``Round.overlap`` therefore still gets the right result, only later.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._lock = threading.Lock()
        self._value: list[T] = []

    def __call__(self) -> T:
        with self._lock:
            if self._work is not None:
                self._value.append(self._work())
                self._work = None
            return self._value[0]


def never() -> bool:
    """Of a round that others may come after."""
    return False


def always() -> bool:
    """Of a codec's last round."""
    return True


@dataclass(slots=True)
class Round:
    """One network round: ``words`` (uint32 values, native order) to be combined with lane operation ``op``.

    ``overlap`` is heavy work that does not need the aggregate: call it after the words are on their way.
    ``label`` names the round in traces. Uplink and accumulator lengths are ``words.size`` and
    ``result_words``. ``words`` must not change until the aggregate is there, not even by ``overlap``.

    ``pieces`` is only there where :attr:`CodecContext.in_pieces` has asked for it. The words are made by it then, and
    its decoding may use the accumulator words before the whole aggregate is there; what was not decoded by then the
    codec decodes itself.

    ``last`` tells whether it is known by now that the codec yields nothing after this, or after the group with this in
    it: the next all-reduce's rounds need not wait for these sums then. Once it is known it stays so; and it is so on
    all workers, sooner or later.
    """

    op: LaneOp
    words: Words
    overlap: Callable[[], object] | None = None
    label: str = ""
    pieces: RoundPieces | None = None
    last: Callable[[], bool] = never

    @property
    def result_words(self) -> int:
        """Accumulator words that the aggregate of this round has."""
        return self.op.shape.accumulator_words(self.words.size)


@dataclass(frozen=True)
class RoundGroup:
    """Rounds that do not depend on each other, in an order that is the same on all workers; one at least.

    The answer to it is a tuple of aggregates, one per round, in the same order. A driver may have all of them in
    flight at once, or one after the other: the codec cannot tell.
    """

    rounds: tuple[Round, ...]

    def __post_init__(self) -> None:
        if not self.rounds:
            raise CodecError("A group of rounds is empty.", "Yield one round at least.")


@dataclass(frozen=True)
class Members:
    """Which workers are in a sum that lacks some.

    ``sets``: boolean, shape (sets, workers of the job). ``of_word``: for every accumulator word, the row of ``sets``
    that tells who is in it.
    """

    sets: NDArray[np.bool_]
    of_word: NDArray[np.intp]


@dataclass(slots=True)
class Aggregate:
    """What the network made of one round.

    ``words``: uint32 accumulator words, ``Round.result_words`` of them. ``contributors``: how many workers
    are in the sum; one number, or, where a quorum completed packets with different contributors, an integer
    array with one count per accumulator word. ``included``: whether this worker's own words are in it,
    likewise one boolean or one per accumulator word. ``members``: who they are, where they are not all workers of the
    job; None where they are, or where the driver does not know, which a codec may refuse.
    """

    words: Words
    contributors: int | NDArray[np.integer]
    included: bool | NDArray[np.bool_] = True
    members: Members | None = None


@dataclass(slots=True)
class Result:
    """A decoded vector. ``values``: float32 mean (or sum) over the contributors, bit-identical on all
    workers.

    ``residual``: float32, this worker's input minus what its own words said of it, or None if not asked for.
    ``skipped``: the parameter because of which all workers go without this sum, its values being zero; None where they
    have it.
    """

    values: Vector
    residual: Vector | None = None
    skipped: str | None = None


@dataclass(frozen=True)
class RoundShape:
    """Size of one round, known before any data: uplink and accumulator words."""

    op: LaneOp
    words: int

    @property
    def result_words(self) -> int:
        """Accumulator words, which are also the downlink's."""
        return self.op.shape.accumulator_words(self.words)


# An Aggregate answers a Round, a tuple of them a RoundGroup; the type of what is sent cannot follow what was yielded.
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
        """Most workers whose words may be summed without a carry between lanes."""

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """The 16 entries that the switch must hold for ``TABLE8``, or None where no round uses it."""

    def describe(self) -> str:
        """Return name and parameters in one line.

        The lines of two workers are equal exactly if one may sum the words of the other. The control plane compares
        them when workers join.
        """

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a vector of ``size`` values, in order. Slots and bytes are planned from them."""

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """Start encoding ``x`` (float32, one dimension); see the module's text for how to drive it.

        Raises CodecError, before the first round, if ``x`` has a NaN, an infinity or the wrong type, or if
        the context has more workers than the codec was built for; later, if an aggregate has the wrong
        length.
        """


def followed(steps: Steps) -> Steps:
    """As ``steps``, of a codec inside another, but none of its rounds is the last: more comes after them."""
    try:
        yielded = next(steps)
        while True:
            for one in yielded.rounds if isinstance(yielded, RoundGroup) else (yielded,):
                one.last = never
            yielded = steps.send((yield yielded))
    except StopIteration as stop:
        result: Result = stop.value
        return result


class StatefulCodec(Codec, Protocol):
    """Protocol of a codec that keeps state between all-reduces; its traits say ``stateful``."""

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state for a checkpoint: arrays and plain Python values."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by one of ``state_dict``. Raises CodecError, changing nothing, if it does not fit."""


def as_stateful(codec: Codec) -> StatefulCodec | None:
    """Return ``codec`` if its traits say that it keeps state, else None."""
    return cast(StatefulCodec, codec) if codec.traits.stateful else None


def checked_vector(x: Vector, context: CodecContext, workers: int) -> Vector:
    """Return ``x`` as a contiguous vector, or raise the CodecError that says why it cannot be sent.

    Whether all elements are finite is left to the codec's own first pass: see :func:`refuse_not_finite`.
    """
    refuse_more_workers(context, workers)
    if not isinstance(x, np.ndarray) or x.dtype != _FLOAT32 or x.ndim != 1:
        found = f"{x.dtype} with shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        raise CodecError(f"Expected {_named(context)} as a float32 array of one dimension, not {found}.")
    return np.ascontiguousarray(x)


def refuse_more_workers(context: CodecContext, workers: int) -> None:
    """Raise a CodecError where the job has more than a codec was built for."""
    if context.workers > workers:
        raise CodecError(
            f"{context.workers} workers would sum lanes that are sized for {workers}.",
            "Build the codec with the job's number of workers.",
        )


def is_tensor(x: object) -> TypeGuard[torch.Tensor]:
    """Whether ``x`` is PyTorch's. That is not imported for it: who has a tensor has done so."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(x, module.Tensor)


def refuse_not_finite(x: Vector, context: CodecContext) -> NoReturn:
    """Raise the CodecError for a vector with a NaN or an infinity in it; a codec finds that in its first pass."""
    finite = np.isfinite(x)
    index = int(np.argmin(finite))
    named, place = _named(context), index
    for part in context.parts:
        if part.start <= index < part.stop:
            named, place = f"tensor {part.key!r}", index - part.start
    raise CodecError(
        f"Cannot encode {named}: element {place} is {x[index]}, and {x.size - int(finite.sum())} "
        f"of {x.size} elements are not finite.",
        NOTHING_SENT,
    )


def _named(context: CodecContext) -> str:
    return f"tensor {context.tensor!r}" if context.tensor else "the vector"


def checked_words(aggregate: Aggregate, round_: RoundShape) -> Words:
    """Return the words of ``aggregate``, or raise CodecError if they cannot belong to ``round_``."""
    words = aggregate.words
    if words.dtype != _UINT32 or words.shape != (round_.result_words,):
        raise CodecError(
            f"The aggregate of a {round_.op.name} round has {words.dtype} words of shape "
            f"{words.shape}, not {round_.result_words} uint32."
        )
    for what, per_word in (("contributors", aggregate.contributors), ("included", aggregate.included)):
        if isinstance(per_word, np.ndarray) and per_word.shape not in ((), aggregate.words.shape):
            raise CodecError(f"{what} of a {round_.op.name} aggregate has shape {per_word.shape}, not one per word.")
    counted = aggregate.contributors
    if (counted.min(initial=1) if isinstance(counted, np.ndarray) else counted) < 1:
        raise CodecError(f"The aggregate of a {round_.op.name} round names no contributor.")
    return np.ascontiguousarray(words)


def uniform_contributors(aggregate: Aggregate) -> int | None:
    """The number of contributors where it is the same for every word, else None."""
    counts = np.asarray(aggregate.contributors)
    if counts.size and (counts == counts.flat[0]).all():
        return int(counts.flat[0])
    return None
