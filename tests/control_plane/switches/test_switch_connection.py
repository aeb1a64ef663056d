# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime connection against the embedded switch's server: pushes, writes and failures."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from lanesum.errors import ConfigurationError
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.planner.network import Network
from lanesum_control.servers.controlled_server import NoServer, ServerError
from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_control.switches.session import MAX_PRIORITY, P4RuntimeSession, new_election_id, priority_of
from lanesum_control.switches.switch import ARP, DELETE, FORWARD, INSERT, LOOKUP, MEMBER, RECEIVER, P4RuntimeSwitch
from lanesum_control.threads import run
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.p4info import Lpm
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.topology import load
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from tests.waiting import wait_until


@pytest.fixture
def device() -> EmbeddedSwitch:
    return EmbeddedSwitch()


@pytest.fixture
def address(device: EmbeddedSwitch, tmp_path: Path) -> Iterator[str]:
    path = f"unix:{tmp_path / 's.sock'}"
    with P4RuntimeServer(device, path, device_id=1):
        yield path


def admit(switch: P4RuntimeSwitch) -> tuple[SwitchJob, Controller]:
    """Install the hosts and a job of two workers."""
    network = Network.of(load("star4"), loopback=False)
    controller = Controller(network, NoServer(), {"s1": ManagedSwitch(switch)})
    return controller.admit(JobRequest("a", ("w1", "w2"))).switch_jobs["s1"], controller


def test_job_is_programmed_and_removed_without_a_trace(device: EmbeddedSwitch, address: str) -> None:
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        job, controller = admit(switch)
        assert len(switch.entries(FORWARD)) == len(switch.entries(ARP)) == 6
        members = switch.entries(MEMBER)
        assert sorted(entry.params["worker"] for entry in members) == [1, 2]
        assert {entry.match["tag"] for entry in members} == {job.tag}
        assert {entry.params["fan_in"] for entry in members} == {2}
        assert len(switch.entries(RECEIVER)) == 2
        assert switch.entries(LOOKUP)[0].params["code_table"] == job.code_table_word
        assert {replica.port for replica in device.multicast_groups[job.group]} == {1, 2}
        controller.remove("a")
        assert not switch.entries(MEMBER) + switch.entries(RECEIVER) + switch.entries(LOOKUP)
        assert job.group not in device.multicast_groups
        switch.remove(job)  # a second removal changes nothing and is no error


def test_decisions_of_all_tables_are_one_read(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        reads, read = [], connection.read_answers
        monkeypatch.setattr(connection, "read_answers", lambda wanted: (reads.append(len(wanted)), read(wanted))[1])
        counts = switch.decisions()
        assert {"aggregate", "accept", "claim", "forwarded"} < counts.keys() and set(counts.values()) == {0}
        assert len(reads) == 1 and reads[0] > 5
        monkeypatch.setattr(connection, "read_answers", lambda _wanted: [b"\x0a\x05ab"])
        with pytest.raises(SwitchUnreachableError, match="answered with no ReadResponse: "):
            switch.decisions()


def test_refused_job_is_taken_back(device: EmbeddedSwitch, address: str) -> None:
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        job, _ = admit(switch)
        # The same membership under another group: the receivers exist already.
        with pytest.raises(SwitchWriteError, match=r"INSERT EgressPipeline.receiver.receiver .*ALREADY_EXISTS"):
            switch.admit(dataclasses.replace(job, group=9))
        with pytest.raises(SwitchWriteError, match="cannot change its members, its tag or its group in place"):
            switch.modify(job, dataclasses.replace(job, group=9))
        assert 9 not in device.multicast_groups


def test_connect_without_server_or_address_fails() -> None:
    with pytest.raises(SwitchUnreachableError, match=r"No P4Runtime server answers at 127.0.0.1:1 .*Start the switch"):
        SwitchConnection("127.0.0.1:1", timeout_s=0.2)
    with pytest.raises(SwitchUnreachableError, match="No P4Runtime server answers at unix:/nonexistent"):
        SwitchConnection("unix:/nonexistent", timeout_s=0.2)
    for address in ("nonsense", "127.0.0.1:\u00b2"):
        with pytest.raises(ConfigurationError, match="is no address"):
            SwitchConnection(address, timeout_s=0.2)


def test_server_that_ends_the_session_is_named() -> None:
    session = object.__new__(P4RuntimeSession)
    session.__dict__.update(
        address="127.0.0.1:1", device_id=7, election_id=new_election_id(3), _end="Stream removed.", _is_refused=False
    )
    assert str(run(session._refusal())) == (
        "The server at 127.0.0.1:1 accepted no P4Runtime session for device 7 with priority 3: Stream removed. "
        "Check the device id."
    )


class Liar(grpc.GenericRpcHandler):
    """A P4Runtime server whose answers are no messages, from ``lie`` on also those of the stream."""

    def __init__(self) -> None:
        self.lie = threading.Event()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if details.method.endswith("StreamChannel"):
            return grpc.stream_stream_rpc_method_handler(self._stream)
        if details.method.endswith("Read"):
            return grpc.unary_stream_rpc_method_handler(lambda _request, _context: iter([b"\xff"]))
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"\xff")

    def _stream(self, asked: Iterator[bytes], _context: object) -> Iterator[bytes]:
        message = p4runtime_pb2.StreamMessageResponse()
        message.arbitration.CopyFrom(p4runtime_pb2.StreamMessageRequest.FromString(next(asked)).arbitration)
        yield message.SerializeToString()
        assert self.lie.wait(60)
        yield b"\xff"
        next(asked, None)


