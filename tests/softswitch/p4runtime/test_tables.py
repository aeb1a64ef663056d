# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Table entries: every check, and the contents of reads."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from .client import (
    DELETE,
    INSERT,
    MODIFY,
    OK,
    Client,
    Outcome,
    Program,
    between,
    exact,
    lpm,
    optional,
    ternary,
)
from .targets import BMV2


def entry_of(entity: Any) -> Any:
    return entity.table_entry


def test_exact_entry_round_trip(client: Client, everything: Program) -> None:
    match = [exact(1, b"\x00\x05"), exact(2, b"\x03")]
    entity = everything.entry("exact_table", match, everything.action("set_choice", b"\x00\x2a"))
    entity.table_entry.controller_metadata = 77
    entity.table_entry.metadata = b"note"
    assert client.insert(entity) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table"))
    entry = entry_of(read)
    assert entry.match[0].exact.value == b"\x05"
    assert entry.match[1].exact.value == b"\x03"
    assert entry.action.action.params[0].value == b"\x2a"
    assert entry.controller_metadata == 77
    assert entry.metadata == b"note"
    assert not entry.HasField("counter_data")
    # Read-write symmetry: entries from reads can be written.
    assert client.delete(read) == "OK"
    assert client.insert(read) == "OK"
    assert client.read_ok(everything.entry("exact_table")) == [read]


@pytest.mark.parametrize("value", [b"\x05", b"\x00\x05", b"\x00\x00\x00\x05", b"\x00", b"\xff\xff"])
def test_byte_strings_of_any_length_are_accepted(client: Client, everything: Program, value: bytes) -> None:
    entity = everything.entry(
        "exact_table", [exact(1, value), exact(2, b"\x01")], everything.action("set_choice", value)
    )
    assert client.insert(entity) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table"))
    canonical = value.lstrip(b"\0") or b"\0"
    assert entry_of(read).match[0].exact.value == canonical
    assert entry_of(read).action.action.params[0].value == canonical


CHOICE = ("set_choice", b"\x01")


@pytest.mark.parametrize(
    ("table", "match", "action", "priority"),
    [
        ("exact_table", [exact(1, b""), exact(2, b"\x01")], CHOICE, 0),
        ("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], ("set_choice", b""), 0),
        ("lpm_table", [lpm(1, b"", 8)], ("nothing",), 0),
        ("ternary_table", [ternary(1, b"", b"\xff")], CHOICE, 1),
        ("range_table", [between(1, b"", b"\x07")], CHOICE, 1),
        ("optional_table", [optional(1, b"")], CHOICE, 1),
    ],
    ids=["exact", "parameter", "lpm", "ternary", "range", "optional"],
)
def test_empty_byte_string_is_refused(
    client: Client, everything: Program, target: str, table: str, match: list[Any], action: Any, priority: int
) -> None:
    """P4Runtime specification, section 8.4. BMv2 reads it as zero."""
    entity = everything.entry(table, match, everything.action(*action), priority=priority)
    assert client.insert(entity) == ("OK" if target == BMV2 else "INVALID_ARGUMENT")
    assert len(client.read_ok(everything.entry(table))) == (target == BMV2)


@pytest.mark.parametrize("value", [b"\x01\x00\x00", b"\xff\xff\xff"])
def test_values_that_do_not_fit_are_refused(client: Client, everything: Program, value: bytes) -> None:
    action = everything.action("set_choice", b"\x01")
    wrong_key = everything.entry("exact_table", [exact(1, value), exact(2, b"\x01")], action)
    assert client.insert(wrong_key) == "INVALID_ARGUMENT"
    nibble = everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x10")], action)
    assert client.insert(nibble) == "INVALID_ARGUMENT"
    parameter = everything.entry(
        "exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], everything.action("set_choice", value)
    )
    assert client.insert(parameter) == "INVALID_ARGUMENT"
    assert client.read_ok(everything.entry("exact_table")) == []


def test_insert_modify_delete_of_missing_and_present(client: Client, everything: Program) -> None:
    match = [exact(1, b"\x05"), exact(2, b"\x03")]
    one = everything.entry("exact_table", match, everything.action("set_choice", b"\x01"))
    two = everything.entry("exact_table", match, everything.action("set_odd", b"\x0f\xff", b"\x01\xff"))
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(two) == "ALREADY_EXISTS"
    assert client.modify(two) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table", match))
    assert [p.value for p in entry_of(read).action.action.params] == [b"\x0f\xff", b"\x01\xff"]
    assert client.delete(everything.entry("exact_table", match)) == "OK"
    assert client.read_ok(everything.entry("exact_table", match)) == []


def test_malformed_entries(client: Client, everything: Program) -> None:
    good = [exact(1, b"\x05"), exact(2, b"\x03")]
    choice = everything.action("set_choice", b"\x01")

    def refused(entity: Any) -> str:
        return client.insert(entity)

    entry = everything.entry
    assert refused(entry("exact_table", good)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good[:1], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", [good[0], good[0]], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", [*good, good[0]], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", [good[0], exact(9, b"\x01")], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", [good[0], ternary(2, b"\x01", b"\x01")], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", [good[0], p4rt.FieldMatch(field_id=2)], choice)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, choice, priority=1)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, p4rt.TableAction())) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, p4rt.TableAction(action_profile_member_id=1))) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, everything.action("set_choice"))) == "INVALID_ARGUMENT"
    two_params = everything.action("set_choice", b"\x01", b"\x02")
    assert refused(entry("exact_table", good, two_params)) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, everything.action("metered", b"\x01"))) == "INVALID_ARGUMENT"
    assert refused(entry("exact_table", good, everything.action("only_default", b"\x01"))) == "PERMISSION_DENIED"
    unknown = p4rt.Action(action_id=0x01ABCDEF)
    assert refused(entry("exact_table", good, unknown)) == "INVALID_ARGUMENT"
    seen = entry("exact_table", good, choice)
    seen.table_entry.time_since_last_hit.elapsed_ns = 1
    assert refused(seen) == "INVALID_ARGUMENT"
    wrong_table = entry("exact_table", good, choice)
    wrong_table.table_entry.table_id = 0x02ABCDEF
    assert refused(wrong_table) == "INVALID_ARGUMENT"
    wrong_table.table_entry.table_id = everything.ids["set_choice"]
    assert refused(wrong_table) == "INVALID_ARGUMENT"
    assert client.update(p4rt.Update.UNSPECIFIED, entry("exact_table", good, choice)) == "INVALID_ARGUMENT"
    assert client.read_ok(entry("exact_table")) == []


