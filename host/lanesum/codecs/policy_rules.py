# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which codec is for which parameter."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError


@dataclass(frozen=True)
class Rule:
    """``codec`` (a name, or an object of one's own) for the parameters that fit all of this.

    Attributes:
        names: pattern of the parameter's name, as in a shell.
        min_size, max_size: values of the parameter; ``max_size`` None for any number.
        max_density: share of values other than zero, the largest of any worker's last gradient; None for any, and a
            parameter's first gradient has all of them.
    """

    codec: str | Codec
    names: str = "*"
    min_size: int = 0
    max_size: int | None = None
    max_density: float | None = None

    def __post_init__(self) -> None:
        if self.max_size is not None and self.max_size < self.min_size:
            raise ConfigurationError(f"No parameter has {self.min_size} to {self.max_size} values.")
        if self.max_density is not None and not 0 <= self.max_density <= 1:
            raise ConfigurationError(f"A density of {self.max_density} is not between 0 and 1.")

    def fits(self, name: str, size: int, density: float) -> bool:
        """Whether this rule is for a parameter with these."""
        return (
            fnmatch.fnmatchcase(name, self.names)
            and self.min_size <= size
            and (self.max_size is None or size <= self.max_size)
            and (self.max_density is None or density <= self.max_density)
        )

    def describe(self, codec: Codec) -> str:
        """One line; ``codec``: the rule's, built."""
        return (
            f"[{self.names} {self.min_size}..{'' if self.max_size is None else self.max_size} "
            f"density<={'1' if self.max_density is None else repr(self.max_density)}: {codec.describe()}]"
        )


#: Small parameters as they are, sparse ones exactly, all others in 4 bits.
DEFAULT_RULES: Sequence[Rule] = (Rule("fixed", max_size=4096), Rule("auto", max_density=0.05), Rule("thc"))
