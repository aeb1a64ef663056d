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

from lanesum.errors import ConfigurationError
from lanesum_control.wire_format import BYTES, fields, varint

# Fields of BfPipelineConfig, and of its Profile.
_P4_NAME, _BFRT, _PROFILES = 1, 2, 3
_PROFILE_NAME, _CONTEXT, _BINARY, _PIPE_SCOPE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Compiled:
    """Output of compiler and assembler for a program.

    Attributes:
        name: name of the program.
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
        profile = (
            _field(_PROFILE_NAME, self.pipeline.encode())
            + _field(_CONTEXT, self.context)
            + _field(_BINARY, self.binary)
            + _field(_PIPE_SCOPE, b"".join(map(_varint, self.pipes)))
        )
        return _field(_P4_NAME, self.name.encode()) + _field(_BFRT, self.bfrt) + _field(_PROFILES, profile)

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
    texts = {_P4_NAME: b"", _BFRT: b""}
    profiles = []
    for number, value in fields(data):
        if number == _PROFILES and isinstance(value, bytes):
            profiles.append(value)
        elif number in texts and isinstance(value, bytes):
            texts[number] = value
    if len(profiles) != 1:
        raise ValueError(f"{len(profiles)} pipelines")
    parts = {_PROFILE_NAME: b"", _CONTEXT: b"", _BINARY: b""}
    pipes: list[int] = []
    for number, value in fields(profiles[0]):
        if number == _PIPE_SCOPE:
            pipes += [value] if isinstance(value, int) else _varints(value)
        elif number in parts and isinstance(value, bytes):
            parts[number] = value
    if not (texts[_BFRT] and parts[_CONTEXT] and parts[_BINARY]):
        raise ValueError("lacks a part")
    return Compiled(
        texts[_P4_NAME].decode(),
        texts[_BFRT],
        parts[_CONTEXT],
        parts[_BINARY],
        tuple(pipes),
        parts[_PROFILE_NAME].decode(),
    )


def _varints(data: bytes) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
