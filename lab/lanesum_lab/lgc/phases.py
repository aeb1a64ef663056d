# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of learned compression, and counts of their bytes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lanesum.codecs.base import Round
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES


class Phase(enum.Enum):
    """Phase of one parameter, the same on all workers."""

    #: All values are summed by ``fixed``.
    DENSE = "dense"
    #: The values at the leader's positions are summed by ``fixed``, and the autoencoder is trained on them.
    TRAINING = "training"
    #: The values at the leader's positions are summed through the autoencoder.
    COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True)
class PhaseSchedule:
    """Numbers of all-reduces of a parameter in the dense phase (``warm_up``) and in the training phase."""

    warm_up: int
    training: int

    def __post_init__(self) -> None:
        if self.warm_up < 0 or self.training < 1:
            raise ConfigurationError(
                f"Invalid warm_up={self.warm_up} or training={self.training}: expected integers from 0 and from 1."
            )

    def phase(self, step: int) -> Phase:
        """Return the phase after ``step`` all-reduces."""
        if step < self.warm_up:
            return Phase.DENSE
        return Phase.TRAINING if step < self.warm_up + self.training else Phase.COMPRESSED


@dataclass(slots=True)
class PhaseBytes:
    """Bytes of payload that one worker has sent and received in a phase.

    Attributes:
        values: number of values of their vectors.
        bytes_up, bytes_down: uplink words, and accumulator words, in bytes.
        fallbacks: number of all-reduces in which the guard refused the autoencoder.
        network_bytes: share of ``bytes_up`` that distributed the autoencoder; the same share of ``bytes_down``.
    """

    all_reduces: int = 0
    values: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    fallbacks: int = 0
    network_bytes: int = 0

    def count(self, round_: Round) -> None:
        """Add a round."""
        self.bytes_up += round_.words.size * WORD_BYTES
        self.bytes_down += round_.result_words * WORD_BYTES

    def add(self, other: PhaseBytes) -> None:
        """Add the counts of ``other``."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, int]:
        """Return all counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}
