# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of a policy: the codec for each parameter."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError


@dataclass(frozen=True)
class Rule:
    """Codec for all parameters that match.

    Attributes:
        codec: name of a registered codec, or a codec object.
        names: shell pattern of the parameter's name.
        min_size, max_size: number of values of the parameter; ``max_size`` None for no limit.
        max_density: limit of the share of nonzero values, the largest of all workers in the last gradient; None for no
            limit. The density of a parameter's first gradient counts as 1.
    """

    codec: str | Codec
    names: str = "*"
    min_size: int = 0
    max_size: int | None = None
    max_density: float | None = None

    def __post_init__(self) -> None:
        if self.max_size is not None and self.max_size < self.min_size:
            raise ConfigurationError(f"Invalid rule: min_size={self.min_size} is larger than max_size={self.max_size}.")
        if self.max_density is not None and not 0 <= self.max_density <= 1:
            raise ConfigurationError(f"Invalid max_density={self.max_density}: expected a number from 0 to 1.")

    def fits(self, name: str, size: int, density: float) -> bool:
        """Return True if the parameter ``name`` with this size and density matches."""
        return (
            fnmatch.fnmatchcase(name, self.names)
            and self.min_size <= size
            and (self.max_size is None or size <= self.max_size)
            and (self.max_density is None or density <= self.max_density)
        )

    def describe(self, codec: Codec) -> str:
        """Return the description of this rule with its ``codec`` object, in one line."""
        return (
            f"[{self.names} {self.min_size}..{'' if self.max_size is None else self.max_size} "
            f"density<={'1' if self.max_density is None else repr(self.max_density)}: {codec.describe()}]"
        )


#: Small and sparse parameters nearly exactly, all others with 4 bits per value.
DEFAULT_RULES: Sequence[Rule] = (Rule("fixed", max_size=4096), Rule("auto", max_density=0.05), Rule("thc"))