def test_parameters_by_id_in_any_order(client: Client, everything: Program) -> None:
    action = p4rt.Action(action_id=everything.ids["set_odd"])
    action.params.add(param_id=2, value=b"\x07")
    action.params.add(param_id=1, value=b"\x08")
    match = [exact(2, b"\x03"), exact(1, b"\x05")]
    assert client.insert(everything.entry("exact_table", match, action)) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table"))
    assert [(p.param_id, p.value) for p in entry_of(read).action.action.params] == [(1, b"\x08"), (2, b"\x07")]
    assert [m.field_id for m in entry_of(read).match] == [1, 2]
    action.params[0].param_id = 9
    assert client.modify(everything.entry("exact_table", match, action)) == "INVALID_ARGUMENT"


def test_lpm(client: Client, everything: Program) -> None:
    action = everything.action("nothing")

    def insert(*match: Any, **fields: Any) -> str:
        return client.insert(everything.entry("lpm_table", match, action, **fields))

    assert insert(lpm(1, b"\x0a\x00\x00\x00", 8)) == "OK"
    assert insert(lpm(1, b"\x0a\x00\x00\x00", 16)) == "OK"
    assert insert(lpm(1, b"\x0a\x00\x00\x01", 32)) == "OK"
    assert insert(lpm(1, b"\x0a\x00\x00\x00", 8)) == "ALREADY_EXISTS"
    assert insert() == "OK"
    assert insert() == "ALREADY_EXISTS"
    assert insert(lpm(1, b"\x0a\x00\x00\x01", 31)) == "INVALID_ARGUMENT"
    assert insert(lpm(1, b"\x00", 0)) == "INVALID_ARGUMENT"
    assert insert(lpm(1, b"\x00", 33)) == "INVALID_ARGUMENT"
    assert insert(lpm(1, b"\x00", -1)) == "INVALID_ARGUMENT"
    assert insert(lpm(1, b"\x0b\x00\x00\x00", 8), priority=3) == "INVALID_ARGUMENT"
    assert insert(lpm(1, b"\x0b\x00\x00\x00", 8), priority=-3) == "OK"
    found = client.read_ok(everything.entry("lpm_table"))
    keys = {(m.lpm.value, m.lpm.prefix_len) for e in found for m in entry_of(e).match}
    assert keys == {
        (b"\x0a\x00\x00\x00", 8),
        (b"\x0a\x00\x00\x00", 16),
        (b"\x0a\x00\x00\x01", 32),
        (b"\x0b\x00\x00\x00", 8),
    }
    assert sum(not entry_of(e).match for e in found) == 1
    assert {entry_of(e).priority for e in found} == {0}


