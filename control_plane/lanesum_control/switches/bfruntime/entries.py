# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Table entries and multicast groups of P4Runtime as those of BF Runtime, and back.

The rest of the controller speaks of entries as P4Runtime does. p4c gives tables, fields and actions the same numbers in
both descriptions of a program; values differ: BF Runtime has all bytes of a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import (
    COUNTED_BYTES,
    COUNTED_PACKETS,
    PRIORITY,
    BfRuntimeTable,
    Description,
    Field,
)
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.protobufs import p4runtime_pb2

GROUPS, NODES = "$pre.mgid", "$pre.node"
_MAX_REPLICAS = 256
#: Bit of an instance that no replica has: the node is in no group, or copies to a LAG.
_STRAY = 1 << 16


def check_numbers(names: P4InfoNames, program: Description) -> None:
    """Check that P4Info and bf-rt description number all tables, fields and actions alike. Raises PipelineError."""
    for name, numbers in names.numbers().items():
        table = program.by_name.get(name)
        found = None if table is None else (table.id, _keys(table), _actions(table))
        if found != numbers:
            raise PipelineError(
                f"Table {name} has other numbers in the bf-rt description than in the P4Info.",
                "Use both of one build: make tofino.",
            )


def _keys(table: BfRuntimeTable) -> dict[int, tuple[str, int]]:
    return {key.id: (key.kind, key.bits) for key in table.keys.values() if key.name != PRIORITY}


def _actions(table: BfRuntimeTable) -> dict[int, dict[int, int]]:
    return {action.id: {param.id: param.bits for param in action.params.values()} for action in table.actions.values()}


def to_bfruntime(program: Description, entry: p4runtime_pb2.TableEntry) -> Any:
    """Return the ``TableEntry`` of BF Runtime: a key, an entry, or the wildcard of a table."""
    table = program.by_id[entry.table_id]
    found = messages.TableEntry(table_id=table.id)
    for match in entry.match:
        key = found.key.fields.add(field_id=match.field_id)
        size = table.keys[match.field_id].size
        if match.WhichOneof("field_match_type") == "lpm":
            key.lpm.value, key.lpm.prefix_len = match.lpm.value.rjust(size, b"\0"), match.lpm.prefix_len
        else:
            key.exact.value = match.exact.value.rjust(size, b"\0")
    if entry.HasField("action"):
        action = entry.action.action
        found.data.action_id = action.action_id
        params = table.actions[action.action_id].params
        for param in action.params:
            found.data.fields.add(field_id=param.param_id, stream=param.value.rjust(params[param.param_id].size, b"\0"))
    found.table_flags.from_hw = entry.HasField("counter_data")
    return found


def to_p4runtime(program: Description, entry: Any) -> p4runtime_pb2.TableEntry:
    """Return the ``TableEntry`` of P4Runtime. Raises PipelineError for a number that the program lacks."""
    found = p4runtime_pb2.TableEntry(table_id=entry.table_id)
    try:
        table = program.by_id[entry.table_id]
        for key in entry.key.fields:
            _add_match(found, table.keys[key.field_id], key)
        action = table.actions.get(entry.data.action_id)
        if action is not None:
            found.action.action.action_id = action.id
        for datum in entry.data.fields:
            _add_datum(found, {} if action is None else action.params, table.data, datum)
    except KeyError as error:
        raise PipelineError(
            f"The switch has an entry of table {entry.table_id} with number {error}, which this program lacks.",
            "It runs another program or version: let the controller push its own pipeline.",
        ) from None
    return found


def _add_match(found: p4runtime_pb2.TableEntry, field: Field, key: Any) -> None:
    """Add a key field, except for wildcards, as a read over P4Runtime."""
    if field.name == PRIORITY:
        found.priority = int.from_bytes(key.exact.value, "big")
    elif field.kind == "exact":
        found.match.add(field_id=field.id).exact.value = key.exact.value
    elif field.kind == "lpm" and key.lpm.prefix_len:
        lpm = found.match.add(field_id=field.id).lpm
        lpm.value, lpm.prefix_len = key.lpm.value, key.lpm.prefix_len
    elif field.kind == "ternary" and any(key.ternary.mask):
        ternary = found.match.add(field_id=field.id).ternary
        ternary.value, ternary.mask = key.ternary.value, key.ternary.mask
    elif field.kind == "range":
        found.match.add(field_id=field.id).range.MergeFromString(key.range.SerializeToString())


def _add_datum(found: p4runtime_pb2.TableEntry, params: dict[int, Field], data: dict[int, Field], datum: Any) -> None:
    if datum.field_id in params:
        found.action.action.params.add(param_id=datum.field_id, value=datum.stream)
    elif data[datum.field_id].name == COUNTED_PACKETS:
        found.counter_data.packet_count = int.from_bytes(datum.stream, "big")
    elif data[datum.field_id].name == COUNTED_BYTES:
        found.counter_data.byte_count = int.from_bytes(datum.stream, "big")


@dataclass(frozen=True, slots=True)
class _Node:
    rid: int
    ports: tuple[int, ...]
    has_lags: bool


