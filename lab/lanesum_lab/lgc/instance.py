# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Base of both instances of learned compression: phases, positions, and the distribution of the autoencoder."""

from __future__ import annotations

import abc
import zlib
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    CodecContext,
    CodecError,
    Part,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
    Words,
)
from lanesum.codecs.checks import summed
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.parameter_state import ParameterCounts, parts_of
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import WORD_BYTES
from lanesum_lab.codec_steps import checked_workers, finite_vector, followed, watched
from lanesum_lab.lgc.latents import Guard, LatentCodes
from lanesum_lab.lgc.network import WINDOW, Architecture, Autoencoder
from lanesum_lab.lgc.phases import Phase, PhaseBytes, PhaseSchedule
from lanesum_lab.lgc.selection import Selection, SelectionLayout
from lanesum_lab.lgc.training import AutoencoderTrainer, TrainingSample

#: Vectors with fewer selected values than one window are sent without the autoencoder.
MIN_VALUES = WINDOW
#: Defaults. ``lgc-server`` has latents of its own.
DENSITY, WARM_UP, TRAINING, WIDTH, GUARD, PASSES = 0.01, 20, 60, 16, 0.5, 20
# Many coarse latents lose less than few fine ones with as many bits: the values of the other workers at the leader's
# positions are nearly noise.
_CHANNELS, _LATENT_BITS = 12, 5
# Number of the worker that trains.
_TRAINER = 0

#: Mean of the selected values, and the decoding of this worker's own words, both float32.
Exchanged = tuple[Vector, Vector]
#: Rounds that exchange the selected values. The type of a reply cannot depend on the yielded value.
Exchange: TypeAlias = Generator[Round | RoundGroup, Any, Exchanged]


