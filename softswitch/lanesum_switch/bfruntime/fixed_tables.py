# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The agent's own tables: multicast groups and nodes, and ports, with the ids and names of a Tofino agent."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import BfRuntimeTable, Description
from lanesum_fabric.bfruntime.ports import CORRECTIONS, PORTS, SPEEDS
from lanesum_fabric.tofino.chips import PIPES, PORTS_PER_PIPE
from lanesum_switch.api import AlreadyExistsError, NotFoundError, Replica, TableFullError
from lanesum_switch.bfruntime.values import decode, fields_by_id, only_key, wanted
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.status import Code, StatusError, invalid

_MGID, _NODE, _PORT = 0xFF020001, 0xFF020002, 0xFF010001


def _field(number: int, name: str, kind: str, *, repeated: bool = False) -> dict[str, Any]:
    return {"id": number, "name": name, "repeated": repeated, "annotations": [], "type": {"type": kind}}


def _table(number: int, name: str, kind: str, size: int, key: dict[str, Any], *data: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "table_type": kind,
        "size": size,
        "key": [{**key, "mandatory": True, "match_type": "Exact"}],
        "data": [{"mandatory": False, "read_only": False, "singleton": one} for one in data],
        "supported_operations": [],
        "attributes": [],
    }


DESCRIPTION = json.dumps(
    {
        "schema_version": "1.0.0",
        "tables": [
            _table(
                _MGID,
                "$pre.mgid",
                "PreMgid",
                1 << 16,
                _field(1, "$MGID", "uint16"),
                _field(1, "$MULTICAST_NODE_ID", "uint32", repeated=True),
                _field(2, "$MULTICAST_NODE_L1_XID_VALID", "bool", repeated=True),
                _field(3, "$MULTICAST_NODE_L1_XID", "uint16", repeated=True),
            ),
            _table(
                _NODE,
                "$pre.node",
                "PreNode",
                1 << 16,
                _field(1, "$MULTICAST_NODE_ID", "uint32"),
                _field(1, "$MULTICAST_RID", "uint16"),
                _field(2, "$MULTICAST_LAG_ID", "uint8", repeated=True),
                _field(3, "$DEV_PORT", "uint32", repeated=True),
            ),
            _table(
                _PORT,
                "$PORT",
                "PortConfigure",
                512,
                _field(1, "$DEV_PORT", "uint32"),
                _field(1, "$SPEED", "string"),
                _field(2, "$FEC", "string"),
                _field(3, "$N_LANES", "uint32"),
                _field(4, "$PORT_ENABLE", "bool"),
            ),
        ],
    }
).encode()


_Update = messages.Update
MAX_NODES = 1 << 16
_MAX_PORTS = 1 << 9
_MAX_MEMBERS = 1 << 12


@dataclass(frozen=True, slots=True)
class _Node:
    rid: int
    ports: tuple[int, ...]


