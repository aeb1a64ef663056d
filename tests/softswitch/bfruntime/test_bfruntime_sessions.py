# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions of BF Runtime that end: with their client, by a restart, or by another program."""

from __future__ import annotations

import random
import tempfile

import grpc
import pytest

from lanesum_control.switches.bfruntime.connection import forwarding_config
from lanesum_fabric.bfruntime import messages
from lanesum_switch.bfruntime import BfRuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch

from .client import (
    CONFIG,
    ORIGIN,
    PIPELINE,
    Client,
    Code,
    Set,
    Update,
    code,
    group,
    key_of,
    node,
    origin,
    port,
    route,
    running,
)


def test_random_bodies_are_answered_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(7)
    with running(TofinoSwitch()) as client:
        write, read = messages.WriteRequest(client_id=client.number), messages.ReadRequest(client_id=client.number)
        for request in (write, read):
            request.target.pipe_id = messages.ALL_PIPES
        for entry in (origin(), node(), group((300,)), route(24)):
            write.updates.add(type=Update.INSERT).entity.table_entry.CopyFrom(entry)
            read.entities.add().table_entry.CopyFrom(key_of(entry))
        bodies = {"Write": write, "Read": read, "SetForwardingPipelineConfig": write}
        seen = set()
        for _ in range(200):
            method = rng.choice(sorted(bodies))
            body = bytearray(bodies[method].SerializeToString())
            for _ in range(rng.randrange(1, 4)):
                body[rng.randrange(len(body))] = rng.randrange(256)
            try:
                client.call(method, bytes(body))
            except grpc.RpcError as error:
                seen.add(error.code())
        assert {Code.INTERNAL, Code.UNKNOWN, Code.NOT_FOUND} <= seen, "bodies get as far as single updates"
        assert client.read(messages.TableEntry(table_id=ORIGIN.id))[-1].is_default_entry
    assert [record for record in caplog.records if record.exc_info] == []


def test_warm_restart_is_dropped_once_its_client_leaves() -> None:
    with running(TofinoSwitch()) as first:
        first.write((Update.INSERT, origin()))
        second = Client(first.address)
        second.subscribe()
        assert code(lambda: second.set(Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)) == (Code.ALREADY_EXISTS)
        first.set(Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
        assert code(lambda: second.set(Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT
        first.close()
        refused = messages.ForwardingPipelineConfig()
        assert code(lambda: second.set(Set.VERIFY_AND_WARM_INIT_BEGIN, refused)) == Code.INVALID_ARGUMENT
        assert code(lambda: second.set(Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT, "this would run the first's"
        second.set(Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
        assert second.read(key_of(origin())) == [origin()]
        second.close()


def test_warm_restart_is_dropped_once_another_client_binds() -> None:
    with running(TofinoSwitch()) as first:
        first.write((Update.INSERT, origin()))
        first.close()
        second, third = Client(first.address), Client(first.address)
        second.subscribe()
        third.subscribe()
        second.set(Set.VERIFY_AND_WARM_INIT_BEGIN, CONFIG)
        third.set(Set.BIND, messages.ForwardingPipelineConfig(p4_name="lanesum"))
        assert third.read(key_of(origin())) == [origin()], "third reads the program that packets pass through"
        assert code(lambda: second.set(Set.WARM_INIT_END)) == Code.INVALID_ARGUMENT
        second.close()
        third.close()


def test_link_change_is_sent_to_subscribed_clients() -> None:
    with tempfile.TemporaryDirectory() as folder, BfRuntimeServer(TofinoSwitch(), f"unix:{folder}/agent") as server:
        asking, other = Client(server.address), Client(server.address)
        asking.subscribe(ports=True)
        other.subscribe()
        server.set_link(8, is_up=False)
        server.set_link(300, is_up=True)
        for number, is_up in ((8, False), (300, True)):
            news = next(asking.stream).port_status_change_notification
            assert (news.table_entry, news.port_up) == (key_of(port(number)), is_up)
        other.outgoing.put(None)
        assert list(other.stream) == []
        asking.close()
        other.close()


def test_program_of_another_name_ends_the_bound_session() -> None:
    with running(TofinoSwitch()) as client:
        config = forwarding_config(PIPELINE)
        config.p4_name = "other"
        client.push(config)
        assert "set_forwarding_pipeline_config_response" in [message.WhichOneof("update") for message in client.stream]
        assert code(client.read) == Code.UNAVAILABLE
