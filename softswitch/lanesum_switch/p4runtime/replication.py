# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions of the packet replication engine (specification, section 9.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import CloneSession, Replica
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.matches import decode_port
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, invalid_type, on_target

_Update = p4rt.Update

# PI reserves the upper half of the 16 bit group ids for the groups of clone sessions.
MAX_GROUP_ID = 1 << 15
MAX_SESSION_ID = 1 << 15

# Table sizes of simple_switch, including groups of clone sessions. A node is one replication id of one group.
MAX_GROUPS = 4096
MAX_NODES = 4096


@dataclass(frozen=True, slots=True, order=True)
class _Port:
    """A replica's port with its wire form, which reads return. Order and equality are those of PI."""

    kind: int  # field number in the oneof
    number: int
    length: int


@dataclass(slots=True)
class _Group:
    nodes: dict[int, set[_Port]] = field(default_factory=dict)  # replication id -> ports

    def replicas(self) -> tuple[Replica, ...]:
        return tuple(Replica(p.number, rid) for rid, ports in self.nodes.items() for p in sorted(ports))


@dataclass(slots=True)
class _Session:
    group: _Group
    packet_length_bytes: int


class ReplicationManager:
    """All groups and sessions of one program; ``switch`` returns the switch that runs it."""

    def __init__(self, switch: Callable[[], EmbeddedSwitch]) -> None:
        self._switch = switch
        self._groups: dict[int, _Group] = {}
        self._sessions: dict[int, _Session] = {}

    def write(self, kind: int, message: Any) -> None:
        """Apply one update of a ``p4.v1.PacketReplicationEngineEntry``. Raises StatusError."""
        which = message.WhichOneof("type")
        if which == "multicast_group_entry":
            self._write_group(kind, message.multicast_group_entry)
        elif which == "clone_session_entry":
            self._write_session(kind, message.clone_session_entry)
        else:
            raise invalid("The entry is neither a multicast group nor a clone session")

    def read(self, request: Any, response: Any) -> None:
        """Answer one entry of a ReadRequest; id 0 reads all. Raises StatusError NOT_FOUND for an unknown id."""
        which = request.WhichOneof("type")
        if which == "multicast_group_entry":
            self._read_groups(request.multicast_group_entry, response)
        elif which == "clone_session_entry":
            self._read_sessions(request.clone_session_entry, response)
        else:
            raise invalid("The entry is neither a multicast group nor a clone session")

    def _write_group(self, kind: int, message: Any) -> None:
        group_id = message.multicast_group_id
        if group_id == 0:
            raise invalid("0 is not the id of a multicast group: give at least 1")
        _check_group_range(group_id)
        if kind == _Update.DELETE:
            self._group(group_id)
            with on_target(f"deleting multicast group {group_id}"):
                self._switch().set_multicast_group(group_id, None)
            del self._groups[group_id]
            return
        if kind not in (_Update.INSERT, _Update.MODIFY):
            raise invalid_type(kind)
        if kind == _Update.INSERT and group_id in self._groups:
            raise StatusError(Code.ALREADY_EXISTS, f"Multicast group {group_id} exists already: use MODIFY")
        old = self._group(group_id) if kind == _Update.MODIFY else None
        group = _parse_replicas(message.replicas)
        self._check_room(group, old)
        with on_target(f"multicast group {group_id}"):
            self._switch().set_multicast_group(group_id, group.replicas())
        self._groups[group_id] = group

    def _group(self, group_id: int) -> _Group:
        group = self._groups.get(group_id)
        if group is None:
            raise StatusError(Code.NOT_FOUND, f"There is no multicast group {group_id}")
        return group

    def _check_room(self, new: _Group, old: _Group | None) -> None:
        groups = [*self._groups.values(), *(s.group for s in self._sessions.values())]
        if old is None and len(groups) >= MAX_GROUPS:
            raise StatusError(Code.UNKNOWN, f"The switch has {MAX_GROUPS} multicast groups and clone sessions already")
        nodes = sum(len(g.nodes) for g in groups if g is not old) + len(new.nodes)
        if nodes > MAX_NODES:
            raise StatusError(Code.UNKNOWN, f"The switch has room for {MAX_NODES} replication ids in all groups")

    def _read_groups(self, request: Any, response: Any) -> None:
        wanted = request.multicast_group_id
        _check_group_range(wanted)
        if wanted:
            self._group(wanted)
        for group_id, group in self._groups.items():
            if wanted in (0, group_id):
                entity = response.entities.add().packet_replication_engine_entry.multicast_group_entry
                entity.multicast_group_id = group_id
                _write_replicas(group, entity.replicas)

    def _write_session(self, kind: int, message: Any) -> None:
        session_id = message.session_id
        if session_id == 0:
            raise invalid("0 is not the id of a clone session: give at least 1")
        if kind not in (_Update.INSERT, _Update.MODIFY, _Update.DELETE):
            raise invalid_type(kind)
        if session_id >= MAX_SESSION_ID:
            raise invalid(f"Clone session ids are less than {MAX_SESSION_ID}, not {session_id}")
        if kind == _Update.INSERT:
            self._insert_session(session_id, message)
        elif kind == _Update.MODIFY:
            self._modify_session(session_id, message)
        else:
            self._session(session_id)
            with on_target(f"deleting clone session {session_id}"):
                self._switch().set_clone_session(session_id, None)
            del self._sessions[session_id]

    def _insert_session(self, session_id: int, message: Any) -> None:
        if session_id in self._sessions:
            raise StatusError(Code.ALREADY_EXISTS, f"Clone session {session_id} exists already: use MODIFY")
        group = _parse_replicas(message.replicas)
        self._check_room(group, None)
        _check_session(message)
        self._install(session_id, _Session(group, message.packet_length_bytes))

    def _modify_session(self, session_id: int, message: Any) -> None:
        old = self._session(session_id)
        group = _parse_replicas(message.replicas)
        self._check_room(group, old.group)
        if message.class_of_service or message.packet_length_bytes != old.packet_length_bytes:
            try:
                _check_session(message)
            except StatusError:
                # PI changes the replicas before the target refuses the rest, and leaves them so.
                self._install(session_id, _Session(group, old.packet_length_bytes))
                raise
        self._install(session_id, _Session(group, message.packet_length_bytes))

    def _install(self, session_id: int, session: _Session) -> None:
        with on_target(f"clone session {session_id}"):
            self._switch().set_clone_session(session_id, CloneSession(session.group.replicas()))
        self._sessions[session_id] = session

    def _session(self, session_id: int) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise StatusError(Code.NOT_FOUND, f"There is no clone session {session_id}")
        return session

    def _read_sessions(self, request: Any, response: Any) -> None:
        if request.session_id:
            self._session(request.session_id)
        for session_id, session in self._sessions.items():
            if request.session_id in (0, session_id):
                entity = response.entities.add().packet_replication_engine_entry.clone_session_entry
                entity.session_id = session_id
                entity.packet_length_bytes = session.packet_length_bytes
                _write_replicas(session.group, entity.replicas)


