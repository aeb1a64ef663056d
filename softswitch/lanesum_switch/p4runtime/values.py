# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Byte strings of P4Runtime messages (specification, section 8.4)."""

from __future__ import annotations

from lanesum_switch.p4runtime.status import UNIMPLEMENTED, StatusError, invalid


def decode(data: bytes, bits: int) -> int:
    """Return the value of a byte string for a field of ``bits`` bits.

    Accepts any length from one byte, shorter and longer than the field, if the value fits: PI accepts canonical and
    padded strings alike.

    Raises:
        StatusError: INVALID_ARGUMENT for the empty string, and if the value does not fit.
    """
    if not data:
        raise invalid(f"The byte string of a field of {bits} bits is empty: give at least 1 byte")
    value = int.from_bytes(data, "big")
    if value.bit_length() > bits:
        raise invalid(f"The byte string 0x{data.hex()} does not fit in {bits} bits")
    return value


def encode(value: int) -> bytes:
    """Return the canonical byte string: the shortest one, with one byte for zero."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def byte_count(bits: int) -> int:
    return (bits + 7) // 8


def mask(bits: int) -> int:
    return (1 << bits) - 1


def decode_port(data: bytes) -> int:
    """Return the port number in the ``port`` field of a replica.

    Raises:
        StatusError: INVALID_ARGUMENT for the empty string, zero and negative signed 32 bit numbers, UNIMPLEMENTED for
            more than four bytes. Zero is a valid port on the wire, but not in PI.
    """
    if not data:
        raise invalid("The port of a replica is an empty byte string: give 1 to 4 bytes")
    if len(data) > 4:
        raise StatusError(UNIMPLEMENTED, f"Ports of {len(data)} bytes are not supported, at most 4")
    port = int.from_bytes(data, "big")
    if port == 0 or port >= 1 << 31:
        raise invalid(f"0x{data.hex()} is not a valid port")
    return port
