# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from .client import INSERT, OK, Client


def group(group_id: int, *replicas: tuple[int | bytes, int]) -> Any:
    entity = p4rt.Entity()
    entry = entity.packet_replication_engine_entry.multicast_group_entry
    entry.multicast_group_id = group_id
    _add(entry, replicas)
    return entity


def session(session_id: int, *replicas: tuple[int | bytes, int], **fields: int) -> Any:
    entity = p4rt.Entity()
    entry = entity.packet_replication_engine_entry.clone_session_entry
    entry.SetInParent()
    entry.session_id = session_id
    for name, value in fields.items():
        setattr(entry, name, value)
    _add(entry, replicas)
    return entity


def _add(entry: Any, replicas: tuple[tuple[int | bytes, int], ...]) -> None:
    for port, instance in replicas:
        replica = entry.replicas.add(instance=instance)
        if isinstance(port, bytes):
            replica.port = port
        else:
            replica.egress_port = port


def replicas(entity: Any) -> list[tuple[int | bytes, int]]:
    """Return the replicas sorted, because their order has no meaning."""
    entry = entity.packet_replication_engine_entry
    entry = getattr(entry, entry.WhichOneof("type"))
    found = [(getattr(r, r.WhichOneof("port_kind")), r.instance) for r in entry.replicas]
    return sorted(found, key=repr)


def test_multicast_groups(client: Client) -> None:
    one = group(1, (1, 1), (2, 1), (2, 2), (0, 7))
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    (read,) = client.read_ok(group(1))
    assert replicas(read) == [(0, 7), (1, 1), (2, 1), (2, 2)]
    assert client.insert(group(2)) == "OK"
    assert client.insert(group(32767, (511, 65535), (512, 1))) == "OK"
    found = client.read_ok(group(0))
    ids = {e.packet_replication_engine_entry.multicast_group_entry.multicast_group_id for e in found}
    assert ids == {1, 2, 32767}
    assert client.modify(group(1, (5, 1))) == "OK"
    assert replicas(client.read_ok(group(1))[0]) == [(5, 1)]
    assert client.delete(group(1)) == "OK"
    assert client.read(group(1)) == ([], "NOT_FOUND")


def test_ports_as_byte_strings(client: Client) -> None:
    assert client.insert(group(1, (b"\x00\x05", 1), (b"\x05", 1), (5, 1))) == "OK"
    (read,) = client.read_ok(group(1))
    assert replicas(read) == sorted([(b"\x00\x05", 1), (b"\x05", 1), (5, 1)], key=repr)
    assert client.insert(group(2, (b"", 1))) == "INVALID_ARGUMENT"
    assert client.insert(group(2, (b"\x00", 1))) == "INVALID_ARGUMENT"
    assert client.insert(group(2, (b"\x00\x00\x00\x00\x01", 1))) == "UNIMPLEMENTED"
    assert client.insert(group(2, (b"\xff\xff\xff\xff", 1))) == "INVALID_ARGUMENT"


def test_wrong_multicast_groups(client: Client) -> None:
    assert client.insert(group(0, (1, 1))) == "INVALID_ARGUMENT"
    assert client.insert(group(32768, (1, 1))) == "OUT_OF_RANGE"
    assert client.read(group(32768)) == ([], "OUT_OF_RANGE")
    assert client.insert(group(1, (1, 1), (1, 1))) == "INVALID_ARGUMENT"
    assert client.update(0, group(1)) == "INVALID_ARGUMENT"
    no_port = group(1)
    no_port.packet_replication_engine_entry.multicast_group_entry.replicas.add(instance=1)
    assert client.insert(no_port) == "INVALID_ARGUMENT"
    empty = p4rt.Entity()
    empty.packet_replication_engine_entry.SetInParent()
    assert client.insert(empty) == "INVALID_ARGUMENT"
    assert client.read(empty) == ([], "INVALID_ARGUMENT")
    assert client.insert(group(1, (1, 1))) == "OK"
    assert client.modify(group(1, (2, 1), (2, 1))) == "INVALID_ARGUMENT"
    assert replicas(client.read_ok(group(1))[0]) == [(1, 1)]