def test_answers_that_are_no_messages_lose_switch(tmp_path: Path) -> None:
    liar, address, changed = Liar(), f"unix:{tmp_path / 's.sock'}", threading.Event()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[liar])
    server.add_insecure_port(address)
    server.start()
    opened = P4RuntimeSession.open(address, 1, (0, 1), timeout_s=120.0, changed=changed.set)
    with SwitchConnection.of(run(opened)) as connection:
        for call in (lambda: connection.runs(bmv2_pipeline()), lambda: connection.read([p4runtime_pb2.Entity()])):
            with pytest.raises(SwitchUnreachableError, match=r"answered with no \w+Response: \w+"):
                call()
        connection.check_primary()
        changed.clear()
        liar.lie.set()
        assert changed.wait(60)
        with pytest.raises(SwitchUnreachableError, match="has ended"):
            connection.check_primary()
    server.stop(0)


def test_closed_session_says_so(address: str) -> None:
    with SwitchConnection(address) as connection:
        session = connection._session
        with pytest.raises(SwitchUnreachableError, match=r"Reading from the switch at .* failed: "):
            connection.read_answers([p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry(table_id=77))])
    with pytest.raises(SwitchUnreachableError, match=f"The session with the switch at {address} has ended"):
        connection.check_primary()
    with (
        pytest.raises(SwitchUnreachableError, match=f"The session with the switch at {address} was closed"),
        session._closed_as_error(),
    ):
        raise grpc.aio.UsageError("Channel is closed.")


def test_absent_server_has_no_status() -> None:
    with pytest.raises(ServerError, match="There is no aggregation server"):
        NoServer().status()


def test_second_controllers(address: str) -> None:
    with SwitchConnection(address, election_id=(0, 5)):
        with pytest.raises(
            SwitchUnreachableError, match="refused a session: Another controller has election id 5: use a different one"
        ):
            SwitchConnection(address, election_id=(0, 5))
        with pytest.raises(NotPrimaryError, match=r"election id 5 is primary .* this controller has priority 0"):
            SwitchConnection(address, election_id=(0, 4))
    SwitchConnection(address, election_id=(0, 4)).close()  # the first one is gone


def test_new_election_id_is_unguessable_and_keeps_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    high, low = new_election_id(3)
    assert len({new_election_id(3)[1] for _ in range(100)} | {low}) == 101
    assert new_election_id(4) > new_election_id(3)
    monkeypatch.setattr(time, "time", lambda: 1_800_000_001.0)
    assert new_election_id(3) < (high, 0), "a controller that starts later does not take the switch"
    assert new_election_id(4) > (high, low)
    assert [priority_of(new_election_id(one)) for one in (1, 3, MAX_PRIORITY)] == [1, 3, MAX_PRIORITY]


