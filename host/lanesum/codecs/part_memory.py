# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors that a codec remembers by parameter, so that they outlive other buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanesum.codecs.base import CodecError, Part, Vector
from lanesum.codecs.error_feedback import checked_memory


class PartMemory:
    """One float32 vector per parameter, zero where there is none yet; on this worker only."""

    def __init__(self) -> None:
        self._memory: dict[str, Vector] = {}

    def of(self, parts: Sequence[Part], size: int) -> Vector:
        """A new vector of ``size`` values with what is remembered of its ``parts``; raises as :meth:`added`."""
        return self.added(np.zeros(size, np.float32), parts)

    def added(self, vector: Vector, parts: Sequence[Part]) -> Vector:
        """``vector`` plus what is remembered of its ``parts``; itself where that is nothing.

        Raises CodecError where a parameter has another size than its memory.
        """
        known = [part for part in parts if part.key in self._memory]
        if not known:
            return vector
        vector = vector.copy()
        for part in known:
            kept, size = self._memory[part.key], part.stop - part.start
            if kept.size != size:
                raise CodecError(
                    f"Parameter {part.key!r} has {size} values, its memory {kept.size}.",
                    "Load the state of the same model, or start without one.",
                )
            vector[part.start : part.stop] += kept
        return vector

    def get(self, parameter: str) -> Vector | None:
        """A copy of what is remembered of one parameter, or None."""
        kept = self._memory.get(parameter)
        return None if kept is None else kept.copy()

    def keep(self, vector: Vector, parts: Sequence[Part]) -> None:
        """Remember ``vector``, of which the parameters keep copies."""
        for part in parts:
            self._memory[part.key] = vector[part.start : part.stop].copy()

    def forget(self, parts: Sequence[Part]) -> None:
        """Remember these parameters no more; what is not there is no error."""
        for part in parts:
            self._memory.pop(part.key, None)

    def state_dict(self) -> dict[str, Vector]:
        """Copies, for a checkpoint."""
        return {key: kept.copy() for key, kept in self._memory.items()}

    def load_state_dict(self, state: Any) -> None:
        """Take back a ``state_dict``. Raises CodecError, changing nothing, if it is none."""
        self._memory = checked_memory(state)


class PartCounts:
    """How many all-reduces of each parameter have completed; the same on all workers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, parts: Sequence[Part]) -> int:
        """The least of the ``parts``'."""
        return min((self._counts.get(part.key, 0) for part in parts), default=0)

    def add(self, parts: Sequence[Part]) -> None:
        """One more of each."""
        for part in parts:
            self._counts[part.key] = self._counts.get(part.key, 0) + 1

    def state_dict(self) -> dict[str, int]:
        """A copy."""
        return dict(self._counts)

    def load_state_dict(self, state: Any) -> None:
        """Take back a ``state_dict``. Raises CodecError, changing nothing, if it is none."""
        if not isinstance(state, Mapping) or not all(isinstance(one, int) and one >= 0 for one in state.values()):
            raise CodecError("This state does not tell how many all-reduces there were of each parameter.")
        self._counts = {str(key): count for key, count in state.items()}