class NodeTable:
    """Table ``$pre.node``: copies with one replication id to a list of ports."""

    def __init__(self, described: BfRuntimeTable) -> None:
        self._described = described
        self._key = described.key("$MULTICAST_NODE_ID")
        self._rid, self._ports = described.datum("$MULTICAST_RID"), described.datum("$DEV_PORT")
        self._lags = described.datum("$MULTICAST_LAG_ID")
        self.by_id: dict[int, _Node] = {}
        self.used: dict[int, int] = {}  # groups of each node

    def write(self, kind: int, entry: Any) -> None:
        """Handle an update. Raises StatusError, SwitchError."""
        number = decode(only_key(entry, self._described), self._key)
        if kind == _Update.INSERT:
            if number in self.by_id:
                raise AlreadyExistsError(f"Node {number} exists.")
            if len(self.by_id) >= MAX_NODES:
                raise TableFullError(f"There are {MAX_NODES} nodes already: delete one first.")
            self.by_id[number] = self._node(entry)
        elif kind == _Update.DELETE:
            if number not in self.by_id:
                raise NotFoundError(f"There is no node {number}.")
            if self.used.get(number):
                raise invalid(f"Node {number} is in a group: remove it from the group first")
            del self.by_id[number]
            self.used.pop(number, None)
        else:
            raise StatusError(Code.UNIMPLEMENTED, "Nodes take INSERT and DELETE")

    def _node(self, entry: Any) -> _Node:
        given = fields_by_id(entry.data.fields, self._described.data, "The node")
        if self._rid.id not in given or self._ports.id not in given or self._lags.id not in given:
            raise invalid("A node needs $MULTICAST_RID, $MULTICAST_LAG_ID and $DEV_PORT")
        ports = tuple(given[self._ports.id].int_arr_val.val)
        if given[self._lags.id].int_arr_val.val:
            raise StatusError(Code.UNIMPLEMENTED, "LAGs are not supported: leave the list of a node empty")
        if len(set(ports)) < len(ports) or any(port >= _MAX_PORTS for port in ports):
            raise invalid(f"The ports of a node are less than {_MAX_PORTS}, and each is there once: {[*ports[:16]]}")
        return _Node(decode(given[self._rid.id].stream, self._rid), ports)

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield one node, or all. Raises StatusError, SwitchError."""
        for number in wanted(entry, self._described, self._key, self.by_id, "node"):
            node = self.by_id[number]
            found = self._described.entry(self._key, number)
            found.data.fields.add(field_id=self._rid.id, stream=self._rid.encode(node.rid))
            found.data.fields.add(field_id=self._lags.id).int_arr_val.SetInParent()
            found.data.fields.add(field_id=self._ports.id).int_arr_val.val.extend(node.ports)
            yield found


class GroupTable:
    """Table ``$pre.mgid``: the nodes of each multicast group, which ``switch`` receives as replicas."""

    def __init__(self, described: BfRuntimeTable, nodes: NodeTable, switch: EmbeddedSwitch) -> None:
        self._described, self._nodes, self.switch = described, nodes, switch
        self._key, self._members = described.key("$MGID"), described.datum("$MULTICAST_NODE_ID")
        self._exclusions = described.datum("$MULTICAST_NODE_L1_XID_VALID")
        self._by_id: dict[int, tuple[int, ...]] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Handle an update. Raises StatusError, SwitchError."""
        number = decode(only_key(entry, self._described), self._key)
        if kind not in (_Update.INSERT, _Update.MODIFY, _Update.DELETE):
            raise StatusError(Code.UNIMPLEMENTED, "Groups take INSERT, MODIFY and DELETE")
        if kind == _Update.INSERT and number in self._by_id:
            raise AlreadyExistsError(f"Multicast group {number} exists.")
        if kind != _Update.INSERT and number not in self._by_id:
            raise NotFoundError(f"There is no multicast group {number}.")
        members = () if kind == _Update.DELETE else self._listed(entry)
        replicas = [
            Replica(port, self._nodes.by_id[node].rid) for node in members for port in self._nodes.by_id[node].ports
        ]
        self.switch.set_multicast_group(number, None if kind == _Update.DELETE else replicas)
        for node in self._by_id.pop(number, ()):
            self._nodes.used[node] -= 1
        if kind != _Update.DELETE:
            self._by_id[number] = members
            for node in members:
                self._nodes.used[node] = self._nodes.used.get(node, 0) + 1

    def _listed(self, entry: Any) -> tuple[int, ...]:
        given = fields_by_id(entry.data.fields, self._described.data, "The group")
        members = tuple(given[self._members.id].int_arr_val.val) if self._members.id in given else ()
        excluded = list(given[self._exclusions.id].bool_arr_val.val) if self._exclusions.id in given else []
        if len(excluded) != len(members) or len(members) > _MAX_MEMBERS:
            raise invalid(
                f"A group has at most {_MAX_MEMBERS} nodes and an exclusion flag for each,"
                f" not {len(members)} nodes and {len(excluded)} flags"
            )
        if any(excluded):
            raise StatusError(Code.UNIMPLEMENTED, "Exclusion ids are not supported: each flag must be false")
        missing = [node for node in members if node not in self._nodes.by_id]
        if missing or len(set(members)) < len(members):
            raise invalid(f"Node {missing[0]} does not exist" if missing else "A node is in the group twice")
        return members

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield one group, or all. Raises StatusError, SwitchError."""
        for number in wanted(entry, self._described, self._key, self._by_id, "multicast group"):
            members = self._by_id[number]
            found = self._described.entry(self._key, number)
            found.data.fields.add(field_id=self._members.id).int_arr_val.val.extend(members)
            found.data.fields.add(field_id=self._exclusions.id).bool_arr_val.val.extend(False for _ in members)
            yield found


def port_key(port: int) -> Any:
    """Return an entry of ``$PORT`` with its key alone."""
    table = Description(DESCRIPTION).named(PORTS)
    return table.entry(table.key("$DEV_PORT"), port)


def _check_name(given: Any, what: str, known: Collection[str]) -> None:
    if given is None or given.str_val not in known:
        name = "none" if given is None else repr(given.str_val[:64])
        raise invalid(f"The {what} of a port is one of {', '.join(known)}, not {name}")


class Ports:
    """Ports that were added. Settings are kept and read back, and change nothing in the embedded switch."""

    def __init__(self, described: BfRuntimeTable) -> None:
        self._described, self._key = described, described.key("$DEV_PORT")
        self._speed, self._correction = described.datum("$SPEED"), described.datum("$FEC")
        self._lanes = described.datum("$N_LANES")
        self._by_port: dict[int, dict[int, Any]] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Handle an update. Raises StatusError, SwitchError."""
        port = decode(only_key(entry, self._described), self._key)
        if port >= PIPES * PORTS_PER_PIPE:
            raise invalid(f"There is no port {port}: ports are less than {PIPES * PORTS_PER_PIPE}")
        if kind == _Update.INSERT:
            if port in self._by_port:
                raise AlreadyExistsError(f"Port {port} is there already.")
            self._by_port[port] = self._settings(entry)
        elif kind == _Update.DELETE:
            if port not in self._by_port:
                raise NotFoundError(f"Port {port} was not added.")
            del self._by_port[port]
        else:
            raise StatusError(Code.UNIMPLEMENTED, "Ports take INSERT and DELETE")

    def _settings(self, entry: Any) -> dict[int, Any]:
        given = fields_by_id(entry.data.fields, self._described.data, "The port")
        speed, correction = given.get(self._speed.id), given.get(self._correction.id)
        _check_name(speed, "speed", [f"BF_SPEED_{one}" for one in SPEEDS])
        _check_name(correction, "error correction", CORRECTIONS.values())
        if self._lanes.id in given:
            decode(given[self._lanes.id].stream, self._lanes)
        return given

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield one port, or all. Raises StatusError, SwitchError."""
        for port in wanted(entry, self._described, self._key, self._by_port, "port"):
            found = self._described.entry(self._key, port)
            found.data.fields.extend(self._by_port[port].values())
            yield found
