# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The phases of learned compression, and what each of them sends."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from lanesum.codecs.base import Round, RoundGroup
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES


class Phase(enum.Enum):
    """Of one parameter; the same on all workers."""

    #: All values, by ``fixed``.
    DENSE = "dense"
    #: The values at the leader's places, by ``fixed``, while the autoencoder learns from them.
    TRAINING = "training"
    #: The same through the autoencoder.
    COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True)
class Schedule:
    """``warm_up`` all-reduces of a parameter are dense, then ``training`` ones train the autoencoder."""

    warm_up: int
    training: int

    def __post_init__(self) -> None:
        if self.warm_up < 0 or self.training < 1:
            raise ConfigurationError(
                f"There is no schedule of {self.warm_up} dense and {self.training} training all-reduces.",
                "Give warm_up=0 or more, and training=1 or more.",
            )

    def phase(self, step: int) -> Phase:
        """After ``step`` all-reduces."""
        if step < self.warm_up:
            return Phase.DENSE
        return Phase.TRAINING if step < self.warm_up + self.training else Phase.COMPRESSED


@dataclass(slots=True)
class PhaseBytes:
    """What one worker has sent and received in a phase: payload, without headers.

    Attributes:
        all_reduces: that have completed.
        values: in their vectors.
        bytes_up, bytes_down: words sent, and words of the sums.
        fallbacks: all-reduces in which the guard kept the autoencoder out.
        network_bytes: of ``bytes_up``, those that brought the autoencoder to all workers; as many down.
    """

    all_reduces: int = 0
    values: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    fallbacks: int = 0
    network_bytes: int = 0

    def count(self, yielded: Round | RoundGroup) -> None:
        """Add what a codec has yielded."""
        for one in yielded.rounds if isinstance(yielded, RoundGroup) else (yielded,):
            self.bytes_up += one.words.size * WORD_BYTES
            self.bytes_down += one.result_words * WORD_BYTES

    def add(self, other: PhaseBytes) -> None:
        """Add another's."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {name: getattr(self, name) for name in self.__slots__}