@pytest.mark.parametrize(
    ("value", "length", "code"),
    [
        (b"\x0f\x00", 4, "INVALID_ARGUMENT"),  # as the specification requires
        (b"\x00", 4, "OK"),
        (b"\x0f\x00", 8, "OK"),
        (b"\x0f\xf0", 12, "OK"),
        (b"\x0f\xff", 12, "INVALID_ARGUMENT"),
        (b"\x0f\xff", 13, "INVALID_ARGUMENT"),
    ],
)
def test_lpm_of_odd_width_refuses_bits_beyond_prefix(
    client: Client, everything: Program, value: bytes, length: int, code: str
) -> None:
    entity = everything.entry("odd_lpm_table", [lpm(1, value, length)], everything.action("nothing"))
    assert client.insert(entity) == code


def test_ternary(client: Client, everything: Program) -> None:
    action = everything.action("set_choice", b"\x01")

    def insert(*match: Any, **fields: Any) -> str:
        return client.insert(everything.entry("ternary_table", match, action, **fields))

    assert insert(ternary(1, b"\x12\x00", b"\xff\x00"), priority=10) == "OK"
    assert insert(ternary(1, b"\x12\x00", b"\xff\x00"), priority=11) == "OK"
    assert insert(ternary(1, b"\x12\x00", b"\xff\x00"), priority=10) == "ALREADY_EXISTS"
    assert insert(priority=1) == "OK"
    assert insert() == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"\x12\x00", b"\xff\x00")) == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"\x12\x01", b"\xff\x00"), priority=2) == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"\x00", b"\x00"), priority=2) == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"", b""), priority=2) == "INVALID_ARGUMENT"
    assert insert(ternary(2, b"\x0f\x00", b"\x0f\xff"), priority=2**31 - 1) == "OK"
    assert insert(ternary(2, b"\x10\x00", b"\x1f\xff"), priority=2) == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"\x05", b"\x05"), priority=-5) == "UNKNOWN"
    assert insert(exact(1, b"\x05"), priority=5) == "INVALID_ARGUMENT"
    found = client.read_ok(everything.entry("ternary_table"))
    assert {
        (entry_of(e).priority, tuple((m.ternary.value, m.ternary.mask) for m in entry_of(e).match)) for e in found
    } == {
        (10, ((b"\x12\x00", b"\xff\x00"),)),
        (11, ((b"\x12\x00", b"\xff\x00"),)),
        (1, ()),
        (2**31 - 1, ((b"\x0f\x00", b"\x0f\xff"),)),
    }
    chosen = everything.entry("ternary_table", [ternary(1, b"\x12\x00", b"\xff\x00")], priority=11)
    (one,) = client.read_ok(chosen)
    assert entry_of(one).priority == 11
    chosen.table_entry.priority = 12
    assert client.read_ok(chosen) == []
    chosen.table_entry.priority = 0
    assert client.read(chosen) == ([], "INVALID_ARGUMENT")


def test_range(client: Client, everything: Program) -> None:
    action = everything.action("set_choice", b"\x01")

    def insert(*match: Any, priority: int = 1) -> str:
        return client.insert(everything.entry("range_table", match, action, priority=priority))

    assert insert(between(1, b"\x05", b"\x07")) == "OK"
    assert insert(between(1, b"\x07", b"\x05")) == "INVALID_ARGUMENT"
    assert insert(between(1, b"\x00\x00", b"\xff\xff")) == "INVALID_ARGUMENT"
    assert insert(between(2, b"\x00\x00", b"\x0f\xff"), priority=2) == "OK"
    assert insert(between(1, b"\x00", b"\xff"), priority=3) == "INVALID_ARGUMENT"
    assert insert(priority=4) == "OK"
    found = client.read_ok(everything.entry("range_table"))
    shown = {entry_of(e).priority: [(m.field_id, m.range.low, m.range.high) for m in entry_of(e).match] for e in found}
    assert shown == {
        1: [(1, b"\x05", b"\x07"), (2, b"\x00", b"\x0f\xff")],
        2: [(2, b"\x00", b"\x0f\xff")],
        4: [(2, b"\x00", b"\x0f\xff")],
    }


