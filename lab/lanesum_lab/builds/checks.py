# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks around a Tofino build: sizes of custom profiles before it, and faults without a message after it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum.errors import ConfigurationError, LanesumError
from lanesum_fabric.tofino.chips import CHIPS, PROFILES, SLOTS, TofinoProfile

COMPILER = "p4c-barefoot"

# Without pull request 5753, p4c of 2025 and 2026 loses the select keys of parser states and takes the first branch: the
# program assembles, and parses nothing.
_BLIND_PARSER = "Can't match parser state due to previous match"
# Place of the parser's errors in the assembly: container and bits, if the field is not the whole container.
_PARSER_ERRORS = re.compile(r"ig_intr_md_from_prsr\.parser_err: .*?\((\d+)\.\.")
# Fields that some paths leave unset, which must then be 0.
_UNSET_ON_SOME_PATHS = frozenset({"meta.access", "meta.torn"})
USE_A_NEWER_ONE = "Use p4lang's p4c of September 2026 or later, which has its pull request 5753."


class TofinoCompileError(LanesumError):
    """The compiler refused the program for another reason than resources; the message has its output."""


def check_parser(built: TofinoProfile, output: str) -> None:
    """Raise TofinoCompileError if the compiler dropped branches of the parser."""
    lost = output.count(_BLIND_PARSER)
    if lost:
        raise TofinoCompileError(
            f"{COMPILER} left {lost} branches out of the parsers of profile {built.name}: their states do not "
            "look at the packet.",
            USE_A_NEWER_ONE,
        )


def check_parser_errors(built: TofinoProfile, assembly: str) -> None:
    """Raise TofinoCompileError if the program would read the parser's errors where the parser does not write them.

    The parser writes them from bit 0 of a container; the compiler can place the field above.
    """
    found = _PARSER_ERRORS.search(assembly)
    if found and found[1] != "0":
        raise TofinoCompileError(
            f"{COMPILER} places the parser's errors of profile {built.name} at bit {found[1]} of a container; the chip "
            "writes them from bit 0, so truncated frames would be summed.",
            "Give ig_intr_md_from_prsr.parser_err a container of its own, with @pa_container_size of 16 bits.",
        )


def check_overlays(built: TofinoProfile, context: dict[str, Any]) -> None:
    """Raise TofinoCompileError if a field that some path leaves unset shares bits of a container with another field.

    The compiler lets fields follow each other in a container. Where no action sets the later one, it would be what the
    earlier one left there.
    """
    bits: dict[int, dict[str, int]] = {}
    for stage in context["phv_allocation"]:
        for container in stage["ingress"]:
            fields = bits.setdefault(container["phv_number"], {})
            for part in container["records"]:
                name, mask = part["field_name"], (2 << part["phv_msb"]) - (1 << part["phv_lsb"])
                fields[name] = fields.get(name, 0) | mask
    for fields in bits.values():
        for field in _UNSET_ON_SOME_PATHS & fields.keys():
            others = [name for name, mask in fields.items() if name != field and mask & fields[field]]
            if others:
                raise TofinoCompileError(
                    f"{COMPILER} places {field} of profile {built.name} where {others[0]} was, and some actions leave "
                    "it unset.",
                    f'Add @pa_no_overlay("ingress", "{field}") to p4src/tofino/main.p4.',
                )


def check_counted_entries(built: TofinoProfile, context: dict[str, Any]) -> None:
    """Raise TofinoCompileError if a table that counts each entry has conditions in place of its entries.

    The compiler turns a few constant entries into conditions. These have no memory, so no counter of their own either.
    """
    for table in context["tables"]:
        counts = any(counter["how_referenced"] == "direct" for counter in table.get("statistics_table_refs", ()))
        stages = table["match_attributes"]["stage_tables"] if counts else ()
        if any(stage["stage_table_type"] == "hash_match" and not stage["ways"] for stage in stages):
            raise TofinoCompileError(
                f"{COMPILER} turns the entries of table {table['name']} of profile {built.name} into conditions, which "
                "do not count.",
                "Write COUNT_EACH_ENTRY before the table in p4src.",
            )


_SOURCES = ("shared/repeat.p4", "tofino/sizes.p4")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Supported sizes: 32-bit words of a pass, slots, passes, and maximum slots times passes.

    They are read from the preprocessor conditions of the P4 sources, for ``make tofino-try``.
    """

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
