# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Election, promotion, and the rights of the primary."""

from __future__ import annotations

import grpc
import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.arbitration import Arbitration, Connection
from lanesum_switch.p4runtime.status import StatusError

from .client import OK, Client, Outcome, Program, exact

BIG = 1 << 64


def test_highest_election_id_is_primary(fresh: Client) -> None:
    one = fresh.stream()
    one.arbitrate(1)
    assert one.role() == ("OK", 1)
    backup = fresh.stream()
    backup.arbitrate(0)
    assert backup.role() == ("ALREADY_EXISTS", 1)
    assert one.silent()
    two = fresh.stream()
    two.arbitrate(0, high=1)
    assert two.role() == ("OK", BIG)
    assert one.role() == ("ALREADY_EXISTS", BIG)
    assert backup.role() == ("ALREADY_EXISTS", BIG)


def test_next_highest_is_promoted(fresh: Client) -> None:
    streams = {}
    for election_id, role in ((5, ("OK", 5)), (9, ("OK", 9)), (7, ("ALREADY_EXISTS", 9))):
        streams[election_id] = fresh.stream()
        streams[election_id].arbitrate(election_id)
        assert streams[election_id].role() == role
    assert streams[5].role() == ("ALREADY_EXISTS", 9)
    streams[5].close()
    assert streams[5].get() == OK
    assert streams[7].silent()
    streams[9].cancel()
    assert streams[7].role() == ("OK", 7)


def test_duplicate_election_id_is_refused(fresh: Client) -> None:
    one = fresh.stream()
    one.arbitrate(3)
    assert one.role() == ("OK", 3)
    other = fresh.stream()
    other.arbitrate(3)
    assert other.get() == Outcome("INVALID_ARGUMENT")
    assert one.silent()


def test_changed_election_id_moves_the_primary(fresh: Client) -> None:
    one, two = fresh.stream(), fresh.stream()
    one.arbitrate(3)
    assert one.role() == ("OK", 3)
    two.arbitrate(2)
    assert two.role() == ("ALREADY_EXISTS", 3)
    # Still primary: only the sender is answered.
    one.arbitrate(4)
    assert one.role() == ("OK", 4)
    assert two.silent()
    # The same again: no answer.
    one.arbitrate(4)
    assert one.silent()
    # Another client has a higher election id.
    two.arbitrate(6)
    assert two.role() == ("OK", 6)
    assert one.role() == ("ALREADY_EXISTS", 6)
    # Stepping down.
    two.arbitrate(1)
    assert one.role() == ("OK", 4)
    assert two.role() == ("ALREADY_EXISTS", 4)
    # A backup's new id below the primary's.
    two.arbitrate(2)
    assert two.role() == ("ALREADY_EXISTS", 4)
    assert one.silent()


def test_device_id_of_a_stream_cannot_change(fresh: Client) -> None:
    stream = fresh.stream()
    stream.arbitrate(3)
    assert stream.role() == ("OK", 3)
    stream.arbitrate(3, device_id=2)
    assert stream.get() == Outcome("FAILED_PRECONDITION")


@pytest.mark.parametrize("target", ["fake"], indirect=True)
def test_device_id_changed_within_stream_is_refused(fresh: Client) -> None:
    updates = [p4rt.StreamMessageRequest(arbitration={"device_id": number}) for number in (7, 8)]
    with pytest.raises(grpc.RpcError, match="The device id of a stream is 7 and cannot change: open another stream"):
        list(fresh.stub.StreamChannel(iter(updates)))


def test_devices_without_a_switch_arbitrate_too(fresh: Client) -> None:
    stream = fresh.stream()
    stream.arbitrate(3, device_id=42)
    message = stream.get()
    assert message.arbitration.device_id == 42
    assert message.arbitration.status.code == 0
    other = fresh.stream()
    other.arbitrate(3)
    assert other.role() == ("OK", 3)


def test_too_many_streams(fresh: Client) -> None:
    for election_id in range(1, 17):
        stream = fresh.stream()
        stream.arbitrate(election_id)
        assert stream.role() == ("OK", election_id)
    last = fresh.stream()
    last.arbitrate(17)
    assert last.get() == Outcome("RESOURCE_EXHAUSTED")


