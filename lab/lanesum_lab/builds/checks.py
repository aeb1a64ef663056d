# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a Tofino build for faults that the compiler makes without a message."""

from __future__ import annotations

import re
from typing import Any

from lanesum.errors import LanesumError
from lanesum_fabric.tofino.profiles import TofinoProfile

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
