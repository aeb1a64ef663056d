# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Digests and idle timeouts."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from ..client import Client, Program, Stream, exact
from ..packets import DIGEST, packet_out, request
from ..targets import BMV2

MS = 1_000_000

pytestmark = pytest.mark.parametrize("target", ["embedded", BMV2], indirect=True)


def digest(program: Program, max_list_size: int = 0, max_timeout_ms: int = 0, ack_timeout_ms: int = 0) -> Any:
    entity = p4rt.Entity(digest_entry=p4rt.DigestEntry(digest_id=program.ids["sample_t"]))
    config = entity.digest_entry.config
    config.SetInParent()
    config.max_list_size = max_list_size
    config.max_timeout_ns = max_timeout_ms * MS
    config.ack_timeout_ns = ack_timeout_ms * MS
    return entity


def send(stream: Stream, *keys: int) -> None:
    for key in keys:
        stream.send(packet=packet_out(request(DIGEST, 1, key=key, odd=0xABC)))


def repeated(stream: Stream, key: int) -> Any:
    """Send the same sample until a message comes; return it. The test's time limit ends it."""
    while True:
        send(stream, key)
        if found := stream.until_silent(0.2):
            return found[0]


def keys_of(message: Any) -> list[int]:
    assert message.WhichOneof("update") == "digest", message
    found = []
    for data in message.digest.data:
        arg, key, odd = (m.bitstring for m in data.struct.members)
        assert (arg, odd) == (b"\x01", b"\x0a\xbc")
        found.append(int.from_bytes(key, "big"))
    return found


def acknowledge(stream: Stream, program: Program, message: Any) -> None:
    stream.send(digest_ack=p4rt.DigestListAck(digest_id=program.ids["sample_t"], list_id=message.digest.list_id))


def test_digest_configuration(client: Client, everything: Program) -> None:
    one = digest(everything, 5, 10, 20)
    assert client.read(one) == ([], "NOT_FOUND")
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    assert client.read_ok(one) == [one]
    assert client.modify(digest(everything, 7)) == "OK"
    assert client.read_ok(one) == [digest(everything, 7)]
    assert client.update(0, one) == "INVALID_ARGUMENT"
    assert client.delete(one) == "OK"
    assert client.read(one) == ([], "NOT_FOUND")
    assert client.read(p4rt.Entity(digest_entry=p4rt.DigestEntry())) == ([], "UNIMPLEMENTED")
    wrong = p4rt.Entity(digest_entry=p4rt.DigestEntry(digest_id=12345))
    assert client.read(wrong) == ([], "NOT_FOUND")
    assert client.insert(wrong) == "NOT_FOUND"


