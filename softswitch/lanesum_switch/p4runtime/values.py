# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Byte strings and actions of P4Runtime messages (specification, sections 8.4 and 9.1.2)."""

from __future__ import annotations

from typing import Any

from lanesum_switch.api import ActionCall
from lanesum_switch.p4runtime.p4info import P4InfoIndex
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, invalid_id


def decode(data: bytes, bits: int) -> int:
    """Return the value of a byte string for a field of ``bits`` bits.

    Accepts any length from one byte, shorter and longer than the field, if the value fits: PI accepts canonical and
    padded strings alike.

    Raises StatusError: INVALID_ARGUMENT for the empty string, and if the value does not fit.
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

    Raises StatusError: INVALID_ARGUMENT for the empty string, zero and negative signed 32 bit numbers, UNIMPLEMENTED
    for more than four bytes. Zero is a valid port on the wire, but not in PI.
    """
    if not data:
        raise invalid("The port of a replica is an empty byte string: give 1 to 4 bytes")
    if len(data) > 4:
        raise StatusError(Code.UNIMPLEMENTED, f"Ports of {len(data)} bytes are not supported, at most 4")
    port = int.from_bytes(data, "big")
    if port == 0 or port >= 1 << 31:
        raise invalid(f"0x{data.hex()} is not a valid port")
    return port


def check_action_id(index: P4InfoIndex, action_id: int) -> None:
    """Check an action id. Raises StatusError INVALID_ARGUMENT if the program has no such action."""
    if action_id not in index.actions:
        raise invalid_id(action_id, "an action")


def parse_action(index: P4InfoIndex, message: Any) -> ActionCall:
    """Return the call that a ``p4.v1.Action`` with a known action id describes.

    Raises StatusError: INVALID_ARGUMENT for a wrong number of parameters, an unknown one or a value that does not fit.
    """
    action = index.actions[message.action_id]
    if len(message.params) != len(action.params):
        raise invalid(f"Action {action.name} has {len(action.params)} parameters, not {len(message.params)}")
    widths = {param.id: param.bits for param in action.params}
    values: dict[int, int] = {}
    for param in message.params:
        if param.param_id not in widths:
            raise invalid(f"Action {action.name} has no parameter with id {param.param_id}, only {[*widths]}")
        values[param.param_id] = decode(param.value, widths[param.param_id])
    # PI accepts a repeated id in place of a missing one, which stays zero.
    return ActionCall(action.name, tuple(values.get(param.id, 0) for param in action.params))


def write_action(index: P4InfoIndex, call: ActionCall, message: Any) -> None:
    """Fill a ``p4.v1.Action`` for a read.

    Raises StatusError: INTERNAL if the switch runs an action that the P4Info does not name.
    """
    action = index.actions_by_name.get(call.action)
    if action is None:
        raise StatusError(Code.INTERNAL, f"The switch reports action {call.action}, which the P4Info lacks")
    message.action_id = action.id
    for param, value in zip(action.params, call.args, strict=True):
        message.params.add(param_id=param.id, value=encode(value))
