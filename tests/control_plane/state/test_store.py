# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State that survives the controller, and invalid state files."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.errors import StoreError
from lanesum_control.jobs.records import Taken
from lanesum_control.planner.allocation import SlotRange
from lanesum_control.planner.network import Network
from lanesum_control.state.backup import back_up
from lanesum_control.state.store import Store, members_of
from lanesum_fabric.topology import available
from lanesum_fabric.topology.files import parse
from tests.control_plane.control_fakes import Site, request, what


def test_controller_that_starts_again_has_lost_nothing(open_store: Callable[[], AbstractContextManager[Store]]) -> None:
    site = Site("tree2x2")
    with open_store() as store:
        controller = site.start(store=store)
        controller.admit(request("gone"))
        controller.admit(request("a", slots=90, quota=5, quorum=3, priority=2, lease_s=7.5, seed=(1 << 64) - 1))
        controller.admit(request("b", slots=10, best_effort=True), caller=Caller("blue", CallerRole.TENANT))
        controller.remove("gone")
        tickets = [controller.join("b", worker, Taken(f"p{worker}", "x", "thc")) for worker in (0, 1)]
        controller.leave("a", "w1")
        before = controller.jobs()
    held = {name: dict(switch.jobs) for name, switch in site.switches.items()}
    for switch in site.switches.values():
        switch.connected = False
    site.told()
    with open_store() as store:
        again = site.start(store=store)
        assert again.jobs() == before
        assert [job.owner for job in before] == ["", "blue"]
        assert {name: switch.jobs for name, switch in site.switches.items()} == held
        assert site.told() == ["s0: reconcile", "s1: reconcile", "s2: reconcile"], "nothing that runs is touched"
        assert what(again, "s1") == ["connected: no differences"] * 2, "events of both lives"
        assert again.workers.state(tickets[0].job, tickets[0].tag, 0, "p0") == {"state": "waiting", "for": ["w3", "w4"]}
        assert again.join("b", 2).tag == tickets[0].tag
        assert again.admit(request("new", slots=1)).number == 4, "numbers go on"


def rewired(old: str, new: str) -> Network:
    """Return the network of tree2x2 with two texts of its file exchanged."""
    text = available()["tree2x2"].read_text().replace(old, "(old)").replace(new, old).replace("(old)", new)
    return Network.of(parse(text, "tree2x2"), loopback=False)


@pytest.mark.parametrize(
    ("old", "new", "is_void"), [("w2", "w3", True), ("10.19.0.1}", "10.19.0.77}", True), ("s1:1", "s1:3", False)]
)
def test_new_incarnation_begins_where_the_topology_voids_tickets(
    old: str, new: str, is_void: bool, open_store: Callable[[], AbstractContextManager[Store]]
) -> None:
    site = Site("tree2x2")
    with open_store() as store:
        tag = site.start(store=store).admit(request("a", slots=10)).tickets[0].tag
    site.network = rewired(old, new)
    for _ in range(2):  # the second start changes nothing
        with open_store() as store:
            controller = site.start(store=store)
            (after,) = controller.jobs()
            told = [text for text in what(controller, "a") if text.startswith("new incarnation")]
            assert told == ["new incarnation: its workers have other addresses or places than before"] * is_void
    assert (after.tickets[0].tag != tag) == is_void
    (served,) = site.server.jobs.values()
    assert served.tag == after.tickets[0].tag
    assert [*served.members] == [ticket.local for ticket in after.tickets]
    assert [(at.rack, at.bit) for at in served.members.values()] == list(after.tickets[0].places)


def test_switch_on_path_voids_tickets_with_joined_packets(tmp_path: Path) -> None:
    tags = []
    for controlled in ([], ["s1"], ["s1"], []):
        site = Site(controlled=controlled)
        with Store(tmp_path / "state.db") as store:
            controller = site.start(store=store, accumulator_words=64)
            if not tags:
                controller.admit(request("a", slots=10))
            (job,) = controller.jobs()
            tags.append(job.tickets[0].tag)
            told = [text for text in what(controller, "a") if text.startswith("new incarnation")]
            assert told == ["new incarnation: its packets pass a switch now"] * (len(tags) > 1)
            assert {ticket.joined_packets for ticket in job.tickets} == {not controlled}
    assert tags[0] != tags[1] == tags[2] == tags[3]


def test_removed_job_leaves_no_members_in_the_state() -> None:
    with Store() as store:
        controller = Site().start(store=store)
        number = controller.admit(request("a")).number
        assert store.meta(members_of(number)) is not None
        controller.remove("a")
        assert store.meta(members_of(number)) is None


def test_topology_without_host_of_a_job_is_refused(tmp_path: Path) -> None:
    site = Site("tree2x2")
    with Store(tmp_path / "state.db") as store:
        site.start(store=store).admit(request("a", slots=10))
    lines = available()["tree2x2"].read_text().splitlines()
    site.network = Network.of(parse("\n".join(one for one in lines if "w4" not in one), "x"), loopback=False)
    with (
        Store(tmp_path / "state.db") as store,
        pytest.raises(ConfigurationError, match="Job 'a' of the state has workers at w4, which the topology lacks"),
    ):
        site.start(store=store)


def test_restarted_controller_repairs_differences(open_store: Callable[[], AbstractContextManager[Store]]) -> None:
    site = Site()
    with open_store() as store:
        controller = site.start(store=store)
        controller.admit(request("a", slots=10))
        tag = controller.admit(request("b", slots=10)).tickets[0].tag
    site.switches["s1"].restart()
    unknown = dataclasses.replace(site.server.jobs[1], job=77)
    site.server.restart()
    site.server.jobs[77] = unknown
    with open_store() as store:
        again = site.start(store=store)
        last = what(again, "server")[-1]
    assert set(site.switches["s1"].jobs) == set(site.server.jobs) == {1, 2}
    assert site.switches["s1"].jobs[2].tag == tag
    assert last == "connected: 2 jobs admitted again, 1 unexpected jobs removed"


