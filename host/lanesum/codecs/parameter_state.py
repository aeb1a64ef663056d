# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State that a codec keeps by parameter, so that it does not depend on how parameters are put into buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanesum.codecs.base import Codec, CodecContext, CodecError, Part, Vector
from lanesum.codecs.error_feedback import checked_memory


def parts_of(context: CodecContext, size: int) -> tuple[Part, ...]:
    """Return the parameters of a vector; one with the name of the tensor if they are unknown."""
    return context.parts or (Part(context.tensor, 0, size),)


class ParameterVectors:
    """One float32 vector for each parameter, initially zeros. The vectors differ between workers.

    A vector that is kept counts at once. Or, after :meth:`open`, from :meth:`commit` on; :meth:`drop` returns to the
    one that counts.

    Attributes:
        scale: factor of the loss that the vectors belong to; see :meth:`rescale`.
    """

    def __init__(self) -> None:
        self._vectors: dict[str, Vector] = {}
        self._open: dict[str, Vector | None] = {}
        self.scale = 1.0

    def open(self, key: str) -> None:
        """Let the next vectors of a parameter count from ``commit`` on."""
        self._open.setdefault(key, self._vectors.get(key))

    def commit(self, key: str) -> None:
        """Let the vector that was last kept count."""
        if (kept := self._open.pop(key, None)) is None:
            self._vectors.pop(key, None)
        else:
            self._vectors[key] = kept

    def drop(self, key: str) -> None:
        """Drop the vectors that were kept since ``open``."""
        self._open.pop(key, None)

    def rescale(self, scale: float) -> None:
        """Convert all vectors to a loss times ``scale``."""
        if scale != self.scale:
            factor, self.scale = np.float32(scale / self.scale), scale
            self._vectors = {key: kept * factor for key, kept in self._vectors.items()}
            self._open = {key: None if kept is None else kept * factor for key, kept in self._open.items()}

    def of(self, parts: Sequence[Part], size: int) -> Vector:
        """Return a new vector of ``size`` values with the vectors of its ``parts``; raises as :meth:`add_to`."""
        return self.add_to(np.zeros(size, np.float32), parts)

    def add_to(self, vector: Vector, parts: Sequence[Part]) -> Vector:
        """Return ``vector`` plus the vectors of its ``parts``: ``vector`` itself if there is none.

        Raises CodecError if a parameter has another size than its vector.
        """
        known = [(part, kept) for part in parts if (kept := self._last(part.key)) is not None]
        if not known:
            return vector
        vector = vector.copy()
        for part, kept in known:
            size = part.stop - part.start
            if kept.size != size:
                raise CodecError(
                    f"Parameter {part.key!r} has {size} values, its memory {kept.size}.",
                    "Load the state of the same model, or start without one.",
                )
            vector[part.start : part.stop] += kept
        return vector

    def get(self, parameter: str) -> Vector | None:
        """Return a copy of the vector of one parameter, or None."""
        kept = self._last(parameter)
        return None if kept is None else kept.copy()

    def _last(self, key: str) -> Vector | None:
        """Return the vector that was last kept."""
        return self._open[key] if key in self._open else self._vectors.get(key)

    def keep(self, vector: Vector, parts: Sequence[Part]) -> None:
        """Keep a copy of each part of ``vector``."""
        for part in parts:
            kept = self._open if part.key in self._open else self._vectors
            kept[part.key] = vector[part.start : part.stop].copy()

    def forget(self, parts: Sequence[Part]) -> None:
        """Drop the vectors of these parts. An unknown part is no error."""
        for part in parts:
            if part.key in self._open:
                self._open[part.key] = None
            else:
                self._vectors.pop(part.key, None)

    def state_dict(self) -> dict[str, Vector]:
        """Return copies of the vectors that count for a checkpoint, for a scale of 1."""
        return {key: kept / np.float32(self.scale) for key, kept in self._vectors.items()}

    def load_state_dict(self, state: object) -> None:
        """Replace all vectors by those of a ``state_dict``. Raises CodecError, changing nothing, if it is invalid."""
        self._vectors, self._open, self.scale = checked_memory(state), {}, 1.0


def memories_of(codec: Codec) -> tuple[ParameterVectors, ...]:
    """Return the memories of a codec that keeps error feedback by parameter itself: its attribute ``memories``."""
    found: tuple[ParameterVectors, ...] = getattr(codec, "memories", ())
    return found


class ParameterCounts:
    """Number of completed all-reduces of each parameter, the same on all workers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, parts: Sequence[Part]) -> int:
        """Return the minimum over the ``parts``."""
        return min((self._counts.get(part.key, 0) for part in parts), default=0)

    def add(self, parts: Sequence[Part]) -> None:
        """Count one all-reduce of each part."""
        for part in parts:
            self._counts[part.key] = self._counts.get(part.key, 0) + 1

    def state_dict(self) -> dict[str, int]:
        """Return a copy for a checkpoint."""
        return dict(self._counts)

    def load_state_dict(self, state: Any) -> None:
        """Replace the counts by those of a ``state_dict``. Raises CodecError, changing nothing, if it is invalid."""
        if not isinstance(state, Mapping) or not all(isinstance(one, int) and one >= 0 for one in state.values()):
            raise CodecError("This state has no counts of the all-reduces of each parameter.")
        self._counts = {str(key): count for key, count in state.items()}