def test_room_for_replication_ids(client: Client) -> None:
    """BMv2 has 4096 level-1 nodes, one for each replication id of each group."""
    assert client.insert(group(1, *((1, rid) for rid in range(4000)))) == "OK"
    assert client.insert(group(2, *((1, rid) for rid in range(97)))) == "UNKNOWN"
    assert client.read(group(2)) == ([], "NOT_FOUND")
    assert client.insert(group(2, *((1, rid) for rid in range(96)))) == "OK"
    assert client.insert(session(1, (1, 1))) == "UNKNOWN"
    assert client.insert(session(1)) == "OK"
    assert client.modify(group(2, *((p, 3) for p in range(90)))) == "OK"
    assert client.modify(session(1, (1, 1))) == "OK"


def test_room_for_groups(client: Client) -> None:
    assert client.write(*((INSERT, group(i)) for i in range(1, 4097))) == OK
    assert client.insert(group(4097)) == "UNKNOWN"
    assert client.insert(session(1)) == "UNKNOWN"


def test_clone_sessions(client: Client) -> None:
    one = session(1, (1, 1), (510, 0))
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    assert replicas(client.read_ok(session(1))[0]) == [(1, 1), (510, 0)]
    assert client.insert(session(32767, (b"\x09", 2))) == "OK"
    found = client.read_ok(session(0))
    assert {e.packet_replication_engine_entry.clone_session_entry.session_id for e in found} == {1, 32767}
    assert client.read_ok(group(0)) == []
    assert client.modify(session(1)) == "OK"
    assert replicas(client.read_ok(session(1))[0]) == []
    assert client.delete(session(1)) == "OK"
    assert client.read(session(1)) == ([], "NOT_FOUND")


def test_wrong_clone_sessions(client: Client) -> None:
    assert client.insert(session(0, (1, 1))) == "INVALID_ARGUMENT"
    assert client.insert(session(32768, (1, 1))) == "INVALID_ARGUMENT"
    assert client.update(0, session(1)) == "INVALID_ARGUMENT"
    assert client.insert(session(1, (1, 1), (1, 1))) == "INVALID_ARGUMENT"
    assert client.insert(session(1, (1, 1), class_of_service=1)) == "UNIMPLEMENTED"
    assert client.insert(session(1, (1, 1), packet_length_bytes=64)) == "UNKNOWN"
    assert client.read(session(1)) == ([], "NOT_FOUND")


@pytest.mark.parametrize(("field", "code"), [("class_of_service", "UNIMPLEMENTED"), ("packet_length_bytes", "UNKNOWN")])
def test_refused_change_of_clone_session_keeps_half(client: Client, field: str, code: str) -> None:
    assert client.insert(session(1, (1, 1))) == "OK"
    assert client.modify(session(1, (2, 2), **{field: 4})) == code
    (read,) = client.read_ok(session(1))
    assert replicas(read) == [(2, 2)]
    entry = read.packet_replication_engine_entry.clone_session_entry
    assert (entry.class_of_service, entry.packet_length_bytes) == (0, 0)


def test_length_beyond_16_bits_is_cut(client: Client) -> None:
    assert client.insert(session(1, (1, 1), packet_length_bytes=65536)) == "OK"
    (read,) = client.read_ok(session(1))
    assert read.packet_replication_engine_entry.clone_session_entry.packet_length_bytes == 65536


def test_clone_session_updates_without_effect_on_its_config(client: Client) -> None:
    assert client.insert(session(5, (1, 1))) == "OK"
    assert client.modify(session(5, (3, 3))) == "OK"
    assert replicas(client.read_ok(session(5))[0]) == [(3, 3)]