def test_optional(client: Client, everything: Program) -> None:
    action = everything.action("set_choice", b"\x01")

    def insert(*match: Any, priority: int = 1) -> str:
        return client.insert(everything.entry("optional_table", match, action, priority=priority))

    assert insert(optional(1, b"\x05")) == "OK"
    assert insert(optional(1, b"\x00"), optional(2, b"\x0f\xff"), priority=2) == "OK"
    assert insert(priority=3) == "OK"
    assert insert(optional(1, b"\x05"), priority=0) == "INVALID_ARGUMENT"
    assert insert(ternary(1, b"\x05", b"\xff"), priority=4) == "INVALID_ARGUMENT"
    assert insert(optional(2, b"\x10\x00"), priority=4) == "INVALID_ARGUMENT"


def test_optional_reads(client: Client, everything: Program) -> None:
    action = everything.action("set_choice", b"\x01")
    for priority, match in (
        (1, [optional(1, b"\x05")]),
        (2, [optional(1, b"\x00"), optional(2, b"\x0f\xff")]),
        (3, []),
    ):
        assert client.insert(everything.entry("optional_table", match, action, priority=priority)) == "OK"
    found = client.read_ok(everything.entry("optional_table"))
    shown = {entry_of(e).priority: [(m.field_id, m.optional.value) for m in entry_of(e).match] for e in found}
    assert shown == {1: [(1, b"\x05")], 2: [(1, b"\x00"), (2, b"\x0f\xff")], 3: []}


def test_wide_keys(client: Client, everything: Program) -> None:
    value = bytes(range(1, 17))
    entity = everything.entry("wide_table", [exact(1, value)], everything.action("nothing"))
    assert client.insert(entity) == "OK"
    (read,) = client.read_ok(everything.entry("wide_table"))
    assert entry_of(read).match[0].exact.value == value
    too_wide = everything.entry("wide_table", [exact(1, b"\x01" + value)], everything.action("nothing"))
    assert client.insert(too_wide) == "INVALID_ARGUMENT"


def test_tables_without_a_key(client: Client, everything: Program) -> None:
    entity = everything.entry("keyless_table", (), everything.action("set_choice", b"\x01"))
    assert client.insert(entity) == "UNKNOWN"
    assert client.modify(entity) == "NOT_FOUND"
    assert client.delete(entity) == "NOT_FOUND"
    assert client.read_ok(everything.entry("keyless_table")) == []
    default = everything.entry("keyless_table", (), everything.action("set_choice", b"\x01"), is_default_action=True)
    assert client.modify(default) == "OK"
    assert client.read_ok(everything.entry("keyless_table", is_default_action=True)) == [default]


def test_default_entry(client: Client, everything: Program) -> None:
    default = everything.entry("exact_table", is_default_action=True)
    (read,) = client.read_ok(default)
    assert entry_of(read).is_default_action
    assert entry_of(read).action.action.action_id == everything.ids["only_default"]
    assert entry_of(read).action.action.params[0].value == b"\x07"
    changed = everything.entry("exact_table", (), everything.action("set_choice", b"\x09"), is_default_action=True)
    changed.table_entry.controller_metadata = 5
    assert client.insert(changed) == "INVALID_ARGUMENT"
    assert client.modify(changed) == "OK"
    (read,) = client.read_ok(default)
    assert read == changed
    assert client.delete(changed) == "INVALID_ARGUMENT"
    assert client.modify(default) == "OK"
    (read,) = client.read_ok(default)
    assert entry_of(read).action.action.action_id == everything.ids["only_default"]
    assert entry_of(read).controller_metadata == 0
    table_only = everything.entry("exact_table", (), everything.action("drop_it"), is_default_action=True)
    assert client.modify(table_only) == "PERMISSION_DENIED"
    with_match = everything.entry("exact_table", [exact(1, b"\x01")], is_default_action=True)
    assert client.modify(with_match) == "INVALID_ARGUMENT"
    with_priority = everything.entry("exact_table", is_default_action=True, priority=1)
    assert client.modify(with_priority) == "INVALID_ARGUMENT"
    const = everything.entry("odd_lpm_table", (), everything.action("nothing"), is_default_action=True)
    assert client.modify(const) == "PERMISSION_DENIED"
    reset = everything.entry("odd_lpm_table", is_default_action=True)
    assert client.modify(reset) == "PERMISSION_DENIED"
    (read,) = client.read_ok(reset)
    assert entry_of(read).action.action.action_id == everything.ids["nothing"]
    indirect = everything.entry(
        "selector_table", (), p4rt.TableAction(action_profile_member_id=1), is_default_action=True
    )
    assert client.modify(indirect) == "INVALID_ARGUMENT"