def test_each_sample_at_once(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(digest(everything, max_list_size=1)) == "OK"
    send(primary, 2)
    first = primary.get()
    assert (keys_of(first), first.digest.list_id) == ([2], 1)
    assert first.digest.timestamp > 0
    send(primary, 3)
    second = primary.get()
    assert (keys_of(second), second.digest.list_id) == ([3], 2)
    assert client.delete(digest(everything)) == "OK"
    send(primary, 4)
    assert primary.silent()


def test_samples_from_before_the_configuration(client: Client, primary: Stream, everything: Program) -> None:
    """The engine collects samples without a configuration, and drops them after a second."""

    def configured_after(key: int, seconds: float) -> list[Any]:
        """Send a sample, configure the digest that much later, and return the messages until the next silence."""
        assert client.push(everything.config()).code == "OK"
        send(primary, key)
        primary.send(packet=packet_out(request(4, key=1, nibble=1)))
        assert primary.get().WhichOneof("update") == "packet"  # the sample has been learned
        assert primary.silent(seconds)
        assert client.insert(digest(everything, max_list_size=1)) == "OK"
        found = primary.until_silent(1.0)
        assert client.modify(digest(everything, max_list_size=9)) == "OK"
        assert client.delete(digest(everything)) == "OK"
        return found

    while not (found := configured_after(1, 0.1)):  # a busy machine may take more than a second
        pass
    assert [keys_of(one) for one in found] == [[1]]
    while found := configured_after(2, 1.5):  # and be late to drop
        assert [keys_of(one) for one in found] == [[2]]


def test_lists_fill_up(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(digest(everything, max_list_size=3)) == "OK"
    send(primary, 1, 2, 2, 1)
    # The same sample twice in one buffer counts once.
    assert primary.silent()
    send(primary, 3)
    assert keys_of(primary.get()) == [1, 2, 3]
    assert primary.silent()


def test_lists_time_out(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(digest(everything, max_list_size=100, max_timeout_ms=200)) == "OK"

    def lists() -> list[list[int]]:
        send(primary, 1, 2)
        first = keys_of(primary.get())
        return [first] if len(first) == 2 else [first, keys_of(primary.get())]

    while (found := lists()) == [[1], [2]]:  # time has passed between the samples on a busy machine
        pass
    assert found == [[1, 2]]


def test_unacknowledged_samples_are_not_repeated(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(digest(everything, max_list_size=1, ack_timeout_ms=60_000)) == "OK"
    send(primary, 5)
    first = primary.get()
    assert keys_of(first) == [5]
    send(primary, 5)
    assert primary.silent()
    acknowledge(primary, everything, first)
    assert keys_of(repeated(primary, 5)) == [5]


def test_acknowledgements_time_out(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(digest(everything, max_list_size=1, ack_timeout_ms=300)) == "OK"
    send(primary, 5)
    assert keys_of(primary.get()) == [5]
    assert keys_of(repeated(primary, 5)) == [5]


def test_digests_go_to_the_primary(client: Client, primary: Stream, everything: Program) -> None:
    backup = client.stream()
    backup.arbitrate(0)
    assert backup.role() == ("ALREADY_EXISTS", 1)
    assert client.insert(digest(everything, max_list_size=1)) == "OK"
    send(primary, 1)
    assert keys_of(primary.get()) == [1]
    assert backup.silent()


def entry(program: Program, timeout_ms: int) -> Any:
    entity = program.entry(
        "exact_table",
        [exact(1, b"\x01"), exact(2, b"\x01")],
        program.action("nothing"),
        idle_timeout_ns=timeout_ms * MS,
    )
    entity.table_entry.controller_metadata = 6
    return entity


def notified(stream: Stream) -> Any:
    message = stream.get()
    assert message.WhichOneof("update") == "idle_timeout_notification", message
    return message.idle_timeout_notification


def test_idle_timeout(client: Client, primary: Stream, everything: Program) -> None:
    assert client.insert(entry(everything, 300)) == "OK"
    notification = notified(primary)
    assert notification.timestamp > 0
    (expired,) = notification.table_entry
    expected = entry(everything, 300).table_entry
    expected.ClearField("action")
    assert expired == expected
    # The entry stays, and is reported again.
    assert len(client.read_ok(everything.entry("exact_table"))) == 1
    notified(primary)
    assert client.modify(entry(everything, 0)) == "OK"
    primary.until_silent(2.5)


def test_hits_keep_entries_alive(client: Client, primary: Stream, everything: Program) -> None:

    def kept_alive() -> bool:
        assert client.insert(entry(everything, 1500)) == "OK"
        kinds = set()
        for _ in range(13):
            primary.send(packet=packet_out(request(4, key=1, nibble=1)))
            kinds |= {one.WhichOneof("update") for one in primary.until_silent(0.2)}
        wanted = everything.entry("exact_table")
        wanted.table_entry.time_since_last_hit.SetInParent()
        (read,) = client.read_ok(wanted)
        assert client.delete(entry(everything, 0)) == "OK"
        primary.until_silent(1.5)
        return kinds == {"packet"} and read.table_entry.time_since_last_hit.elapsed_ns < 1000 * MS

    while not kept_alive():  # the entry ends between two hits on a busy machine
        pass
