# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Differences that a reconciliation finds, and the order of its repairs, on a switch in memory."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable

import pytest

from lanesum_control.planner.network import Network
from lanesum_control.switches.client import key_of
from lanesum_control.switches.reconcile import reconcile
from lanesum_control.switches.switch import DELETE, FORWARD, INSERT, MEMBER, MODIFY, P4RuntimeSwitch
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import Member, SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.topology import load

NAMES = bmv2_pipeline().names
HOSTS = list(Network.of(load("star4"), loopback=False).seen["s1"].values())
JOB = SwitchJob(1, 7, 0, 10, 1, tuple(Member(bit, (host,), 19539) for bit, host in enumerate(HOSTS[:2])), ops=())
GROUP = "multicast group"


class Connection:
    """Connection to a switch that consists of its entities. ``writes``: (update, table) of each request."""

    def __init__(self) -> None:
        self.names = NAMES
        self.entities: dict[bytes, p4runtime_pb2.Entity] = {}
        self.writes: list[list[tuple[int, str]]] = []

    def read(self, wanted: Iterable[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.Entity]:
        tables = {entity.table_entry.table_id for entity in wanted}  # 0 for groups
        return [entity for entity in self.entities.values() if entity.table_entry.table_id in tables]

    def write(self, updates: Iterable[tuple[int, p4runtime_pb2.Entity]]) -> None:
        done = list(updates)
        self.writes += [[(kind, table_of(entity)) for kind, entity in done]] if done else []
        for kind, entity in done:
            key = key_of(entity).SerializeToString()
            assert (key in self.entities) is (kind != INSERT)
            if kind == DELETE:
                del self.entities[key]
            else:
                self.entities[key] = entity


def table_of(entity: p4runtime_pb2.Entity) -> str:
    number = entity.table_entry.table_id
    return NAMES.table_name(number) if number else GROUP


@pytest.fixture
def connection() -> Connection:
    """Return the connection to a switch that holds ``HOSTS`` and ``JOB``."""
    connection = Connection()
    assert repairs(connection) and repairs(connection) == []
    connection.writes.clear()
    return connection


def repairs(connection: Connection, *jobs: SwitchJob) -> list[str]:
    switch = P4RuntimeSwitch(connection, NAMES)  # type: ignore[arg-type]
    return reconcile(switch, HOSTS, jobs or [JOB]).words


def entity(connection: Connection, table: str) -> p4runtime_pb2.Entity:
    """Return a copy of one entity of a kind."""
    return copy.deepcopy(next(one for one in connection.entities.values() if table_of(one) == table))


def test_group_with_other_replicas_is_corrected(connection: Connection) -> None:
    group = entity(connection, GROUP)
    group.packet_replication_engine_entry.multicast_group_entry.replicas[0].egress_port += 7
    connection.write([(MODIFY, group)])
    assert repairs(connection) == ["1 corrected (multicast group 1)"]
    assert repairs(connection) == []


def test_prefix_of_other_length_is_replaced(connection: Connection) -> None:
    route = entity(connection, FORWARD)
    connection.write([(DELETE, key_of(route))])
    route.table_entry.match[0].lpm.prefix_len = 31
    connection.write([(INSERT, route)])
    assert repairs(connection) == ["1 deleted (forward 1)", "1 inserted (forward 1)"]
    assert repairs(connection) == []


def test_default_entry_of_table_is_left_alone(connection: Connection) -> None:
    """A switch may return it with the others, and refuses to delete it."""
    default = p4runtime_pb2.Entity(table_entry=NAMES.wildcard(MEMBER, counters=False))
    default.table_entry.is_default_action = True
    connection.entities[b"default"] = default
    assert repairs(connection) == []


def test_membership_leaves_first_and_enters_last(connection: Connection) -> None:
    other = dataclasses.replace(JOB, job=2, group=2, slot_base=20)
    assert len(repairs(connection, other)) == 2
    order = [(kind, {table for _, table in request}) for request in connection.writes for kind, _ in request[:1]]
    deleted = [tables for kind, tables in order if kind == DELETE]
    inserted = [tables for kind, tables in order if kind == INSERT]
    assert [kind for kind, _ in order] == [DELETE] * len(deleted) + [INSERT] * len(inserted)
    assert deleted[0] == {MEMBER} == inserted[-1]
    assert inserted[0] == {GROUP} and not any(MEMBER in tables for tables in (*deleted[1:], *inserted[:-1]))
