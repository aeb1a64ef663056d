# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check that a file for a chip's agent belongs to the profile whose P4Info the controller pushes with it.

An agent accepts any file, and uses the numbers of the P4Info: with the binary of another build they mean other tables.
So the file is compared with the committed build.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino.chips import PIPES
from lanesum_fabric.tofino.device_config import Compiled
from lanesum_fabric.tofino.resources import REPORT, Resources, measure, read_report

# Bits of a table id that number the table; the others are its kind.
_NUMBER = 0xFFFFFF


def repeatable(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove from ``schema``, in place, the differences between builds of the same program.

    The compiler orders snapshots of ingress and egress by the addresses of objects; the first one gives its number to
    the table that configures both. Raises KeyError for any other JSON.
    """
    schema.pop("build_date", None)
    tables = schema.get("tables", [])
    places = [i for i, table in enumerate(tables) if table["name"].startswith("pipe.snapshot.")]
    found = [tables[i] for i in places]
    ordered = sorted(found, key=lambda table: (".cfg" not in table["name"], ".egress_" in table["name"]))
    for i, table in zip(places, ordered, strict=True):
        tables[i] = table
    if ordered:
        configuring, first = ordered[:2]
        configuring["id"] = configuring["id"] & ~_NUMBER | first["id"] & _NUMBER
        configuring["depends_on"] = [table["id"] for table in ordered if table["name"].endswith("_trigger")]
    return schema


# Errors of reading JSON that compiler and assembler did not write.
_NOT_AS_WRITTEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def check_device_config(data: bytes, profile: str, folder: Path, source: Path) -> Compiled:
    """Compare ``data``, read from ``source``, with the build of ``profile`` in ``folder``; return it unpacked.

    Its ``context.json`` must match the resource report of the profile, and its bf-rt description, if the format has
    one, the committed one. Raises ConfigurationError, which names the profile of ``data`` if it is another one.
    """
    try:
        compiled = Compiled.unpack(data)
    except ConfigurationError as error:
        raise ConfigurationError(f"Device config {source}: {error.what}", error.next_step) from None
    beyond = [pipe for pipe in compiled.pipes if pipe not in range(PIPES)]
    if beyond:
        raise ConfigurationError(
            f"Device config {source} runs on pipe {beyond[0]}, but a chip has pipes 0 to {PIPES - 1}.",
            "Build it again: make tofino.",
        )
    found = _resources_of(compiled, source)
    reports = read_report(folder / REPORT)
    if found != reports[profile]:
        _refuse(found, reports, profile, source)
    if compiled.bfrt and not _same_description(compiled.bfrt, folder / f"{profile}.bfrt.json"):
        raise ConfigurationError(
            f"Device config {source} takes of the chip what {profile} does, but its bf-rt description is not the one "
            "that belongs to this P4Info: it was made of other sources.",
            "Build it of these: make tofino.",
        )
    return compiled


def _resources_of(compiled: Compiled, source: Path) -> Resources:
    try:
        return measure(json.loads(compiled.context))
    except _NOT_AS_WRITTEN:
        raise ConfigurationError(
            f"Device config {source}: its context.json is not one that the assembler writes.",
            "Build it again: make tofino.",
        ) from None


def _refuse(found: Resources, reports: dict[str, Resources], profile: str, source: Path) -> None:
    for other, report in reports.items():
        if found == report:
            raise ConfigurationError(
                f"Device config {source} is of profile {other}, not of {profile}.",
                f"Give --tofino {other} with it, or the file of {profile}.",
            )
    differing = [
        f"{name.replace('_', ' ')} ({there}, not {wanted})"
        for (name, there), wanted in zip(found.as_json().items(), reports[profile].as_json().values(), strict=True)
        if there != wanted
    ]
    raise ConfigurationError(
        f"Device config {source} is of no profile whose P4Info is here: from {profile} it differs in "
        f"{', '.join(differing)}. It was made of other sources, or by another compiler.",
        "Build it of these: make tofino.",
    )


def _same_description(bfrt: bytes, committed: Path) -> bool:
    try:
        return bool(repeatable(json.loads(bfrt)) == json.loads(committed.read_text()))
    except _NOT_AS_WRITTEN:
        return False
