# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled program in one file, as switch agents take it over P4Runtime (``p4_device_config``).

Two formats: message ``BfPipelineConfig`` of Stratum's ``bf.proto``; and that of p4lang's PI, which p4runtime-shell's
config builder writes too: name, binary and context, each after its length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

# Fields of BfPipelineConfig, and of its Profile.
_P4_NAME, _BFRT, _PROFILES = 1, 2, 3
_PROFILE_NAME, _CONTEXT, _BINARY, _PIPE_SCOPE = 1, 2, 3, 4
_BYTES = 2  # protobuf's wire type of everything with a length


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the compiler and the assembler leave of a program.

    Attributes:
        name: the program's, for people.
        bfrt: bf-rt description, JSON.
        context: ``context.json``.
        binary: ``tofino.bin`` or ``tofino2.bin``.
        pipes: those of the chip that run it.
        pipeline: name of the pipeline in the P4 source.
    """

    name: str
    bfrt: bytes
    context: bytes
    binary: bytes
    pipes: Sequence[int] = (0, 1, 2, 3)
    pipeline: str = "pipe"

    def for_stratum(self) -> bytes:
        """``BfPipelineConfig``, serialized."""
        profile = (
            _field(_PROFILE_NAME, self.pipeline.encode())
            + _field(_CONTEXT, self.context)
            + _field(_BINARY, self.binary)
            + _field(_PIPE_SCOPE, b"".join(map(_varint, self.pipes)))
        )
        return _field(_P4_NAME, self.name.encode()) + _field(_BFRT, self.bfrt) + _field(_PROFILES, profile)

    def for_pi(self) -> bytes:
        """As PI unpacks it; lengths are 32-bit little-endian."""
        parts = (self.name.encode(), self.binary, self.context)
        return b"".join(struct.pack("<i", len(part)) + part for part in parts)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
