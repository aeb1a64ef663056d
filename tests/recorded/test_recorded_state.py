# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State files of every supported version: they are read, migrated, and refused if they are newer."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from lanesum_control.errors import SchemaError, StoreError
from lanesum_control.state.backup import back_up, restore
from lanesum_control.state.events import EventLog
from lanesum_control.state.schema import OLDEST_VERSION, SCHEMA_VERSION
from lanesum_control.state.store import Store
from tests.control_plane.control_fakes import Site
from tests.recorded.record import FOLDER

VERSIONS = range(OLDEST_VERSION, SCHEMA_VERSION + 1)


def recorded(version: int, folder: Path) -> Path:
    """Return the recorded state file of a version."""
    path = folder / "state.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((FOLDER / f"state-{version}.sql").read_text())
    return path


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of all tables and indices, with their types and defaults."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")]
        columns = {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in sorted(names)}
        return {name: rows or db.execute(f"PRAGMA index_info({name})").fetchall() for name, rows in columns.items()}


def dump(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def test_every_supported_version_is_recorded() -> None:
    assert sorted(path.name for path in FOLDER.glob("state-*.sql")) == [f"state-{one}.sql" for one in VERSIONS]


@pytest.mark.parametrize("version", VERSIONS)
def test_store_of_recorded_file_has_jobs_and_tickets(version: int, tmp_path: Path) -> None:
    site = Site("tree2x2")
    with Store(recorded(version, tmp_path)) as store:
        controller = site.start(store=store)
        first, second = controller.jobs()
        assert (first.request.name, first.number, first.request.workers) == ("a", 2, ("w2", "w3", "w4"))
        fields = first.request.slots, first.request.quota, first.request.quorum, first.request.lease_s
        assert (*fields, first.request.seed) == (90, 5, 3, 7.5, (1 << 64) - 1)
        assert (second.request.name, second.request.best_effort, second.joined) == ("b", True, {0, 1})
        assert second.owner == ("" if version == 3 else "blue")
        before = store.events("WHERE time < 1.8e9 AND whom = ?", ["b"])
        own = [event.what.partition(";")[0] for event in controller.events.since(of=["b"])]
        assert own[:1] == ([] if version == 3 else ["admitted as job 3"]), "those of jobs before it are not of it"
        assert bool(before) == (version > 3)
        assert controller.join("b", 2).tag == second.tickets[0].tag
        assert set(site.server.jobs) == {2, 3} == set(site.switches["s1"].jobs)
        assert controller.admit(second.request.__class__("c", ("w1",), slots=1)).number == 4, "numbers go on"


@pytest.mark.parametrize("version", VERSIONS)
def test_migrated_file_has_tables_of_new_one(version: int, tmp_path: Path) -> None:
    path = recorded(version, tmp_path)
    Store(path).close()
    Store(tmp_path / "new.db").close()
    assert tables(path) == tables(tmp_path / "new.db")


def test_backup_of_an_earlier_version_is_restored(tmp_path: Path) -> None:
    path, copy, again = recorded(OLDEST_VERSION, tmp_path), tmp_path / "copy", tmp_path / "again"
    before = dump(path)
    back_up(path, copy)
    assert dump(copy) == dump(path) == before
    assert restore(copy, again) == 2
    assert dump(copy) == before
    with Store(again) as store:
        assert [job.request.name for job in store.jobs()] == ["a", "b"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again", "again.lock", "copy", "state.db"]


def test_failed_migration_changes_nothing(tmp_path: Path) -> None:
    path = recorded(OLDEST_VERSION, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE events (other TEXT)")
        db.commit()
    before = dump(path)
    with pytest.raises(StoreError, match="table events already exists"):
        Store(path)
    assert dump(path) == before


@pytest.mark.parametrize(
    ("version", "next_step"),
    [
        (SCHEMA_VERSION + 1, "Install the lanesum that wrote it or a later one"),
        (OLDEST_VERSION - 1, "Open it with an intermediate version of lanesum first"),
    ],
)
def test_store_of_an_unsupported_version_raises(version: int, next_step: str, tmp_path: Path) -> None:
    path = recorded(SCHEMA_VERSION, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (version,))
        db.commit()
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=f"has version {version} of the state; .*{next_step}") as caught:
        Store(path)
    assert caught.value.found == version
    assert path.read_bytes() == before


@pytest.mark.parametrize("change", ["UPDATE meta SET value = 'x' WHERE name = 'schema'", "DROP TABLE meta"])
def test_store_without_a_version_raises(change: str, tmp_path: Path) -> None:
    path = recorded(SCHEMA_VERSION, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(SchemaError, match="is no state of a controller") as caught:
        Store(path)
    assert caught.value.found is None


def test_events_of_a_recorded_file_name_their_callers(tmp_path: Path) -> None:
    with Store(recorded(4, tmp_path)) as store:
        events = EventLog(store).since()
    (admitted,) = [event for event in events if event.what.startswith("admitted as job 3")]
    assert (admitted.whom, admitted.actor, admitted.source) == ("b", "blue", "ipv4:10.0.0.9:4242")
    assert [event.number for event in events] == sorted(event.number for event in events)
