# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches that keep running, restart, or are changed by another client; with the embedded servers."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import threading
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import AsyncMock

import grpc
import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.controller.monitor import Monitor
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.planner.network import Network
from lanesum_control.state.store import Store
from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_control.switches.session import SwitchSession
from lanesum_control.switches.switch import (
    ARP,
    CONGESTION,
    DELETE,
    INSERT,
    JOB_TABLES,
    LOOKUP,
    MEMBER,
    MODIFY,
    RECEIVER,
    STATION,
)
from lanesum_control.threads import run
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import Member, Station, SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.topology import load
from tests.control_plane.control_fakes import FakeServer, Site, request, what
from tests.control_plane.protocols import PROTOCOLS, Process, Protocol
from tests.waiting import wait_until

NETWORK = Network.of(load("star4"), loopback=False)
HOSTS = list(NETWORK.seen["s1"].values())
HIGHER, HIGHER_TEXT = (1 << 63, 0), f"election id {1 << 127}"


over_both = pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)


def job(number: int = 1, slot_base: int = 0, *, tag: int = 7, lookup: bool = False) -> SwitchJob:
    members = tuple(Member(bit, (host,), 19539) for bit, host in enumerate(HOSTS[:2]))
    table = bytes(range(16)) if lookup else None
    return SwitchJob(number, tag, slot_base, 10, number, members, ops=(), code_table=table)


def contents(remote: RemoteSwitch) -> dict[str, list[tuple[dict[str, int], str, dict[str, int]]]]:
    return {
        table: [(entry.match, entry.action, entry.params) for entry in remote.device.entries(table)]
        for table in JOB_TABLES
        if table in remote.device.tables
    }


def test_check_during_disconnect_by_other_thread_raises_unreachable(
    remote: RemoteSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote.device.connection, "check_primary", remote.close)
    with pytest.raises(SwitchUnreachableError):
        remote.check()


@over_both
def test_reconcile_without_difference_writes_nothing(remote: RemoteSwitch) -> None:
    assert remote.reconcile(HOSTS, [job()])
    assert remote.reconcile(HOSTS, [job()]) == []


def test_every_port_marks_and_goes_on_marking(process: Process) -> None:
    switch = process.remote(mark_above=8)
    switch.connect(5.0)
    ports = sorted({host.port for host in HOSTS})

    def marks() -> list[tuple[int, int]]:
        entries = switch.device.entries(CONGESTION)
        return sorted((entry.match["egress_port"], entry.params["depth"]) for entry in entries)

    assert any(f"congestion {len(ports)}" in what for what in switch.reconcile(HOSTS, []))
    assert marks() == [(port, 8) for port in ports]
    assert switch.reconcile(HOSTS, []) == []
    switch.device.connection.write([(MODIFY, switch.device.mark_entity(ports[0], 3))])
    assert switch.reconcile(HOSTS, []) == ["1 corrected (congestion 1)"]
    assert marks() == [(port, 8) for port in ports]
    switch.close()
    # A switch without marking stops any earlier marking.
    plain = process.remote()
    plain.connect(5.0)
    assert plain.reconcile(HOSTS, []) == [f"{len(ports)} deleted (congestion {len(ports)})"]
    plain.close()


def test_switch_is_the_station_that_its_controller_wants(process: Process) -> None:
    """A new controller changes the class of answers in place, and withdraws the address of the one before."""

    def repairs(station: Station) -> list[str]:
        switch = process.remote(station=station)
        switch.connect(5.0)
        done = switch.reconcile(HOSTS, [])
        assert switch.reconcile(HOSTS, []) == []
        (own,) = (entry.params for entry in switch.device.entries(STATION) if entry.params)
        assert own == {"ip": station.ip, "answer_dscp": station.answer_dscp, "answer_queue": station.answer_queue}
        switch.close()
        return done

    assert "station 2" in repairs(Station())[0]
    assert repairs(Station(ip=0x0A1300FE, answer_dscp=46, answer_queue=3)) == [
        "1 inserted (arp 1)", "1 corrected (station 1)",
    ]  # fmt: skip
    assert repairs(Station(answer_dscp=10)) == ["1 deleted (arp 1)", "1 corrected (station 1)"]