def test_const_tables_cannot_be_written(client: Client, everything: Program) -> None:
    choice = everything.action("set_choice", b"\x01")
    new = everything.entry("const_table", [exact(1, b"\x09")], choice)
    assert client.insert(new) == "UNKNOWN"
    old = everything.entry("const_table", [exact(1, b"\x01")], choice)
    assert client.modify(old) == "NOT_FOUND"
    assert client.delete(old) == "NOT_FOUND"


def test_const_tables_can_be_read(client: Client, everything: Program) -> None:
    found = client.read_ok(everything.entry("const_table"))
    values = [(entry_of(e).match[0].exact.value, entry_of(e).action.action.params[0].value) for e in found]
    assert values == [(b"\x01", b"\x0b"), (b"\x02", b"\x16")]
    assert {entry_of(e).priority for e in found} == {0}
    (one,) = client.read_ok(everything.entry("const_table", [exact(1, b"\x02")]))
    assert one == found[1]
    ternaries = client.read_ok(everything.entry("const_ternary_table"))
    shown = [(entry_of(e).priority, [(m.ternary.value, m.ternary.mask) for m in entry_of(e).match]) for e in ternaries]
    assert shown == [
        (2**31 - 2, [(b"\x01\x00", b"\xff\x00")]),
        (2**31 - 3, [(b"\x00", b"\x80\x00")]),
        (2**31 - 4, []),
    ]


def test_full_table_is_an_unknown_error(client: Client, everything: Program) -> None:
    choice = everything.action("set_choice", b"\x01")
    entries = [everything.entry("exact_table", [exact(1, bytes([i])), exact(2, b"\x01")], choice) for i in range(17)]
    result = client.write(*((INSERT, e) for e in entries))
    assert result == Outcome("UNKNOWN", ("OK",) * 16 + ("UNKNOWN",))
    assert client.delete(entries[3]) == "OK"
    assert client.insert(entries[16]) == "OK"


def test_every_update_has_its_own_error(client: Client, everything: Program) -> None:
    choice = everything.action("set_choice", b"\x01")

    def entry(key: int) -> Any:
        return everything.entry("exact_table", [exact(1, bytes([key])), exact(2, b"\x01")], choice)

    result = client.write((INSERT, entry(1)), (INSERT, entry(1)), (DELETE, entry(2)), (MODIFY, entry(1)))
    assert result == Outcome("UNKNOWN", ("OK", "ALREADY_EXISTS", "NOT_FOUND", "OK"))
    assert len(client.read_ok(everything.entry("exact_table"))) == 1
    for atomicity in (p4rt.WriteRequest.ROLLBACK_ON_ERROR, p4rt.WriteRequest.DATAPLANE_ATOMIC):
        assert client.write((INSERT, entry(3)), atomicity=atomicity) == Outcome("UNIMPLEMENTED")
    assert len(client.read_ok(everything.entry("exact_table"))) == 1
    assert client.write() == OK


@pytest.mark.parametrize("target", ["fake", "embedded"], indirect=True)
@pytest.mark.parametrize("applied", [0, 36])
def test_errors_of_many_updates_fit_into_the_metadata(client: Client, everything: Program, applied: int) -> None:
    table = everything.entry("exact_table", is_default_action=True)
    wrong = everything.entry("exact_table", [exact(1, b"\x01")], everything.action("set_choice", b"\x01"))
    result = client.write(*[(MODIFY, table)] * applied, *[(INSERT, wrong)] * (100 - applied))
    assert result == Outcome("UNKNOWN", ("OK",) * applied + ("INVALID_ARGUMENT",) * (100 - applied))


@pytest.mark.parametrize("target", ["fake"], indirect=True)
def test_errors_of_too_many_updates_are_counted(client: Client, everything: Program) -> None:
    wrong = everything.entry("exact_table", [exact(1, b"\x01")])
    assert client.write(*[(INSERT, wrong)] * 1000) == Outcome("UNKNOWN")


