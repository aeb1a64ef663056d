# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Byte strings of P4Runtime messages (specification, section 8.4)."""

from __future__ import annotations

from lanesum_switch.p4runtime.status import UNIMPLEMENTED, StatusError, invalid


def decode(data: bytes, bits: int) -> int:
    """The value of a byte string for a field of ``bits`` bits.

    Any length is accepted, shorter and longer than the field (and the empty string, as zero), as long as the value
    fits: PI takes canonical and padded strings alike.

    Raises:
        StatusError: INVALID_ARGUMENT when the value does not fit.
    """
    value = int.from_bytes(data, "big")
    if value.bit_length() > bits:
        raise invalid(f"The byte string 0x{data.hex()} does not fit in {bits} bits")
    return value


def encode(value: int) -> bytes:
    """The canonical byte string: the shortest that holds the value, one byte for zero."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def byte_count(bits: int) -> int:
    return (bits + 7) // 8


def mask(bits: int) -> int:
    return (1 << bits) - 1


def decode_port(data: bytes) -> int:
    """The port number in the ``port`` field of a replica.

    Raises:
        StatusError: INVALID_ARGUMENT for the empty string, zero and what is negative as a signed 32 bit number,
            UNIMPLEMENTED for more than four bytes. Zero is a valid port on the wire, but not to PI.
    """
    if not data:
        raise invalid("The port of a replica is an empty byte string")
    if len(data) > 4:
        raise StatusError(UNIMPLEMENTED, f"Ports of {len(data)} bytes are not supported, at most 4")
    port = int.from_bytes(data, "big")
    if port == 0 or port >= 1 << 31:
        raise invalid(f"0x{data.hex()} is not a valid port")
    return port