@over_both
def test_differences_are_repaired(remote: RemoteSwitch, process: Process) -> None:
    lookup = LOOKUP in remote.device.tables
    jobs = [job(1, lookup=lookup), job(2, 10, lookup=lookup)]
    remote.reconcile(HOSTS, jobs)
    wanted, groups = contents(remote), dict(process.device.multicast_groups)
    connection = remote.device.connection
    assert connection.names is not None

    def entities(of: SwitchJob, table: str) -> list[p4runtime_pb2.Entity]:
        number = connection.names.wildcard(table).table_id  # type: ignore[union-attr]
        return [e for step in remote.device.job_entities(of) for e in step if e.table_entry.table_id == number]

    # Another client deletes, adds and changes entries, and a group.
    connection.write([(DELETE, entity) for entity in entities(jobs[0], RECEIVER)])
    remote.device.admit(job(9, 100, lookup=lookup))
    remote.device.remove(dataclasses.replace(jobs[1], members=jobs[1].members[:1]))
    if lookup:
        connection.write(
            [(INSERT, entity) for entity in entities(dataclasses.replace(job(2), code_table=bytes(16)), LOOKUP)]
        )
    remote.device.modify(jobs[0], dataclasses.replace(jobs[0], slot_base=50))
    connection.write(
        [
            (
                DELETE,
                p4runtime_pb2.Entity(table_entry=connection.names.entry(ARP, {"operation": 1, "target": HOSTS[0].ip})),
            )
        ]
    )
    assert contents(remote) != wanted
    deleted, inserted, corrected = remote.reconcile(HOSTS, jobs)
    codes = "lookup 1, " if lookup else ""
    assert deleted == f"{5 + lookup} deleted ({codes}member 2, multicast group 1, receiver 2)"
    assert inserted == "6 inserted (arp 1, member 1, multicast group 1, receiver 3)"
    assert corrected == f"{2 + lookup} corrected ({codes}member 2)"
    for table, entries in wanted.items():
        assert sorted(map(str, contents(remote)[table])) == sorted(map(str, entries))
    assert {g: len(r) for g, r in process.device.multicast_groups.items()} == {g: len(r) for g, r in groups.items()}
    assert remote.reconcile(HOSTS, jobs) == []