class LGC(abc.ABC):
    """Base of both instances.

    Args:
        density: share of the values of each parameter that is selected, rounded up.
        warm_up: number of dense all-reduces of a parameter.
        training: number of all-reduces after them that train the autoencoder.
        channels: latents for 16 values.
        guard: see :class:`lanesum_lab.lgc.latents.Guard`.
        passes: training steps of each training all-reduce.

    The positions are those of the largest values of a leader, another worker in each all-reduce. One worker trains.
    When the first parameter is compressed, that worker sends the autoencoder to all, as float32 words. The autoencoder
    does not change afterwards. Use error feedback, one object for each worker, and ``state_dict`` in checkpoints.
    """

    name = ""
    code_table: NDArray[np.uint8] | None = None
    # All workers: positions and values of different workers do not fit together. Past sums: rounds depend on the phase
    # and on the autoencoder.
    traits = CodecTraits(needs_all_workers=True, depends_on_past_sums=True, stateful=True)
    #: Decoders of one autoencoder.
    _heads = 1

    def __init__(
        self,
        *,
        workers: int,
        density: float = DENSITY,
        warm_up: int = WARM_UP,
        training: int = TRAINING,
        channels: int = _CHANNELS,
        width: int = WIDTH,
        latent_bits: int = _LATENT_BITS,
        guard: float = GUARD,
        passes: int = PASSES,
    ) -> None:
        if not 0 < density <= 1:
            raise ConfigurationError(f"Invalid density={density} for codec {self.name}: expected 0 < density <= 1.")
        if passes < 1:
            raise ConfigurationError(f"Invalid passes={passes} for codec {self.name}: expected an integer from 1.")
        self.workers = checked_workers(self.name, workers)
        self.density = density
        self.schedule = PhaseSchedule(warm_up, training)
        self.architecture = Architecture(channels, width, self._heads)
        self.latent_bits = latent_bits
        self.latents = LatentCodes(latent_bits, self._latent_workers(workers))
        self.guard = Guard(guard)
        self.passes = passes
        # The imports of training take seconds. In an all-reduce the other workers would wait for them.
        AutoencoderTrainer(self.architecture, passes)
        #: Bytes of this worker by phase.
        self.bytes = {phase: PhaseBytes() for phase in Phase}
        self._exact = FixedPoint(workers=workers, gathered=0)
        self._counts = ParameterCounts()
        self._sizes: dict[str, int] = {}
        self._loaded = False
        self._trainer: AutoencoderTrainer | None = None
        self._network: Autoencoder | None = None

    def _latent_workers(self, workers: int) -> int:
        """Return the number of workers whose latents are added."""
        return workers

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`. ``passes`` does not change the meaning of words."""
        schedule, shape = self.schedule, self.architecture
        return (
            f"{self.name} workers={self.workers} density={self.density} warm_up={schedule.warm_up} "
            f"training={schedule.training} channels={shape.channels} width={shape.width} "
            f"latent_bits={self.latent_bits} guard={self.guard.limit}"
        )

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of a new parameter: those of ``fixed`` if there is a warm-up."""
        if size == 0:
            return ()
        if self.schedule.warm_up:
            return self._exact.shapes(size)
        layout = SelectionLayout.of((Part("", 0, size),), self.density)
        return *self._announced(layout, 0), *self._training_shapes(layout.size)

    @abc.abstractmethod
    def _training_shapes(self, selected: int) -> tuple[RoundShape, ...]:
        """Return the rounds of ``selected`` values in the training phase."""

    @property
    def network(self) -> Autoencoder | None:
        """The autoencoder, once all workers have it."""
        return self._network

    def phase(self, parameter: str) -> Phase:
        """Return the phase of the next all-reduce of a parameter."""
        return self.schedule.phase(self._counts.of((Part(parameter, 0, 0),)))

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`. The rounds depend on the phase."""
        vector = finite_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        parts = parts_of(context, vector.size)
        self._check_model(parts)
        step = self._counts.of(parts)
        phase = self.schedule.phase(step)
        layout = SelectionLayout.of(parts, self.density)
        if phase is Phase.COMPRESSED and layout.size < MIN_VALUES:
            phase = Phase.TRAINING
        counted = PhaseBytes(all_reduces=1, values=vector.size)
        result = yield from watched(self._steps(vector, context, layout, step, phase, counted), counted.count)
        self.bytes[phase].add(counted)
        self._counts.add(parts)
        self._sizes.update({part.key: part.stop - part.start for part in parts})
        return result

    def _check_model(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            known = self._sizes.get(part.key)
            if known != part.stop - part.start and (known is not None or self._loaded):
                has = "is not among its parameters" if known is None else f"had {known} values"
                raise CodecError(
                    f"This autoencoder was trained on another model: {part.key!r}, of {part.stop - part.start} values, "
                    f"{has}.",
                    "Load the checkpoint of this model, or start without one.",
                )

    def _steps(
        self,
        vector: Vector,
        context: CodecContext,
        layout: SelectionLayout,
        step: int,
        phase: Phase,
        counted: PhaseBytes,
    ) -> Steps:
        inner = replace(context, parts=(), average=True)
        if phase is Phase.DENSE:
            dense: Result = yield from self._exact.all_reduce(vector, replace(inner, average=context.average))
            return dense
        if phase is Phase.COMPRESSED and self._network is None:
            yield from self._share(context, counted)
        leader = step % context.workers
        selection, extra = yield from self._announce(vector, context, layout, step, phase, leader)
        sent = vector[selection.positions]
        if phase is Phase.TRAINING:
            mean, decoded = yield from self._train(sent, inner, selection, leader, layout.size >= MIN_VALUES)
        else:
            assert self._network is not None
            found = yield from self._compress(sent, inner, selection, leader, extra, self._network)
            counted.fallbacks += found is None
            mean, decoded = found or (yield from self._uncompressed(sent, inner))
        values = np.zeros_like(vector)
        values[selection.positions] = mean if context.average else mean * np.float32(context.workers)
        if not context.keep_residual:
            return Result(values)
        residual = vector.copy()
        residual[selection.positions] -= decoded
        return Result(values, residual)

    def _share(self, context: CodecContext, counted: PhaseBytes) -> Generator[Round, Any, None]:
        """Distribute the parameters of the trained autoencoder to all workers."""
        words = np.zeros(self.architecture.size, np.uint32)
        if context.worker == _TRAINER:
            trained = Autoencoder(self.architecture, self._own_trainer().parameters)
            words[:] = trained.flat.view(np.uint32)
        counted.network_bytes += words.size * WORD_BYTES
        reply = yield Round(LaneOp.OR, words, label="autoencoder")
        trained_words = summed(reply, RoundShape(LaneOp.OR, words.size), context)
        self._network = Autoencoder(self.architecture, self.architecture.split(trained_words.view(np.float32).copy()))
        self._trainer = None

    def _announced(self, layout: SelectionLayout, extra: int) -> tuple[RoundShape, RoundShape]:
        return RoundShape(LaneOp.OR, layout.words + extra), RoundShape(LaneOp.MAX, 2)

    def _announce(
        self, vector: Vector, context: CodecContext, layout: SelectionLayout, step: int, phase: Phase, leader: int
    ) -> Generator[RoundGroup, Any, tuple[Selection, Words]]:
        """Distribute the leader's positions, and the additional words that the instance requires."""
        extra = self._extra_words(layout.size) if phase is Phase.COMPRESSED else 0
        shapes = self._announced(layout, extra)
        words = np.zeros(shapes[0].words, np.uint32)
        if context.worker == leader:
            selection = layout.select(vector)
            words[: layout.words] = layout.encode(selection)
            if extra:
                words[layout.words :] = self._extra(vector, selection)
        network = 0 if self._network is None else self._network.check
        check = zlib.crc32(repr((step, phase.value, layout.counts, network)).encode())
        checks = np.array([check, check ^ 0xFFFFFFFF], np.uint32)
        group = (Round(LaneOp.OR, words, label="positions"), Round(LaneOp.MAX, checks, label="check"))
        replies = yield RoundGroup(group)
        announced, checked = (summed(reply, shape, context) for reply, shape in zip(replies, shapes, strict=True))
        if not (checked == checks).all():
            raise CodecError(
                f"The workers have different histories of tensor {context.tensor!r}, or different autoencoders.",
                "Load the same checkpoint on all of them, or none, and reduce the same tensors in the same order.",
            )
        return layout.decode(announced[: layout.words]), announced[layout.words :]

    def _extra_words(self, selected: int) -> int:
        """Return the number of words of the leader's values that are sent with the positions."""
        return 0

    def _extra(self, vector: Vector, selection: Selection) -> Words:
        """Return these words on the leader."""
        raise NotImplementedError

    @abc.abstractmethod
    def _train(self, sent: Vector, context: CodecContext, selection: Selection, leader: int, learn: bool) -> Exchange:
        """Sum the selected values ``sent``, and train on them on one worker."""

    @abc.abstractmethod
    def _compress(
        self, sent: Vector, context: CodecContext, selection: Selection, leader: int, extra: Words, network: Autoencoder
    ) -> Generator[Any, Any, tuple[Vector, Vector] | None]:
        """Return the mean of the values through the autoencoder; None if the guard refuses it."""

    def _uncompressed(self, sent: Vector, context: CodecContext) -> Exchange:
        """Sum the selected values by ``fixed``: for training, and if the guard trips.

        The next all-reduce starts after their sums are complete. Otherwise the training would depend on timing.
        """
        result: Result = yield from followed(self._exact.all_reduce(sent, context))
        return result.values, sent if result.residual is None else sent - result.residual

    def _own_trainer(self) -> AutoencoderTrainer:
        if self._trainer is None:
            self._trainer = AutoencoderTrainer(self.architecture, self.passes)
        return self._trainer

    def _learn(self, context: CodecContext, sample: TrainingSample) -> None:
        if context.worker == _TRAINER and self._network is None:
            self._own_trainer().learn(sample)

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state: the autoencoder (arrays), the phase of each parameter, and bytes so far.

        It is the same on all workers but the one that trains, whose state includes optimizer and training samples.
        """
        shape, network = self.architecture, self._network
        return {
            "codec": self.name,
            "architecture": [shape.channels, shape.width, shape.heads],
            "counts": self._counts.state_dict(),
            "sizes": dict(self._sizes),
            "network": None if network is None else {name: one.copy() for name, one in network.parameters.items()},
            "trainer": None if self._trainer is None else self._trainer.state_dict(),
            "bytes": {phase.value: one.as_dict() for phase, one in self.bytes.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a ``state_dict``. Raises CodecError, changing nothing, if it does not fit this codec.

        Afterwards vectors whose parameters differ from those of the checkpoint raise CodecError.
        """
        if state.get("codec") != self.name:
            raise CodecError(f"This is not the state of codec {self.name!r}.", "Load a state_dict of this codec.")
        shape = self.architecture
        if list(state.get("architecture") or ()) != [shape.channels, shape.width, shape.heads]:
            raise CodecError(
                f"This autoencoder has channels, width and heads {state.get('architecture')}, not "
                f"{[shape.channels, shape.width, shape.heads]}.",
                "Build the codec with those of the checkpoint, or start without it.",
            )
        counts, trainer, network = ParameterCounts(), None, None
        counts.load_state_dict(state.get("counts"))
        try:
            sizes = {str(key): int(one) for key, one in state["sizes"].items()}
            sent = {Phase(name): PhaseBytes(**one) for name, one in state["bytes"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CodecError(f"This state of codec {self.name!r} is incomplete: {error!r}.") from error
        if state.get("network") is not None:
            network = Autoencoder(shape, shape.checked(state["network"]))
        if state.get("trainer") is not None:
            trainer = AutoencoderTrainer(shape, self.passes)
            trainer.load_state_dict(state["trainer"])
        self._counts, self._sizes, self._loaded = counts, sizes, True
        self._trainer, self._network = trainer, network
        self.bytes = {phase: sent.get(phase, PhaseBytes()) for phase in Phase}