class ReplicationEngine:
    """Multicast groups as the chip's packet replication engine has them, for the agent with the tables ``fixed``.

    A node makes copies with one replication id, and a group has a list of nodes. Each replica of a group is a node of
    its own, numbered after the group, so that nodes left behind by a half-done write belong to a group. Raises
    PipelineError if the agent lacks a table.
    """

    def __init__(self, fixed: Description) -> None:
        self._groups, self._nodes = groups, nodes = fixed.named(GROUPS), fixed.named(NODES)
        self._group, self._node = groups.key("$MGID"), nodes.key("$MULTICAST_NODE_ID")
        self._listed = groups.datum("$MULTICAST_NODE_ID")
        self._excludes = groups.datum("$MULTICAST_NODE_L1_XID_VALID")
        self._exclusions = groups.datum("$MULTICAST_NODE_L1_XID")
        self._rid = nodes.datum("$MULTICAST_RID")
        self._lags, self._ports = nodes.datum("$MULTICAST_LAG_ID"), nodes.datum("$DEV_PORT")

    @property
    def tables(self) -> tuple[int, int]:
        """Ids of the tables that ``groups`` reads."""
        return self._groups.id, self._nodes.id

    def insertion(self, group: p4runtime_pb2.MulticastGroupEntry) -> Iterator[Any]:
        """Yield the updates that add a group. Raises SwitchWriteError."""
        if len(group.replicas) > _MAX_REPLICAS:
            raise SwitchWriteError(
                f"Group {group.multicast_group_id} has {len(group.replicas)} replicas; {_MAX_REPLICAS} are possible."
            )
        first = group.multicast_group_id * _MAX_REPLICAS
        nodes = range(first, first + len(group.replicas))
        for node, replica in zip(nodes, group.replicas, strict=True):
            entry = self._nodes.entry(self._node, node)
            entry.data.fields.add(field_id=self._rid.id, stream=self._rid.encode(replica.instance))
            entry.data.fields.add(field_id=self._lags.id).int_arr_val.SetInParent()
            entry.data.fields.add(field_id=self._ports.id).int_arr_val.val.append(replica.egress_port)
            yield _update(messages.Update.INSERT, entry)
        entry = self._groups.entry(self._group, group.multicast_group_id)
        entry.data.fields.add(field_id=self._listed.id).int_arr_val.val.extend(nodes)
        entry.data.fields.add(field_id=self._excludes.id).bool_arr_val.val.extend(False for _ in nodes)
        entry.data.fields.add(field_id=self._exclusions.id).int_arr_val.val.extend(0 for _ in nodes)
        yield _update(messages.Update.INSERT, entry)

    def deletion(self, group: int, entries: Iterable[Any]) -> Iterator[Any]:
        """Yield the updates that delete a group and its nodes, of the ``entries`` of a read.

        A group without its entry, of which a write left nodes, can be deleted; one without both is refused.
        """
        groups, nodes = self._members(entries), self._copies(entries)
        own = sorted(node for node in nodes if node // _MAX_REPLICAS == group)
        if group in groups or not own:
            yield _update(messages.Update.DELETE, self._groups.entry(self._group, group))
        for node in own:
            yield _update(messages.Update.DELETE, self._nodes.entry(self._node, node))

    def _copies(self, entries: Iterable[Any]) -> dict[int, _Node]:
        """Return the nodes by id."""
        found = {}
        for entry in entries:
            if entry.table_id == self._nodes.id and entry.key.fields:
                data = {datum.field_id: datum for datum in entry.data.fields}
                rid, ports, lags = (data.get(one.id) for one in (self._rid, self._ports, self._lags))
                found[_number(entry.key.fields[0].exact.value)] = _Node(
                    0 if rid is None else _number(rid.stream),
                    () if ports is None else tuple(ports.int_arr_val.val),
                    lags is not None and bool(lags.int_arr_val.val),
                )
        return found

    def _members(self, entries: Iterable[Any]) -> dict[int, list[int]]:
        """Return the nodes of each group."""
        found = {}
        for entry in entries:
            if entry.table_id == self._groups.id and entry.key.fields:
                listed = [d.int_arr_val.val for d in entry.data.fields if d.field_id == self._listed.id]
                found[_number(entry.key.fields[0].exact.value)] = list(listed[0]) if listed else []
        return found

    def groups(self, entries: Iterable[Any]) -> Iterator[p4runtime_pb2.Entity]:
        """Yield the groups among the entries of a read, and groups of nodes that are in none.

        A node or link that ``insertion`` does not write becomes a replica that no group of a controller has.
        """
        entries = list(entries)
        nodes, members = self._copies(entries), self._members(entries)
        used = {node for listed in members.values() for node in listed}
        stray = {node for node in nodes if node not in used and node >= _MAX_REPLICAS}
        for group in sorted(members.keys() | {node // _MAX_REPLICAS for node in stray}):
            entity = p4runtime_pb2.Entity()
            found = entity.packet_replication_engine_entry.multicast_group_entry
            found.multicast_group_id = group
            for node in members.get(group, []):
                for port in nodes[node].ports if node in nodes else ():
                    found.replicas.add(egress_port=port, instance=nodes[node].rid)
                if node in nodes and nodes[node].has_lags:
                    found.replicas.add(instance=_STRAY)
            if any(node // _MAX_REPLICAS == group for node in stray):
                found.replicas.add(instance=_STRAY)
            yield entity


def _update(kind: int, entry: Any) -> Any:
    update = messages.Update(type=kind)
    update.entity.table_entry.CopyFrom(entry)
    return update


def _number(value: bytes) -> int:
    return int.from_bytes(value, "big")
