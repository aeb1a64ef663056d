# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match keys, byte strings and actions of P4Runtime messages (specification, sections 8.4 and 9.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from lanesum_switch.api import ActionCall, Match, TableEntry
from lanesum_switch.p4runtime.p4info import FieldInfo, P4InfoIndex, TableInfo
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


class MatchKey(NamedTuple):
    """Identity of an entry: the match of every field and the priority, or the mark of the default entry."""

    match: tuple[Match, ...] = ()
    priority: int = 0
    is_default: bool = False


DEFAULT_KEY = MatchKey(is_default=True)


def parse_key(table: TableInfo, entry: Any) -> MatchKey:
    """Return the key of a ``p4.v1.TableEntry``.

    Raises StatusError: INVALID_ARGUMENT for every kind of malformed key.
    """
    if entry.is_default_action:
        if entry.match:
            raise invalid(f"The default entry of {table.name} has match fields: leave them out")
        if entry.priority != 0:
            raise invalid(f"The default entry of {table.name} has priority {entry.priority}: it must be 0")
        return DEFAULT_KEY
    if len(entry.match) > len(table.fields):
        raise invalid(f"{table.name} has {len(table.fields)} match fields, not {len(entry.match)}")
    # The first of two messages for a field counts; the second makes the count below wrong.
    given: dict[int, Any] = {}
    for match_field in entry.match:
        given.setdefault(match_field.field_id, match_field)
    match = []
    found = 0
    for field in table.fields:
        message = given.get(field.id)
        if message is None:
            match.append(_wildcard(table, field))
        else:
            found += 1
            match.append(_parse_field(table, field, message))
    if found != len(entry.match):
        ids = [match_field.field_id for match_field in entry.match]
        known = [field.id for field in table.fields]
        raise invalid(f"The key for {table.name} has fields {ids}: give each of {known} at most once, and no other")
    if not table.needs_priority:
        # PI refuses only positive priorities here; a negative one is ignored.
        if entry.priority > 0:
            raise invalid(
                f"{table.name} has no ternary, range or optional field: the priority must be 0, not {entry.priority}"
            )
        return MatchKey(tuple(match))
    if entry.priority == 0:
        raise invalid(f"{table.name} has ternary, range or optional fields: the priority must not be 0")
    return MatchKey(tuple(match), entry.priority)


def _wildcard(table: TableInfo, field: FieldInfo) -> Match:
    if field.kind == "exact":
        raise invalid(f"The key for {table.name} lacks exact field {field.name}")
    if field.kind == "range":
        return Match(0, mask(field.bits))
    return Match(0, 0)


def _parse_field(table: TableInfo, field: FieldInfo, message: Any) -> Match:
    kind = message.WhichOneof("field_match_type")
    if kind != field.kind:
        raise invalid(f"Field {field.name} of {table.name} is matched by {field.kind}, not by {kind or 'nothing'}")
    value = getattr(message, field.kind)
    where = f"{field.name} of {table.name}"
    if field.kind == "exact":
        return Match(decode(value.value, field.bits))
    if field.kind == "optional":
        return Match(decode(value.value, field.bits), mask(field.bits))
    if field.kind == "lpm":
        return _parse_lpm(where, field, value)
    if field.kind == "ternary":
        match = Match(decode(value.value, field.bits), decode(value.mask, field.bits))
        if match.aux == 0:
            raise invalid(f"The mask for {where} is 0: leave the field out instead")
        if match.value & ~match.aux:
            raise invalid(f"The value {match.value:#x} for {where} has bits outside of its mask {match.aux:#x}")
        return match
    match = Match(decode(value.low, field.bits), decode(value.high, field.bits))
    # PI compares the strings as received: a full range in any other length passes, and the full range of a field whose
    # width is no multiple of 8 always does.
    if not any(value.low) and value.high == b"\xff" * len(value.low):
        raise invalid(f"The range for {where} is the whole range: leave the field out instead")
    if match.value > match.aux:
        raise invalid(f"The range for {where} has its low end {match.value:#x} above its high end {match.aux:#x}")
    return match


def _parse_lpm(where: str, field: FieldInfo, message: Any) -> Match:
    value = decode(message.value, field.bits)
    length = message.prefix_len
    if not 0 < length <= field.bits:
        hint = ": leave the field out instead" if length == 0 else ""
        raise invalid(f"The prefix length for {where} must be 1 to {field.bits}, not {length}{hint}")
    # PI counts the prefix from the first bit of the padded byte string. For widths that are no multiple of 8 it
    # therefore requires more trailing zeros than the specification (section 9.1.1).
    trailing = 8 * byte_count(field.bits) - length
    if value & mask(trailing):
        raise invalid(f"The value {value:#x} for {where} has bits beyond its prefix of {length}")
    return Match(value, length)


def key_of(entry: TableEntry) -> MatchKey:
    """Return the key of an entry as the switch stores it."""
    return MatchKey(entry.match, entry.priority)


def write_key(table: TableInfo, key: MatchKey, entry: Any) -> None:
    """Fill match and priority of a ``p4.v1.TableEntry`` for a read, without wildcards."""
    if key.priority > 0:
        entry.priority = key.priority
    for field, match in zip(table.fields, key.match, strict=True):
        if field.kind == "exact":
            entry.match.add(field_id=field.id).exact.value = encode(match.value)
        elif field.kind == "range":
            # As on writes, only a full range over whole bytes counts as a wildcard.
            if match.value == 0 and match.aux == mask(8 * byte_count(field.bits)):
                continue
            message = entry.match.add(field_id=field.id).range
            message.low = encode(match.value)
            message.high = encode(match.aux)
        elif match.aux == 0:
            continue
        elif field.kind == "lpm":
            lpm = entry.match.add(field_id=field.id).lpm
            lpm.value = encode(match.value)
            lpm.prefix_len = match.aux
        elif field.kind == "ternary":
            ternary = entry.match.add(field_id=field.id).ternary
            ternary.value = encode(match.value)
            ternary.mask = encode(match.aux)
        else:
            entry.match.add(field_id=field.id).optional.value = encode(match.value)