def _check_group_range(group_id: int) -> None:
    if group_id >= MAX_GROUP_ID:
        raise StatusError(Code.OUT_OF_RANGE, f"Multicast group ids are less than {MAX_GROUP_ID}, not {group_id}")


def _check_session(message: Any) -> None:
    if message.class_of_service != 0:
        raise StatusError(
            Code.UNIMPLEMENTED, f"Clone sessions have no class of service: it must be 0, not {message.class_of_service}"
        )
    # BMv2 does not truncate clones for P4Runtime: PI passes the length cut to 16 bits.
    if message.packet_length_bytes % (1 << 16) != 0:
        raise StatusError(
            Code.UNKNOWN,
            f"The switch does not truncate clones: packet_length_bytes must be 0, not {message.packet_length_bytes}",
        )


def _parse_replicas(replicas: Any) -> _Group:
    group = _Group()
    for replica in replicas:
        kind = replica.WhichOneof("port_kind")
        if kind == "egress_port":
            port = _Port(p4rt.Replica.EGRESS_PORT_FIELD_NUMBER, replica.egress_port, 0)
        elif kind == "port":
            port = _Port(p4rt.Replica.PORT_FIELD_NUMBER, decode_port(replica.port), len(replica.port))
        else:
            raise invalid("A replica has no port: set port or egress_port")
        ports = group.nodes.setdefault(replica.instance, set())
        if port in ports:
            raise invalid(f"Port {port.number} with instance {replica.instance} is in the group twice")
        ports.add(port)
    return group


def _write_replicas(group: _Group, replicas: Any) -> None:
    for rid, ports in group.nodes.items():
        for port in sorted(ports):
            replica = replicas.add(instance=rid)
            if port.kind == p4rt.Replica.EGRESS_PORT_FIELD_NUMBER:
                replica.egress_port = port.number
            else:
                replica.port = port.number.to_bytes(port.length, "big")
