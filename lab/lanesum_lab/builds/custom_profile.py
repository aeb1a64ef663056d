# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Custom profiles: sizes for ``make tofino-try``, checked before compiling.

The supported sizes are read from the preprocessor conditions of the P4 sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino.profiles import CHIPS, PROFILES, SLOTS, TofinoProfile

_SOURCES = ("shared/repeat.p4", "tofino/sizes.p4")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Supported sizes: 32-bit words of a pass, slots, passes, and maximum slots times passes."""

    words: tuple[int, ...]
    slots: tuple[int, ...]
    passes: tuple[int, ...]
    blocks: int

    @classmethod
    def of(cls, p4src: Path) -> Sizes:
        """Read the sizes from the sources in ``p4src``."""
        text = "\n".join((p4src / name).read_text() for name in _SOURCES)

        def sizes(macro: str) -> tuple[int, ...]:
            return tuple(
                sorted(int(size) for size in re.findall(rf"^#(?:el)?if {macro} == (\d+)$", text, re.MULTILINE))
            )

        (blocks,) = re.findall(r"^#if SLOTS \* PASSES > (\d+)$", text, re.MULTILINE)
        return cls(sizes("ACCUMULATOR_WORDS"), sizes("SLOTS"), sizes("PASSES"), int(blocks))


def custom_profile(chip: str, words: int, slots: int | None, passes: int, p4src: Path) -> TofinoProfile:
    """Return the profile with these sizes; a committed one keeps its name.

    Args:
        chip: ``tofino1`` or ``tofino2``.
        words: accumulator words of a packet, in all passes together.
        slots: slots of a pipe; None for those of one pass divided by the passes.
        passes: pipeline passes of a contribution.

    Raises ConfigurationError for sizes that the sources do not support.
    """
    there = Sizes.of(p4src)
    if chip not in CHIPS:
        raise ConfigurationError(f"There is no chip {chip!r}.", f"Known: {', '.join(CHIPS)}.")
    _check("passes", passes, there.passes)
    if words % passes:
        raise ConfigurationError(
            f"{words} words cannot be divided by {passes} passes.",
            f"Give a multiple of {passes}.",
        )
    _check("words a pass", words // passes, there.words)
    if slots is None:
        slots = SLOTS // passes
    _check("slots", slots, there.slots)
    if slots * passes > there.blocks:
        raise ConfigurationError(
            f"{slots:,} slots in {passes} passes are {slots * passes:,} blocks of words, and an entry's place has bits "
            f"for {there.blocks:,}.",
            f"Give {there.blocks // passes:,} slots or fewer.",
        )
    for kept in PROFILES:
        if (kept.chip, kept.accumulator_words, kept.slots, kept.passes) == (CHIPS[chip], words, slots, passes):
            return kept
    return TofinoProfile(f"{chip}-w{words}-s{slots}-p{passes}", CHIPS[chip], words, slots, passes)


def _check(what: str, given: int, there: tuple[int, ...]) -> None:
    if given not in there:
        raise ConfigurationError(
            f"The sources have no code for {given} {what}.", f"There is code for {', '.join(map(str, there))}."
        )
