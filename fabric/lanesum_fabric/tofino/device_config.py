# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled program in one file, as switch agents accept it over P4Runtime (``p4_device_config``).

Two formats: message ``BfPipelineConfig`` of Stratum's ``bf.proto``, and the format of p4lang's PI, which the config
builder of p4runtime-shell also writes: name, binary and context, each after its length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from google.protobuf.message import DecodeError

from lanesum.errors import ConfigurationError
from lanesum_fabric.protobufs.source import message_classes

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