def test_wildcard_reads(client: Client, everything: Program) -> None:
    choice = everything.action("set_choice", b"\x01")
    assert client.insert(everything.entry("wide_table", [exact(1, b"\x01")], choice)) == "OK"
    assert client.insert(everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], choice)) == "OK"
    everywhere = p4rt.Entity(table_entry=p4rt.TableEntry())
    names = {v: k for k, v in everything.ids.items()}
    found = [names[entry_of(e).table_id] for e in client.read_ok(everywhere)]
    const = ["const_table"] * 2 + ["const_ternary_table"] * 3
    assert found == ["exact_table", "wide_table", *const]
    defaults = p4rt.Entity(table_entry=p4rt.TableEntry(is_default_action=True))
    found = [names[entry_of(e).table_id] for e in client.read_ok(defaults)]
    assert found == [t.preamble.alias for t in everything.p4info.tables]
    wrong = everything.entry("exact_table")
    wrong.table_entry.table_id = 12345
    assert client.read(wrong) == ([], "INVALID_ARGUMENT")
    # Entities in front of an error are returned.
    found_entities, code = client.read(everything.entry("wide_table"), wrong, everything.entry("exact_table"))
    assert (len(found_entities), code) == (1, "INVALID_ARGUMENT")


def test_reads_follow_the_order_of_handles(client: Client, everything: Program) -> None:
    nothing = everything.action("nothing")

    def entry(key: int) -> Any:
        return everything.entry("wide_table", [exact(1, bytes([key]))], nothing)

    for key in (5, 3, 9, 1):
        assert client.insert(entry(key)) == "OK"
    assert client.delete(entry(3)) == "OK"
    assert client.insert(entry(7)) == "OK"
    keys = [entry_of(e).match[0].exact.value[0] for e in client.read_ok(everything.entry("wide_table"))]
    assert keys == [5, 7, 9, 1]


def test_idle_timeout_fields(client: Client, everything: Program) -> None:
    choice = everything.action("set_choice", b"\x01")
    match = [exact(1, b"\x01"), exact(2, b"\x01")]
    # BMv2 computes the remaining time in 32 bits of nanoseconds, so times beyond 4.29 s are wrong there.
    aged = everything.entry("exact_table", match, choice, idle_timeout_ns=4_000_000_000)
    assert client.insert(everything.entry("exact_table", match, choice, idle_timeout_ns=-1)) == "INVALID_ARGUMENT"
    assert client.insert(aged) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table"))
    assert entry_of(read).idle_timeout_ns == 4_000_000_000
    assert not entry_of(read).HasField("time_since_last_hit")
    request = everything.entry("exact_table")
    request.table_entry.time_since_last_hit.SetInParent()
    (read,) = client.read_ok(request)
    assert 0 <= entry_of(read).time_since_last_hit.elapsed_ns < 1_000_000_000
    plain = everything.entry("lpm_table", [], everything.action("nothing"), idle_timeout_ns=1)
    assert client.insert(plain) == "INVALID_ARGUMENT"
    request = everything.entry("lpm_table")
    request.table_entry.time_since_last_hit.SetInParent()
    assert client.read(request) == ([], "INVALID_ARGUMENT")
    assert client.modify(everything.entry("exact_table", match, choice)) == "OK"
    (read,) = client.read_ok(everything.entry("exact_table"))
    assert entry_of(read).idle_timeout_ns == 0
    default = everything.entry("exact_table", is_default_action=True)
    default.table_entry.time_since_last_hit.SetInParent()
    assert client.read(default) == ([], "INVALID_ARGUMENT")


def test_entities_that_are_not_supported(client: Client, everything: Program) -> None:
    register = p4rt.Entity(register_entry=p4rt.RegisterEntry(register_id=everything.ids["words"]))
    assert client.read(register) == ([], "UNIMPLEMENTED")
    assert client.modify(register) == "UNIMPLEMENTED"
    value_set = p4rt.Entity(value_set_entry=p4rt.ValueSetEntry(value_set_id=1))
    assert client.read(value_set) == ([], "UNIMPLEMENTED")
    assert client.insert(value_set) == "UNIMPLEMENTED"
    extern = p4rt.Entity(extern_entry=p4rt.ExternEntry(extern_type_id=1))
    assert client.read(extern) == ([], "UNKNOWN")
    assert client.insert(extern) == "UNIMPLEMENTED"
    assert client.read(p4rt.Entity()) == ([], "UNKNOWN")
    assert client.insert(p4rt.Entity()) == "UNKNOWN"
    assert client.read() == ([], "OK")