def test_mastership_lost_meanwhile_is_known_until_resumed(address: str) -> None:
    with SwitchConnection(address, election_id=(0, 5)) as connection:
        session = connection._session
        assert session.is_primary and session.was_primary
        SwitchConnection(address, election_id=(0, 6)).close()
        wait_until(lambda: session.is_primary and session.other_primary == (0, 6))
        assert not session.was_primary
        assert session.resume() and session.was_primary


def test_push_pipeline_with_another_p4info_raises(address: str, tmp_path: Path) -> None:
    with SwitchConnection(address) as connection:
        good = bmv2_pipeline()
        wrong = tmp_path / "wrong.p4info.txtpb"
        wrong.write_text(good.p4info_path.read_text().replace("membership.member", "membership.guest"))
        with pytest.raises(PipelineError, match=r"The switch at .* refused bmv2-w64.json: .*guest"):
            connection.push_pipeline(dataclasses.replace(good, p4info_path=wrong))


def test_refused_entry_of_a_job_names_no_tag(address: str) -> None:
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        job, _ = admit(switch)
        assert connection.names is not None
        entry = connection.names.entry(MEMBER, switch.entries(MEMBER)[0].match)
        with pytest.raises(SwitchWriteError, match=r"membership.member .*'tag': '\(secret\)'") as caught:
            connection.write([(INSERT, p4runtime_pb2.Entity(table_entry=entry))])
    assert str(job.tag) not in str(caught.value) and f"{job.tag:x}" not in str(caught.value)


def test_slots_come_from_the_p4info() -> None:
    assert bmv2_pipeline().slots == 1024


def test_partly_failed_write_names_the_failed_updates(address: str) -> None:
    """One update of two is refused: the error must name it, and the other one must be applied."""
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        host = load("star4").host_ports(loopback=False)["w1"]
        switch.add_host(host)
        (route,) = (entry for entry in switch.entries(FORWARD))
        assert connection.names is not None
        entry = connection.names.entry(FORWARD, {"destination": Lpm(route.match["destination"], 32)})
        connection.write([(DELETE, p4runtime_pb2.Entity(table_entry=entry))])
        with pytest.raises(SwitchWriteError) as caught:
            switch.add_host(host)
        assert "INSERT IngressPipeline.arp.arp" in str(caught.value)
        assert "forward" not in str(caught.value)
        assert len(switch.entries(FORWARD)) == 1


def test_many_updates_are_split_over_requests(address: str) -> None:
    with SwitchConnection(address) as connection:
        switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
        assert connection.names is not None
        params = {"mac": 1, "port": 1}
        entries = [
            connection.names.entry(ARP, {"operation": 1, "target": n}, "IngressPipeline.arp.reply", params)
            for n in range(300)
        ]
        connection.write([(INSERT, p4runtime_pb2.Entity(table_entry=entry)) for entry in entries])
        assert len(switch.entries(ARP)) == 300


def test_pushing_again_forgets_groups(device: EmbeddedSwitch, address: str) -> None:
    with SwitchConnection(address) as connection:
        for _ in range(2):
            switch = P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline())
            assert not device.multicast_groups
            job, _ = admit(switch)
            assert len(device.multicast_groups[job.group]) == 2


def test_session_whose_status_grpc_lost_is_opened_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that meets the end of a call replaces the server's status by an error of grpc.aio."""
    arbitrate, attempts = P4RuntimeSession._arbitrate, []

    async def lost_once(session: P4RuntimeSession) -> None:
        attempts.append(session)
        if len(attempts) == 1:
            session._fail("Internal error from Core")
        else:
            await arbitrate(session)

    monkeypatch.setattr(P4RuntimeSession, "_arbitrate", lost_once)
    with SwitchConnection(address) as connection:
        connection.check_primary()
    assert len(attempts) == 2
