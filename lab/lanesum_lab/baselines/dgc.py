# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``dgc``: Deep Gradient Compression (Lin et al., ICLR 2018): the largest values, with momentum correction.

The selected values are summed as those of ``topk`` are, not gathered as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Result, RoundShape, Steps, Vector
from lanesum.codecs.error_feedback import checked_memory
from lanesum.codecs.parameter_state import ParameterCounts, ParameterVectors, parts_of
from lanesum.codecs.registry import register
from lanesum.codecs.sparse.methods import TopK
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_steps import checked_workers, finite_vector

# Number of densities of the warm-up: the fifth root of the last one, the square of that root, and so on.
_LEVELS = 5


class DGC:
    """Largest values of an accumulated gradient. Each worker keeps two vectors by parameter: a velocity u and unsent
    values v. For a gradient g::

        u = momentum * u + g          (nesterov: u = momentum * (u + g))
        v = v + u                     (nesterov: v = v + u + g)

    The largest values of v are sent, a share of ``density``. There v and u become zero (momentum factor masking). In
    the first ``warm_up`` all-reduces of a parameter the density falls in four steps: density**(1/5), density**(2/5) and
    so on. ``codec``: see ``topk``.

    The optimizer must have no momentum: use plain SGD, or ``momentum=0``. The vector v is the error feedback. Use one
    object for each worker, and keep its ``state_dict`` in checkpoints. Jobs with a quorum are refused.
    """

    name = "dgc"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(needs_all_workers=True, depends_on_past_sums=True, keeps_error_feedback=True, stateful=True)

    def __init__(
        self,
        *,
        workers: int,
        density: float = 0.001,
        momentum: float = 0.9,
        nesterov: bool = False,
        warm_up: int = 0,
        codec: str = "auto",
    ) -> None:
        if not 0 < density <= 1:
            raise ConfigurationError(f"Invalid density={density} for codec dgc: expected 0 < density <= 1.")
        if not 0 <= momentum < 1:
            raise ConfigurationError(f"Invalid momentum={momentum} for codec dgc: expected 0 <= momentum < 1.")
        if warm_up < 0:
            raise ConfigurationError(f"Invalid warm_up={warm_up} for codec dgc: expected an integer from 0.")
        self.workers = checked_workers(self.name, workers)
        self.density = density
        self.momentum = momentum
        self.nesterov = nesterov
        self.warm_up = warm_up
        # The selection at each density.
        self._levels = [
            TopK(workers=workers, density=density ** (level / _LEVELS) if level < _LEVELS else density, codec=codec)
            for level in range(1, _LEVELS + 1)
        ]
        self.codec = self._levels[-1].codec
        self._velocity, self._unsent, self._counts = ParameterVectors(), ParameterVectors(), ParameterCounts()
        #: Memories of this worker; see :func:`lanesum.codecs.parameter_state.memories_of`.
        self.memories = (self._velocity, self._unsent)

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`. The selection does not change the meaning of words."""
        return f"{self.name} {self.codec.describe()}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of the inner codec."""
        return self.codec.shapes(size)

    def density_at(self, step: int) -> float:
        """Return the share of values that is sent after ``step`` all-reduces."""
        return self._level(step).density

    def _level(self, step: int) -> TopK:
        return self._levels[(_LEVELS - 1) * step // self.warm_up if step < self.warm_up else -1]

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: the rounds of the inner codec."""
        vector = finite_vector(x, context, self.workers)
        if context.keep_residual:
            raise CodecError("Codec dgc keeps error feedback itself.", "Use it without error feedback.")
        parts = parts_of(context, vector.size)
        with np.errstate(over="ignore"):  # infinities raise below
            velocity = np.float32(self.momentum) * self._velocity.of(parts, vector.size) + vector
            if self.nesterov:
                velocity += np.float32(self.momentum - 1) * vector
            unsent = self._unsent.of(parts, vector.size) + velocity
            if self.nesterov:
                unsent += vector
        if not np.isfinite(unsent).all():
            raise CodecError(
                f"The unsent values of tensor {context.tensor!r} exceed float32.", "Lower the learning rate."
            )
        mask = self._level(self._counts.of(parts)).kept(unsent)
        sent = np.where(mask, unsent, np.float32(0))
        result: Result = yield from self.codec.all_reduce(sent, replace(context, keep_residual=True))
        assert result.residual is not None
        self._unsent.keep(np.where(mask, result.residual, unsent), parts)
        self._velocity.keep(np.where(mask, np.float32(0), velocity), parts)
        self._counts.add(parts)
        return Result(result.values)

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state: this worker's u and v, counts, and the state of the inner codec."""
        return {
            "codec": self.name,
            "velocity": self._velocity.state_dict(),
            "unsent": self._unsent.state_dict(),
            "counts": self._counts.state_dict(),
            "inner": self.codec.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a ``state_dict``. Raises CodecError, changing nothing, if it is invalid."""
        if state.get("codec") != self.name or not isinstance(state.get("inner"), Mapping):
            raise CodecError("This is not the state of codec 'dgc'.", "Load a state_dict of codec 'dgc'.")
        counts = ParameterCounts()
        for name in ("velocity", "unsent"):
            checked_memory(state.get(name))
        counts.load_state_dict(state.get("counts"))
        self.codec.load_state_dict(state["inner"])
        self._velocity.load_state_dict(state.get("velocity"))
        self._unsent.load_state_dict(state.get("unsent"))
        self._counts = counts


register("dgc", DGC)
