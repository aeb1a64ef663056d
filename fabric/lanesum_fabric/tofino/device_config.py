# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled program in one file, as switch agents accept it over P4Runtime (``p4_device_config``), and its check.

Two formats: message ``BfPipelineConfig`` of Stratum's ``bf.proto``, and the format of p4lang's PI, which the config
builder of p4runtime-shell also writes: name, binary and context, each after its length.

An agent accepts any file, and uses the numbers of the P4Info: with the binary of another build they mean other tables.
So a file for a chip's agent is compared with the committed build of the profile whose P4Info the controller pushes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from lanesum.errors import ConfigurationError
from lanesum_fabric.protobufs.source import message_classes
from lanesum_fabric.tofino.chips import PIPES
from lanesum_fabric.tofino.resources import REPORT, Resources, measure, read_report

_BfPipelineConfig = message_classes(resources.files(__package__).joinpath("bf.proto"))("BfPipelineConfig")


@dataclass(frozen=True, slots=True)
class Compiled:
    """Output of compiler and assembler for a program.

    Attributes:
        bfrt: bf-rt description, JSON; empty after unpacking PI's format, which has none.
        context: ``context.json``.
        binary: ``tofino.bin`` or ``tofino2.bin``.
        pipes: pipes that run it; empty after unpacking PI's format.
        pipeline: name of the pipeline in the P4 source.
    """

    name: str
    bfrt: bytes
    context: bytes
    binary: bytes
    pipes: Sequence[int] = (0, 1, 2, 3)
    pipeline: str = "pipe"

    def for_stratum(self) -> bytes:
        """Return the serialized ``BfPipelineConfig``."""
        config = _BfPipelineConfig(p4_name=self.name, bfruntime_info=self.bfrt)
        config.profiles.add(profile_name=self.pipeline, context=self.context, binary=self.binary, pipe_scope=self.pipes)
        serialized: bytes = config.SerializeToString()
        return serialized

    def for_pi(self) -> bytes:
        """Return the format of PI; lengths are 32-bit little-endian."""
        parts = (self.name.encode(), self.binary, self.context)
        return b"".join(struct.pack("<i", len(part)) + part for part in parts)

    @classmethod
    def unpack(cls, data: bytes) -> Compiled:
        """Unpack the output of ``for_pi`` or ``for_stratum``. Raises ConfigurationError for any other data."""
        # Zeros in PI's lengths are no protobuf field, and Stratum's first bytes are too large for a length.
        for unpack in (_unpack_pi, _unpack_stratum):
            try:
                return unpack(data)
            except ValueError:
                continue
        raise ConfigurationError(
            "no compiled program, neither in Stratum's format (BfPipelineConfig) nor in that of PI.",
            "Build one: make tofino.",
        )


def _unpack_pi(data: bytes) -> Compiled:
    """Unpack PI's format. Raises ValueError."""
    parts, at = [], 0
    for _ in range(3):
        if at + 4 > len(data):
            raise ValueError("ends inside of a length")
        (size,) = struct.unpack_from("<i", data, at)
        at += 4 + size
        if size <= 0 or at > len(data):
            raise ValueError("a part is longer than the file, or empty")
        parts.append(data[at - size : at])
    if at != len(data):
        raise ValueError("goes on behind the last part")
    name, binary, context = parts
    return Compiled(name.decode(), b"", context, binary, pipes=())


def _unpack_stratum(data: bytes) -> Compiled:
    """Unpack Stratum's format. Raises ValueError, also for several pipelines."""
    try:
        config = _BfPipelineConfig.FromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    if len(config.profiles) != 1:
        raise ValueError(f"{len(config.profiles)} pipelines")
    profile = config.profiles[0]
    if not (config.bfruntime_info and profile.context and profile.binary):
        raise ValueError("lacks a part")
    return Compiled(
        config.p4_name,
        config.bfruntime_info,
        profile.context,
        profile.binary,
        tuple(profile.pipe_scope),
        profile.profile_name,
    )


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
