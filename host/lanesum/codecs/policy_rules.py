# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of a policy: the codec for each parameter."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from lanesum.codecs.base import Codec
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError


@dataclass(frozen=True)
class Rule:
    """Codec for all parameters that match.

    Attributes:
        codec: name of a registered codec, also with parameters such as ``thc error=0.01``, or a codec object.
        names: shell pattern of the parameter's name.
        min_size, max_size: number of values of the parameter; ``max_size`` None for no limit.
        max_density: limit of the density, the share of values that were nonzero at some worker in the last gradient;
            None for no limit. The density before the first gradient counts as 1.
        if_fewer_bits: only up to the density with which a sparse ``codec`` sends fewer bits, uplink and downlink
            together, than that of the first matching rule without a limit.
    """

    codec: CodecSpec | Codec
    names: str = "*"
    min_size: int = 0
    max_size: int | None = None
    max_density: float | None = None
    if_fewer_bits: bool = False

    def __post_init__(self) -> None:
        if self.max_size is not None and self.max_size < self.min_size:
            raise ConfigurationError(f"Invalid rule: min_size={self.min_size} is larger than max_size={self.max_size}.")
        if self.max_density is not None and not 0 <= self.max_density <= 1:
            raise ConfigurationError(f"Invalid max_density={self.max_density}: expected a number from 0 to 1.")

    @property
    def limited(self) -> bool:
        """True if the rule depends on the density."""
        return self.if_fewer_bits or self.max_density is not None

    def fits(self, name: str, size: int) -> bool:
        """Return True if the parameter ``name`` with this size matches, with some density."""
        return (
            fnmatch.fnmatchcase(name, self.names)
            and self.min_size <= size
            and (self.max_size is None or size <= self.max_size)
        )

    def describe(self, codec: Codec) -> str:
        """Return the description of this rule with its ``codec`` object, in one line."""
        return (
            f"[{self.names} {self.min_size}..{'' if self.max_size is None else self.max_size} "
            f"density<={'1' if self.max_density is None else repr(self.max_density)}"
            f"{' if fewer bits' if self.if_fewer_bits else ''}: {codec.describe()}]"
        )


#: Small and sparse parameters nearly exactly, all others with 4 bits per value.
DEFAULT_RULES: Sequence[Rule] = (Rule("fixed", max_size=4096), Rule("auto", if_fewer_bits=True), Rule("thc"))