def test_repair_never_gives_slots_to_two_jobs(remote: RemoteSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs exchange their slots: one must be removed before the other is added."""
    remote.reconcile(HOSTS, [job(1, 0), job(2, 10)])
    write = remote.device.connection.write

    def checked(updates: list[tuple[int, p4runtime_pb2.Entity]]) -> None:
        for update in updates:
            write([update])
            ranges = {(entry.match["job"], entry.params["slot_base"]) for entry in remote.device.entries(MEMBER)}
            assert all(one[0] == other[0] or one[1] != other[1] for one, other in itertools.combinations(ranges, 2))

    monkeypatch.setattr(remote.device.connection, "write", checked)
    assert remote.reconcile(HOSTS, [job(1, 10), job(2, 0)]) == ["4 corrected (member 4)"]


@over_both
def test_program_that_runs_is_not_pushed_again(remote: RemoteSwitch, process: Process) -> None:
    remote.reconcile(HOSTS, [job()])
    remote.close()
    again = process.remote()
    assert again.connect(5.0) == []
    assert again.reconcile(HOSTS, [job()]) == []
    again.close()
    other_size = process.remote(process.protocol.other_pipeline())
    assert other_size.connect(5.0) == ["program pushed"]
    assert other_size.reconcile(HOSTS, []) != []
    other_size.close()


@over_both
def test_restart_is_noticed(remote: RemoteSwitch, process: Process) -> None:
    remote.check()
    process.stop()
    with pytest.raises(SwitchUnreachableError):
        remote.check()
    with pytest.raises(SwitchUnreachableError):
        remote.device.admit(job())
    with pytest.raises(SwitchUnreachableError, match=f"No {process.protocol} server answers"):
        remote.connect(0.0)
    with pytest.raises(SwitchUnreachableError, match="is not connected"):
        remote.check()
    process.start()
    assert remote.connect(5.0) == ["program pushed"]
    remote.check()


def test_another_controller_is_noticed(remote: RemoteSwitch, process: Process) -> None:
    with SwitchConnection(process.address, election_id=HIGHER):
        wait_until(lambda: not remote.device.connection._session.is_primary)
        with pytest.raises(
            NotPrimaryError, match=rf"A P4Runtime client with {HIGHER_TEXT} .* is primary .* has priority 1\. Stop it"
        ):
            remote.check()
        with pytest.raises(NotPrimaryError, match=HIGHER_TEXT):
            remote.device.admit(job())


def test_lost_mastership_is_event_with_election_id(process: Process) -> None:
    remote = process.remote(priority=7)
    controller = Controller(NETWORK, FakeServer(), {"s1": remote}, connect_timeout_s=120.0)
    placed = controller.admit(request()).switch_jobs["s1"]
    member = remote.device.job_entities(placed)[-1][0]
    with Monitor(controller):
        with SwitchConnection(process.address, election_id=HIGHER) as other:
            wait_until(lambda: any(text.startswith("mastership lost: ") for text in what(controller, "s1")))
            other.write([(DELETE, member)])
        wait_until(lambda: what(controller, "s1")[-1].startswith("mastership won back: "))
    lost, back = what(controller, "s1")[-2:]
    assert f"with election id {1 << 127} (high {1 << 63}, low 0) is primary on the switch at {process.address}" in lost
    assert "this controller has priority 7" in lost
    assert back == "mastership won back: 1 inserted (member 1)"
    controller.close()


def test_monitor_repairs_restarted_switches(tmp_path: Path) -> None:
    processes = {name: Process(tmp_path, name=name) for name in ("s0", "s1", "s2")}
    switches = {name: one.remote() for name, one in processes.items()}
    controller = Controller(Site("tree2x2").network, FakeServer(), switches, connect_timeout_s=120.0)
    controller.admit(request())
    before = {name: contents(remote) for name, remote in switches.items()}
    groups = {name: set(one.device.multicast_groups) for name, one in processes.items()}
    with Monitor(controller, interval_s=0.02):
        for name in ("s1", "s0"):
            processes[name].stop()
            wait_until(lambda name=name: any("lost" in text for text in what(controller, name)))  # type: ignore[misc]
            processes[name].start()
            wait_until(lambda name=name: what(controller, name)[-1].startswith("connected: program pushed, "))  # type: ignore[misc]
    assert "member 4" in what(controller, "s0")[-1]
    for name, remote in switches.items():
        assert {t: sorted(map(str, e)) for t, e in contents(remote).items()} == {
            t: sorted(map(str, e)) for t, e in before[name].items()
        }
        assert set(processes[name].device.multicast_groups) == groups[name]
    assert not any("lost" in text for text in what(controller, "s2"))
    controller.close()
    for one in processes.values():
        one.stop()


@over_both
def test_controller_that_starts_again_disturbs_nothing(process: Process) -> None:
    server = FakeServer()
    store = Store()
    start = functools.partial(
        Controller,
        NETWORK,
        server,
        accumulator_words=process.protocol.pipeline().accumulator_words,
        connect_timeout_s=120.0,
    )
    first = start({"s1": process.remote()}, store=store)
    first.admit(request())
    assert len(process.device.multicast_groups) == 1
    first.close()
    again = process.remote()
    second = start({"s1": again}, store=store)
    assert what(second, "s1")[1:] == ["connected: no differences"]
    again.close()
    forgetful = start({"s1": again})
    lookup = LOOKUP in again.device.tables
    codes = "lookup 1, " if lookup else ""
    deleted = f"{9 + lookup} deleted ({codes}member 4, multicast group 1, receiver 4)"
    assert what(forgetful, "s1") == [f"connected: {deleted}"], "without its state the controller removes all entries"
    assert not contents(again)[MEMBER]
    forgetful.close()


@over_both
def test_agrees_detects_write_with_same_election_id(remote: RemoteSwitch) -> None:
    jobs = [job()]
    remote.reconcile(HOSTS, jobs)
    assert remote.agrees(HOSTS, jobs)
    assert remote.agrees(HOSTS, jobs), "equal answers are not compared again"
    assert not remote.agrees(HOSTS, [])
    (member, *_) = remote.device.job_entities(job())[-1]
    remote.device.connection.write([(DELETE, member)])
    assert not remote.agrees(HOSTS, jobs)
    remote.reconcile(HOSTS, jobs)
    assert remote.agrees(HOSTS, jobs)


@over_both
def test_end_of_the_switch_is_an_event(remote: RemoteSwitch, process: Process) -> None:
    changed = threading.Event()
    remote.watch(changed.set)
    process.stop()
    assert changed.wait(120)
    with pytest.raises(SwitchUnreachableError, match="has ended"):
        remote.check()
    with pytest.raises(SwitchUnreachableError):
        remote.connect(0.0)
    changed.clear()
    process.start()

    def connected() -> bool:
        assert changed.wait(120)
        changed.clear()
        with contextlib.suppress(SwitchUnreachableError):
            return remote.connect(0.0) == ["program pushed"]
        return False

    wait_until(connected)
    remote.check()


def test_switch_is_taken_back_once_another_controller_leaves(remote: RemoteSwitch, process: Process) -> None:
    changed = threading.Event()
    remote.watch(changed.set)
    with SwitchConnection(process.address, election_id=HIGHER) as other:
        assert changed.wait(120)
        with pytest.raises(NotPrimaryError, match=HIGHER_TEXT):
            remote.check()

        def refused() -> bool:
            try:
                remote.connect(0.0)
            except NotPrimaryError:
                return True
            except SwitchUnreachableError:
                changed.wait(120)
                changed.clear()
            return False

        wait_until(refused)
        other.push_pipeline(bmv2_pipeline(32))
        changed.clear()
    assert changed.wait(120), "the stream shows that this controller is primary again"

    def taken_back() -> bool:
        with contextlib.suppress(NotPrimaryError):  # the stream is a moment ahead of the search
            return remote.connect(0.0) == ["program pushed"]
        return False

    wait_until(taken_back)
    remote.check()


@over_both
def test_program_pushed_with_same_election_id_is_detected(remote: RemoteSwitch, process: Process) -> None:
    assert not run(remote.unchanged()), "nothing is known before the first check"
    remote.check()
    assert run(remote.unchanged())
    remote.device.connection.push_pipeline(process.protocol.other_pipeline())
    assert not run(remote.unchanged())
    with pytest.raises(SwitchUnreachableError, match="has restarted without its program"):
        remote.check()


def test_guaranteed_admission_moves_the_pool_in_one_request(process: Process) -> None:
    """One request for each of 30 jobs in the pool made admissions slow."""
    remote = process.remote()
    controller = Controller(NETWORK, FakeServer(), {"s1": remote}, connect_timeout_s=120.0)
    for number in range(30):
        controller.admit(request(f"b{number}", workers=1, best_effort=True, slots=1024, codec="fixed"))
    write, requests = remote.device.connection.write, []

    def counted(updates: Iterable[tuple[int, p4runtime_pb2.Entity]]) -> None:
        requests.append([kind for kind, _ in updates])
        write(updates)

    remote.device.connection.write = counted  # type: ignore[method-assign, assignment]
    controller.admit(request("g", workers=1, slots=8, codec="fixed"))
    assert requests == [[MODIFY] * 30, [INSERT] * 2, [INSERT]]
    moved = {entry.match["job"]: entry.params for entry in remote.device.entries(MEMBER)}
    assert {(one["slot_base"], one["slot_count"]) for number, one in moved.items() if number <= 30} == {(8, 1016)}
    requests.clear()
    controller.remove("g")
    assert requests == [[DELETE], [DELETE] * 2, [MODIFY] * 30]
    remote.device.remove(job(900))  # entries that are missing are no error
    controller.reconciler.repair()
    assert what(controller, "s1")[1:] == []
    controller.close()


@over_both
def test_busy_switch_refusal_is_not_missing_program(remote: RemoteSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the controller would push its program again, and clear the entries of running jobs."""
    busy = grpc.aio.AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.aio.Metadata(), grpc.aio.Metadata(), "Busy.")
    monkeypatch.setattr(SwitchSession, "call", AsyncMock(side_effect=busy))
    with pytest.raises(SwitchUnreachableError, match=r"does not answer: RESOURCE_EXHAUSTED Busy\."):
        remote.check()


@over_both
def test_close_ends_the_search_for_a_session(protocol: Protocol, tmp_path: Path) -> None:
    remote = RemoteSwitch(f"{protocol.prefix}unix:{tmp_path}/nothing", protocol.pipeline())
    remote.watch(lambda: None)
    with pytest.raises(SwitchUnreachableError):
        remote.connect(0.0)
    search = remote._search
    assert search is not None
    remote.close()
    wait_until(search._task.done)