def test_commit_without_its_effect_takes_effect_later(open_store: Callable[[], AbstractContextManager[Store]]) -> None:
    """The controller was killed after committing a new incarnation, before any other part had it."""
    site = Site()
    with open_store() as store:
        controller = site.start(store=store)
        controller.admit(request("a", slots=10))
        (job,) = store.jobs()
        job.incarnation.tag ^= 1
        store.save(job, {"s1": {1: SlotRange(50, 10)}})
    site.switches["s1"].connected = False
    with open_store() as store:
        again = site.start(store=store)
    on_switch = site.switches["s1"].jobs[1]
    assert (on_switch.tag, on_switch.slot_base) == (job.incarnation.tag, 50)
    assert site.server.jobs[1].tag == job.incarnation.tag == again.job("a").tickets[0].tag


def test_files_that_are_no_state(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("I am no database, and long enough to be looked at as one." * 20)
    with pytest.raises(StoreError, match=r"The state file .* is broken: file is not a database"):
        Store(text)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE cats (name TEXT)")
    db.close()
    with pytest.raises(StoreError, match="is no state of a controller"):
        Store(other)
    with pytest.raises(StoreError, match="Cannot use the state file /nonexistent/x"):
        Store(Path("/nonexistent/x"))


def test_broken_state_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        Site().start(store=store).admit(request())
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"state.db is broken: "):
        Store(path).jobs()


def test_new_numbers_with_all_in_use_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.state.store._MAX_JOB", 0)
    with Store(None) as store, pytest.raises(StoreError, match=r"All 0 job identifiers are in use\. Remove a job"):
        store.new_numbers()


def test_new_number_of_job_follows_last_unused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.state.store._MAX_JOB", 6)
    with Store(None) as store:
        controller = Site().start(store=store)
        controller.admit(request("a"))
        controller.admit(request("b"))
        numbers = []
        for _ in range(6):
            numbers.append(controller.admit(request("later", slots=1)).number)
            controller.remove("later")
    assert numbers == [3, 4, 5, 6, 3, 4]


def test_second_controller_is_told(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "state.db"),
        pytest.raises(StoreError, match=r"Cannot use the state file .*: it is locked\. Another controller has it open"),
    ):
        Store(tmp_path / "state.db")


def test_state_at_link_or_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch(0o644)
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "file.lock").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("link", "is a symbolic link"), ("file", "is a symbolic link"), ("pipe", "is a named pipe")):
        with pytest.raises(StoreError, match=rf"Cannot use the state file .*/{name}\. Cannot write .*{why}"):
            Store(tmp_path / name)
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o644
    assert not (tmp_path / "file").exists()


def test_change_that_fails_changes_nothing(open_store: Callable[[], AbstractContextManager[Store]]) -> None:
    with open_store() as store:
        Site().start(store=store).admit(request())
        (job,) = store.jobs()
        job.incarnation.taken[0] = Taken("x", "y")
        job.incarnation.taken[1] = Taken(None, "y")  # type: ignore[arg-type]
        with pytest.raises(StoreError):
            store.save(job, {})
        assert not store.jobs()[0].incarnation.taken
        assert store.ranges() == {"s1": {1: SlotRange(0, 40)}}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jobs SET multicast_group = 'x'",
        "UPDATE jobs SET admission = x'00'",
        "UPDATE jobs SET request = '[1]'",
        "UPDATE jobs SET request = '{\"name\": 5}'",
        f"UPDATE jobs SET request = '{'[' * 50_000}'",
        "UPDATE jobs SET request = CAST(x'ff' AS TEXT)",
        "UPDATE incarnations SET tag = 1.5",
        "UPDATE incarnations SET seed = 'many'",
        "UPDATE incarnations SET servers = '[1, 2]'",
        "UPDATE incarnations SET slots = 'x'",
        "DELETE FROM incarnations",
        "UPDATE tickets SET worker = 'first'",
        "UPDATE tickets SET worker = 4",
        "UPDATE ranges SET base = 'x'",
        "UPDATE meta SET value = 'x' WHERE name = 'next_job'",
        "ALTER TABLE jobs DROP COLUMN request",
        "DROP TABLE ranges",
    ],
)
def test_state_file_with_wrong_value_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        controller = Site().start(store=store)
        controller.admit(request("a"))
        controller.join("a", 0, Taken("p", "x", "thc"))
    db = sqlite3.connect(path)
    with db:
        db.execute(change)
    db.close()
    with pytest.raises(StoreError, match=r"state\.db"), Store(path) as store:
        Site().start(store=store)


@pytest.mark.parametrize(("old", "new"), [(b"TABLE meta", b"TABLE m\xfeta"), (b"schema", b"sch\xfema")])
def test_state_file_with_invalid_text_is_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    for read in (Store, lambda path: back_up(path, tmp_path / "copy")):
        with pytest.raises(StoreError, match=r"state\.db"):
            read(path)


def test_ranges_of_failed_transaction_are_written_again(tmp_path: Path) -> None:
    other = {"s1": {1: SlotRange(4, 4)}, "s2": {1: SlotRange(0, 2)}}
    with Store(tmp_path / "state.db") as store:
        Site().start(store=store).admit(request("a"))
        one = store.ranges()
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.save_ranges(other)
            raise ZeroDivisionError
        assert store.ranges() == one
        store.save_ranges(other)
        assert store.ranges() == other
        store.save_ranges({"s2": {1: SlotRange(0, 2)}})
        assert store.ranges() == {"s2": {1: SlotRange(0, 2)}}
