# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a P4Info with a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence

from lanesum_switch.bmv2 import ir
from lanesum_switch.p4runtime.p4info import ActionInfo, P4InfoIndex, TableInfo
from lanesum_switch.p4runtime.status import StatusError, invalid

# BMv2 has no optional matches: p4c writes them as ternary ones.
_ACCEPTED_KINDS = {
    "exact": ("exact",),
    "lpm": ("lpm",),
    "ternary": ("ternary",),
    "range": ("range",),
    "optional": ("ternary", "optional"),
}

# Maximum priorities of BMv2 and P4Runtime, which count in opposite directions.
_MAX_PRIORITY = 2**31 - 1


def check_program(index: P4InfoIndex, programs: Sequence[ir.Program]) -> dict[str, list[int]]:
    """Compare the two halves of a forwarding pipeline configuration; ``programs`` are the parts of the program.

    BMv2 does not: it loads both, and fails or aborts at the first access to a missing object. Any pair that BMv2 would
    accept and run is accepted.

    Returns:
        The P4Runtime priorities of the program's own entries, by table, for the tables with priorities.

    Raises StatusError: INVALID_ARGUMENT naming the first object of the P4Info that is missing or different in the
    program.
    """
    actions: defaultdict[str, list[ir.Action]] = defaultdict(list)
    for program in programs:
        for action in program.actions.values():
            actions[action.name].append(action)
    for wanted_action in index.actions.values():
        # Actions that no table uses are in the P4Info, but may be missing in the program.
        if wanted_action.name in actions:
            _check_action(wanted_action, actions[wanted_action.name])
    tables = {table.name: table for program in programs for table in program.tables}
    for info in index.tables.values():
        if info.name not in tables:
            raise _mismatch(f"The program has no table {info.name}, which the P4Info describes")
        _check_table(index, info, tables[info.name])
    for what, wanted, found in (
        ("action profile", index.profiles, [program.profiles for program in programs]),
        ("counter", index.counters, [program.counters for program in programs]),
        ("meter", index.meters, [program.meters for program in programs]),
        ("digest", index.digests, [program.digests for program in programs]),
    ):
        _check_names(what, (info.name for info in wanted.values()), {name for names in found for name in names})
    return {
        info.name: [_MAX_PRIORITY - entry.priority for entry in tables[info.name].const_entries]
        for info in index.tables.values()
        if info.needs_priority and tables[info.name].entries_const
    }


def _mismatch(message: str) -> StatusError:
    return invalid(f"{message}: send the P4Info and the device config of one compilation")


def _check_names(what: str, wanted: Iterable[str], found: Container[str]) -> None:
    for name in wanted:
        if name not in found:
            raise _mismatch(f"The program has no {what} {name}, which the P4Info describes")


def _check_action(action: ActionInfo, copies: Sequence[ir.Action]) -> None:
    """Raise StatusError unless a copy has these parameters. A compiler copies an action that a program also calls."""
    wanted = [p.bits for p in action.params]
    found = [[bits for _, bits in one.params] for one in copies]
    if not any(
        len(widths) == len(wanted)
        and all(p.translated or p.bits == bits for p, bits in zip(action.params, widths, strict=True))
        for widths in found
    ):
        raise _mismatch(
            f"The parameters of action {action.name} have widths {wanted} in the P4Info and {found[-1]} in the program"
        )


def _check_table(index: P4InfoIndex, info: TableInfo, table: ir.TableNode) -> None:
    if len(table.keys) != len(info.fields):
        raise _mismatch(
            f"Table {info.name} has {len(info.fields)} match fields in the P4Info and {len(table.keys)} in the program"
        )
    for field, key in zip(info.fields, table.keys, strict=True):
        if key.kind not in _ACCEPTED_KINDS[field.kind]:
            raise _mismatch(
                f"Field {field.name} of table {info.name} is matched by {field.kind} in the P4Info and by {key.kind} in"
                " the program"
            )
        # Types without bits of their own, such as error, have width 0 in the P4Info.
        if not field.translated and field.bits not in (0, key.bits):
            raise _mismatch(
                f"Field {field.name} of table {info.name} has {field.bits} bits in the P4Info and {key.bits} in the"
                " program"
            )
    known = {action.name for action in table.actions}
    for action_id in info.scopes:
        action = index.actions.get(action_id)
        if action is None:
            raise invalid(f"Table {info.name} refers to action {action_id:#x}, which the P4Info does not describe")
        if action.name not in known:
            raise _mismatch(f"Table {info.name} of the program has no action {action.name}")
