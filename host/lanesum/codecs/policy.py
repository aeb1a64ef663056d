# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``policy``: a codec for each parameter, by its name, size and density.

It adds warm-up, error feedback by parameter, and a guard against gradients that are not finite.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    NotFiniteError,
    Part,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    StatefulCodec,
    Steps,
    UnencodableError,
    Vector,
    as_stateful,
)
from lanesum.codecs.checks import checked_vector, checked_words
from lanesum.codecs.error_feedback import checked_memory
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.kernels.packing import pack_mask, unpack_mask
from lanesum.codecs.parameter_state import ParameterCounts, ParameterVectors, memories_of, parts_of
from lanesum.codecs.policy_rules import DEFAULT_RULES, Rule
from lanesum.codecs.registry import for_job, register
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS, LaneOp

NotFinite = Literal["mean", "raise", "skip", "zero"]
_NOT_FINITE = ("mean", "raise", "skip", "zero")
# Index of the warm-up codec; the codecs of the rules count from 0.
_WARM = -1
# Values of a parameter by which the density of the union of all workers is estimated, to about 0.01.
_SAMPLES = 1024
# A rule keeps a parameter up to a density so much beyond its limit, so estimates near the limit change nothing.
_HYSTERESIS = 1.25


class Policy:
    """Codec that sums each parameter by the codec of the first matching rule, or by ``fixed``.

    Parameters are those of ``CodecContext.parts``, from the DDP hook or ``Session.all_reduce_async``. Without them the
    whole vector is one parameter with the name of the tensor, and has no memory without a name. The parameters of one
    vector that have the same codec are summed together. The rounds of all codecs are in flight at once.

    Args:
        warm_up: number of all-reduces of a parameter that ``fixed`` sums before the rules apply.
        not_finite: reaction to a NaN or an infinity in the gradient of some worker. ``"mean"``: the reaction of the
            session to any codec. ``"raise"``: NotFiniteError on all workers. ``"skip"``: nothing is summed, the mean is
            zero, ``Result.skipped`` names the parameter on all workers, and no memory changes. ``"zero"``: such values
            count as zero. A quorum may leave a worker out of the guard round; that worker contributes zeros.
        error_feedback: keep the compression error by parameter, except for codecs that are nearly exact.
        lookup: aggregation points look codes up, for codecs that are given by name.

    All decisions depend only on data that all workers have. Use one object for each worker, and keep its ``state_dict``
    in checkpoints.
    """

    name = "policy"

    def __init__(
        self,
        *,
        workers: int,
        rules: Sequence[Rule] = DEFAULT_RULES,
        warm_up: int = 0,
        not_finite: NotFinite = "mean",
        error_feedback: bool = True,
        lookup: bool = True,
    ) -> None:
        if warm_up < 0:
            raise ConfigurationError(f"Invalid warm_up={warm_up} for codec policy: expected an integer from 0.")
        if not_finite not in _NOT_FINITE:
            raise ConfigurationError(
                f"Invalid not_finite={not_finite!r} for codec policy: expected one of {', '.join(_NOT_FINITE)}."
            )
        self.workers = workers
        self.rules = tuple(rules)
        self.warm_up = warm_up
        self.not_finite: NotFinite = not_finite
        self.error_feedback = error_feedback
        self._codecs = {
            number: for_job(rule.codec, workers=workers, lookup=lookup)
            if isinstance(rule.codec, str | Mapping)
            else rule.codec
            for number, rule in enumerate(self.rules)
        }
        self._codecs[_WARM] = FixedPoint(workers=workers)
        for codec in self._codecs.values():
            if codec.workers < workers:
                raise ConfigurationError(
                    f"Codec {codec.name} of a rule was built for {codec.workers} workers, not for {workers}."
                )
        found = [codec.code_table for codec in self._codecs.values()]
        tables = {table.tobytes(): table for table in found if table is not None}
        if len(tables) > 1:
            raise ConfigurationError(
                "The codecs of this policy have different code tables, and a job has one.", "Use codecs with one table."
            )
        self.code_table: NDArray[np.uint8] | None = next(iter(tables.values()), None)
        # Past sums: the codec of a parameter depends on its last gradients.
        self.traits = CodecTraits(
            needs_all_workers=any(codec.traits.needs_all_workers for codec in self._codecs.values()),
            depends_on_past_sums=True,
            keeps_error_feedback=True,
            stateful=True,
            max_nmse=max(codec.traits.max_nmse for codec in self._codecs.values()),
        )
        self._memory, self._counts = ParameterVectors(), ParameterCounts()
        #: Memories of this worker, also of the codecs of rules; see :func:`lanesum.codecs.parameter_state.memories_of`.
        self.memories = (self._memory, *itertools.chain.from_iterable(map(memories_of, self._codecs.values())))
        # Of each parameter: the density of the union of all workers' last gradients, and the codec that summed them.
        self._density: dict[str, float] = {}
        self._used: dict[str, int] = {}
        self._known: dict[tuple[str, int], tuple[tuple[int, float], ...]] = {}

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`. Error feedback does not change the meaning of words."""
        rules = " ".join(rule.describe(self._codecs[number]) for number, rule in enumerate(self.rules))
        return f"{self.name} workers={self.workers} warm_up={self.warm_up} not_finite={self.not_finite} {rules}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a vector that is one parameter without past all-reduces."""
        if size == 0:
            return ()
        support = RoundShape(LaneOp.OR, -(-min(_SAMPLES, size) // WORD_BITS))
        first = (RoundShape(LaneOp.MAX, 1), *((support,) if len(self._options("", size)) > 1 else ()))
        return *first, *self._codecs[self._choose("", size)].shapes(size)

    def codec_for(self, parameter: str, size: int) -> Codec:
        """Return the codec of the next gradient of ``parameter``, of ``size`` values; the same on all workers."""
        return self._codecs[self._choose(parameter, size)]

    def memory(self, parameter: str) -> Vector | None:
        """Return a copy of the error-feedback memory of ``parameter`` (float32), or None."""
        return self._memory.get(parameter)

    def _choose(self, parameter: str, size: int) -> int:
        if self._counts.of((Part(parameter, 0, size),)) < self.warm_up:
            return _WARM
        density, used = self._density.get(parameter, 1.0), self._used.get(parameter)
        options = self._options(parameter, size)
        return next(number for number, limit in options if density <= limit * (_HYSTERESIS if used == number else 1))

    def _options(self, parameter: str, size: int) -> tuple[tuple[int, float], ...]:
        """Return the codecs of the matching rules, each with its largest density; the last one has no limit."""
        options = self._known.get((parameter, size))
        if options is None:
            fits = [number for number, rule in enumerate(self.rules) if rule.fits(parameter, size)]
            limited = list(itertools.takewhile(lambda number: self.rules[number].limited, fits))
            dense = fits[len(limited)] if len(limited) < len(fits) else _WARM
            options = (*((number, self._max_density(number, dense, size)) for number in limited), (dense, math.inf))
            self._known[parameter, size] = options
        return options

    def _max_density(self, number: int, dense: int, size: int) -> float:
        rule = self.rules[number]
        limit = 1.0 if rule.max_density is None else rule.max_density
        if not rule.if_fewer_bits:
            return limit
        shapes = self._codecs[dense].shapes(size)
        bits = sum(shape.words + shape.result_words for shape in shapes) * WORD_BITS / max(1, size)
        # A value of the union is a word uplink and downlink, and the index is at most a bit of every value.
        return min(limit, max(0.0, (bits / 2 - 1) / WORD_BITS))

    def _sends_zeros(self, number: int) -> bool:
        """Return True if an all-reduce must not add a memory, which has no zeros, to a sparse gradient."""
        return number != _WARM and self.rules[number].limited and not self._remembers(number)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        The first group holds the round ``guard`` (MAX: non-finite parameter), the round ``support`` (OR: nonzero values
        of the parameters that have rules by density, a sample) and the first rounds of all codecs.
        """
        vector = checked_vector(x, context, self.workers)
        if self.error_feedback and context.keep_residual:
            raise CodecError("Codec policy keeps error feedback itself.", "Build it with error_feedback=False.")
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        parts = parts_of(context, vector.size)
        vector, bad = self._finite(vector, parts)
        first = [Round(LaneOp.MAX, np.array([bad], np.uint32), label="guard")]
        sampled = self._sampled(parts, context.round)
        if sampled:
            mask = vector[np.concatenate(list(sampled.values()))] != 0
            first.append(Round(LaneOp.OR, pack_mask(mask), label="support"))
        chosen = {part.key: self._choose(part.key, part.stop - part.start) for part in parts}
        # The memory is independent of the codec that left it. It is not added to a gradient that is sent without its
        # zeros: the codec of dense gradients sums it once apart, and what that leaves waits for the next dense one.
        vector = self._memory.add_to(vector, [part for part in parts if not self._sends_zeros(chosen[part.key])])
        groups: dict[int, list[tuple[Part, Vector]]] = defaultdict(list)
        for part in parts:
            number, size = chosen[part.key], part.stop - part.start
            groups[number].append((part, vector[part.start : part.stop]))
            dense, _ = self._options(part.key, size)[-1]
            # A codec that leaves most of a vector, such as topk, sums the memory every time.
            left = self._remembers(self._used.get(part.key, number)) or self._codecs[dense].traits.max_nmse >= 1
            if left and self._sends_zeros(number) and self._remembers(dense):
                groups[dense].append((part, self._memory.of((Part(part.key, 0, size),), size)))

        running = _Concurrent({number: self._start(number, members, context) for number, members in groups.items()})
        replies = yield running.rounds(first)
        told = checked_words(replies[0], RoundShape(LaneOp.MAX, 1))
        if told[0]:
            running.close()
            return self._refused(parts[min(int(told[0]), len(parts)) - 1].key, vector, context)
        densities: dict[str, float] = {}
        if sampled:
            mask = unpack_mask(checked_words(replies[1], RoundShape(LaneOp.OR, first[1].words.size)), mask.size)
            ends = np.cumsum([at.size for at in sampled.values()])
            densities = {key: float(of.mean()) for key, of in zip(sampled, np.split(mask, ends), strict=False)}
        replies = replies[len(first) :]
        while running.waiting:
            running.resume(replies)
            if running.waiting:
                replies = yield running.rounds()
        self._counts.add(parts)
        self._used.update(chosen)
        self._density.update(densities)
        return self._finish(vector, context, groups, running.results)

    def _sampled(self, parts: Sequence[Part], number: int) -> dict[str, NDArray[np.integer]]:
        """Return the places of a sample of every parameter that has rules by density, in all-reduce ``number``."""
        # Multiples of the golden ratio are spread evenly, and have no period of rows or columns.
        turns = (np.arange(_SAMPLES, dtype=np.uint64) + np.uint64(number * _SAMPLES)) * np.uint64(0x9E3779B1) % 2**32
        sizes = {part: part.stop - part.start for part in parts}
        return {
            part.key: part.start + (np.arange(size) if size <= _SAMPLES else (turns * size >> 32).astype(np.intp))
            for part, size in sizes.items()
            if size and len(self._options(part.key, size)) > 1
        }

    def _finite(self, vector: Vector, parts: Sequence[Part]) -> tuple[Vector, int]:
        """Return the vector to send, and 1 + the index of the last non-finite part, or 0 for none to announce."""
        finite = np.isfinite(vector)
        if finite.all():
            return vector, 0
        if self.not_finite == "zero":
            return np.where(finite, vector, np.float32(0)), 0
        bad = max(number for number, part in enumerate(parts) if not finite[part.start : part.stop].all())
        return np.zeros_like(vector), bad + 1

    def _refused(self, parameter: str, vector: Vector, context: CodecContext) -> Result:
        if self.not_finite != "skip":
            raise (NotFiniteError if self.not_finite == "raise" else UnencodableError)(
                f"The gradient of {parameter!r} has a NaN or an infinity at some worker.",
                'Skip such steps with not_finite="skip", or lower the loss scale.',
            )
        nothing = np.zeros_like(vector)
        return Result(nothing, nothing.copy() if context.keep_residual else None, parameter)

    def _remembers(self, number: int) -> bool:
        traits = self._codecs[number].traits
        return self.error_feedback and not (traits.nearly_exact or traits.keeps_error_feedback)

    def _start(self, number: int, members: Sequence[tuple[Part, Vector]], context: CodecContext) -> Steps:
        inner = replace(
            context,
            tensor=f"{context.tensor}/{number}",
            keep_residual=self._remembers(number) or context.keep_residual,
            in_place=False,
            parts=_side_by_side(members),
        )
        vectors = [vector for _, vector in members]
        return self._codecs[number].all_reduce(vectors[0] if len(vectors) == 1 else np.concatenate(vectors), inner)

    def _finish(
        self,
        vector: Vector,
        context: CodecContext,
        groups: Mapping[int, Sequence[tuple[Part, Vector]]],
        results: Mapping[int, Result],
    ) -> Result:
        values = np.zeros_like(vector)
        residual = np.zeros_like(vector) if context.keep_residual else None
        for number, members in groups.items():
            result, pieces = results[number], _side_by_side(members)
            for (part, _), piece in zip(members, pieces, strict=True):
                # A parameter whose memory is summed apart has two results.
                values[part.start : part.stop] += result.values[piece.start : piece.stop]
                if residual is not None and result.residual is not None:
                    residual[part.start : part.stop] = result.residual[piece.start : piece.stop]
            if self._remembers(number) and result.residual is not None:
                self._memory.keep(result.residual, pieces)
                self._memory.forget([piece for piece in pieces if not piece.key])  # the next one may be another vector
            elif not self._sends_zeros(number):
                self._memory.forget(pieces)
        return Result(values, residual)

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state: this worker's memory, counts, densities, choices, states of codecs."""
        return {
            "codec": self.name,
            "memory": self._memory.state_dict(),
            "counts": self._counts.state_dict(),
            "densities": dict(self._density),
            "used": dict(self._used),
            "codecs": {str(number): codec.state_dict() for number, codec in self._stateful().items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a ``state_dict`` of a policy with the same rules. Raises CodecError if it is invalid."""
        if state.get("codec") != self.name:
            raise CodecError("This is not the state of a policy.", "Load a state_dict of codec 'policy'.")
        stateful = {str(number): codec for number, codec in self._stateful().items()}
        counts = ParameterCounts()
        checked_memory(state.get("memory"))
        counts.load_state_dict(state.get("counts"))
        try:
            density = {str(key): float(one) for key, one in state["densities"].items()}
            used = {str(key): int(one) for key, one in state["used"].items()}
            inner = {str(number): one for number, one in state["codecs"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CodecError(f"This is not the state of a policy: {error!r}.") from error
        if set(inner) != set(stateful) or not set(used.values()) <= set(self._codecs):
            raise CodecError("This state is of a policy with other rules.", "Build the policy with the same rules.")
        for number, codec in stateful.items():
            codec.load_state_dict(inner[number])
        self._memory.load_state_dict(state.get("memory"))
        self._counts, self._density, self._used = counts, density, used

    def _stateful(self) -> dict[int, StatefulCodec]:
        found = {number: as_stateful(codec) for number, codec in self._codecs.items()}
        return {number: codec for number, codec in found.items() if codec is not None}


def _side_by_side(members: Sequence[tuple[Part, Vector]]) -> tuple[Part, ...]:
    """Return the parts of a vector that consists of the ``members`` alone."""
    stops = list(itertools.accumulate(vector.size for _, vector in members))
    return tuple(
        Part(part.key, *ends) for (part, _), ends in zip(members, itertools.pairwise([0, *stops]), strict=True)
    )


class _Concurrent:
    """Steps of several codecs by number, whose rounds are in flight together."""

    def __init__(self, steps: Mapping[int, Steps]) -> None:
        self._steps = steps
        self.waiting: dict[int, Round | RoundGroup] = {}
        self.results: dict[int, Result] = {}
        for number in steps:
            self._advance(number, None)

    def _advance(self, number: int, reply: Aggregate | tuple[Aggregate, ...] | None) -> None:
        """Continue one codec up to its next rounds or its result."""
        self.waiting.pop(number, None)
        try:
            self.waiting[number] = self._steps[number].send(reply)
        except StopIteration as stop:
            self.results[number] = stop.value

    def rounds(self, first: Sequence[Round] = ()) -> RoundGroup:
        """Return the rounds ``first`` and those of all codecs."""
        steps = [step.rounds for step in self.waiting.values()]

        def last() -> bool:
            return all(any(round_.last() for round_ in rounds) for rounds in steps)

        together = (*first, *itertools.chain.from_iterable(steps))
        return RoundGroup(tuple(replace(round_, last=last) for round_ in together))

    def resume(self, replies: Sequence[Aggregate]) -> None:
        """Continue every codec with its replies, which have the order of ``rounds``."""
        left = iter(replies)
        for number, step in list(self.waiting.items()):
            own = tuple(itertools.islice(left, len(step.rounds)))
            self._advance(number, own if isinstance(step, RoundGroup) else own[0])

    def close(self) -> None:
        """End all codecs."""
        for steps in self._steps.values():
            steps.close()


register("policy", Policy, optional_lookup=True)