def test_write_needs_the_primary(fresh: Client, everything: Program) -> None:
    entry = everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], everything.action("nothing"))
    # No stream: an election id is wrong, none is right.
    fresh.election_id = 1
    assert fresh.push(everything.config()) == Outcome("PERMISSION_DENIED")
    assert fresh.write((p4rt.Update.INSERT, entry)) == Outcome("PERMISSION_DENIED")
    fresh.election_id = None
    assert fresh.write((p4rt.Update.INSERT, entry)) == Outcome("FAILED_PRECONDITION")
    assert fresh.push(everything.config()) == OK
    assert fresh.insert(entry) == "OK"
    # A stream: only its election id is right.
    primary = fresh.stream()
    primary.arbitrate(7, high=2)
    assert primary.role() == ("OK", 2 * BIG + 7)
    for election_id in (None, 0, 7, 2 * BIG, 2 * BIG + 8):
        fresh.election_id = election_id
        assert fresh.write((p4rt.Update.DELETE, entry)) == Outcome("PERMISSION_DENIED")
        assert fresh.push(everything.config()) == Outcome("PERMISSION_DENIED")
    assert len(fresh.read_ok(everything.entry("exact_table"))) == 1
    fresh.election_id = 2 * BIG + 7
    assert fresh.delete(entry) == "OK"
    # A backup takes over and may write, the former primary may not.
    backup = fresh.stream()
    backup.arbitrate(1)
    assert backup.role() == ("ALREADY_EXISTS", 2 * BIG + 7)
    fresh.election_id = 1
    assert fresh.write((p4rt.Update.INSERT, entry)) == Outcome("PERMISSION_DENIED")
    primary.cancel()
    assert backup.role() == ("OK", 1)
    assert fresh.insert(entry) == "OK"


@pytest.mark.parametrize("target", ["fake", "embedded"], indirect=True)
def test_write_from_other_connection_is_refused(address: str, client: Client, everything: Program) -> None:
    stream = client.stream()
    stream.arbitrate(7, high=2)
    assert stream.role() == ("OK", 2 * BIG + 7)
    entry = everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], everything.action("nothing"))
    other = Client(address, name="other")
    # A backup learns the primary's election id.
    backup = other.stream()
    backup.arbitrate(1)
    assert backup.role() == ("ALREADY_EXISTS", 2 * BIG + 7)
    client.election_id = other.election_id = 2 * BIG + 7
    assert other.write((p4rt.Update.INSERT, entry)) == Outcome("PERMISSION_DENIED")
    assert other.push(everything.config()) == Outcome("PERMISSION_DENIED")
    assert client.insert(entry) == "OK"
    other.close()


def test_election_id_zero(client: Client, everything: Program) -> None:
    stream = client.stream()
    stream.arbitrate(0)
    assert stream.role() == ("OK", 0)
    entry = everything.entry("exact_table", [exact(1, b"\x01"), exact(2, b"\x01")], everything.action("nothing"))
    # An absent election id reads as zero.
    assert client.insert(entry) == "OK"
    client.election_id = 0
    assert client.delete(entry) == "OK"


def test_roles_are_ignored(client: Client) -> None:
    stream = client.stream()
    update = p4rt.MasterArbitrationUpdate(device_id=1)
    update.election_id.low = 5
    update.role.name = "stats"
    stream.send(arbitration=update)
    message = stream.get()
    assert not message.arbitration.HasField("role")
    assert message.arbitration.status.code == 0
    other = client.stream()
    other.arbitrate(4)
    assert other.role() == ("ALREADY_EXISTS", 5)


def test_capabilities(fresh: Client) -> None:
    assert fresh.stub.Capabilities(p4rt.CapabilitiesRequest()).p4runtime_api_version == "1.3.0"


def test_backup_learns_that_primary_has_its_id() -> None:
    arbitration, primary, backup = Arbitration(1), Connection(), Connection()
    arbitration.add(backup, 1)
    arbitration.add(primary, 2)
    while backup.take() is not None:
        pass
    with pytest.raises(StatusError, match="Another controller has election id 1"):
        arbitration.update(primary, 1)
    assert arbitration.is_primary(backup) and not arbitration.is_primary(primary)
    news = backup.take()
    assert news is not None and news.arbitration.status.message == "You are primary"
