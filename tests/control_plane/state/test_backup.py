# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backup of the state while a controller runs, and its restore."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.errors import SchemaError, StoreError
from lanesum_control.state.backup import back_up, restore
from lanesum_control.state.events import EventLog
from lanesum_control.state.schema import SCHEMA_VERSION
from lanesum_control.state.store import Store
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request

KILLED = """
import os, signal, sys
from pathlib import Path
from lanesum_control.state.store import Store
from tests.control_plane.control_fakes import Site, request

controller = Site().start(store=Store(Path(sys.argv[1])))
controller.admit(request("a"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def admitted(state: Path, *names: str, site: Site | None = None) -> Controller:
    """Return a controller with its state open."""
    controller = (site or Site()).start(store=Store(state))
    for name in names:
        controller.admit(request(name, slots=5))
    return controller


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_state_and_its_copies_are_private(state: Path, tmp_path: Path) -> None:
    state.touch(0o644)
    with Store(state) as store:
        Site().start(store=store).admit(request())
        back_up(state, tmp_path / "copy")
        assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    restore(tmp_path / "copy", tmp_path / "again")
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    assert {path.name for path in tmp_path.iterdir()} == {"state.db", "state.db.lock", "copy", "again"}


def test_backup_of_running_controller_restores_with_new_incarnations(state: Path, tmp_path: Path) -> None:
    site = Site()
    with Store(state) as store:
        controller = site.start(store=store)
        controller.admit(request("a", slots=5, seed=7))
        controller.admit(request("b", slots=6))
        ticket = controller.join("a", 0)
        events = controller.events.since()
        back_up(state, tmp_path / "copy")
        controller.remove("b")
    assert restore(tmp_path / "copy", tmp_path / "again.db") == 2
    with Store(tmp_path / "again.db") as store:
        again = site.start(store=store)
        assert [(job.request.name, job.request.slots) for job in again.jobs()] == [("a", 5), ("b", 6)]
        assert all(job.joined == frozenset() for job in again.jobs())
        fresh = again.join("a", 0)
        assert (fresh.tag, fresh.seed) != (ticket.tag, ticket.seed) and fresh.seed == 7
        assert again.workers.state(ticket.job, ticket.tag, 0)["state"] == "superseded"
        assert set(site.server.jobs) == {1, 2} == set(site.switches["s1"].jobs)
        assert site.server.jobs[1].tag == fresh.tag == site.switches["s1"].jobs[1].tag
        found = again.events.since()
        assert found[: len(events)] == events
        assert found[len(events)].what == f"state of 2 jobs restored from {tmp_path / 'copy'}"


def test_restore_accepts_state_file_with_write_ahead_log(state: Path, tmp_path: Path) -> None:
    admitted(state, "a")._store.close()
    assert state.read_bytes()[18:20] == b"\2\2", "it has no write-ahead logging"
    assert restore(state, tmp_path / "again") == 1
    with Store(tmp_path / "again") as store:
        assert [job.request.name for job in store.jobs()] == ["a"]


def test_backups_during_changes_are_consistent(state: Path, tmp_path: Path) -> None:
    controller = admitted(state)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            controller.admit(request("x", slots=5))
            controller.remove("x")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for number in range(10):
            copy = tmp_path / f"copy-{number}"
            back_up(state, copy)
            with Store(copy) as store:
                jobs, ranges = {job.number for job in store.jobs()}, store.ranges()
                assert {job for held in ranges.values() for job in held} == jobs
                last = EventLog(store).latest()[-1].what
                assert last.startswith("removed") or jobs or last.startswith("connected"), last
    finally:
        stop.set()
        thread.join()
    assert not [event for event in controller.events.since() if "lost" in event.what]


def test_state_of_a_killed_controller_is_backed_up(state: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, state], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    back_up(state, tmp_path / "copy")
    for path in (tmp_path / "copy", state):
        with Store(path) as store:
            assert [job.request.name for job in store.jobs()] == ["a"]


def test_backup_to_an_existing_file_is_refused(state: Path, tmp_path: Path) -> None:
    Store(state).close()
    (tmp_path / "copy").write_text("precious")
    with pytest.raises(StoreError, match=r"Cannot write the copy .*copy: File exists\. Choose another file"):
        back_up(state, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "state.db", "state.db.lock"]


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_restore_over_a_state_file_is_refused(suffix: str, state: Path, tmp_path: Path) -> None:
    Store(tmp_path / "copy").close()
    old = Path(f"{state}{suffix}")
    old.write_text("precious")
    with pytest.raises(
        StoreError, match=rf"Restoring would overwrite {old}\. Stop the controller, and move these files away"
    ):
        restore(tmp_path / "copy", state)
    assert old.read_text() == "precious"


def test_restore_of_a_newer_backup_is_refused(state: Path, tmp_path: Path) -> None:
    Store(tmp_path / "copy").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as db:
        db.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (SCHEMA_VERSION + 1,))
        db.commit()
    with pytest.raises(SchemaError, match=f"has version {SCHEMA_VERSION + 1} of the state"):
        restore(tmp_path / "copy", state)
    assert not state.exists()


def _unreadable(*_: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


def test_restore_of_a_broken_backup_is_refused(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    with Store(tmp_path / "first") as store:
        controller = Site().start(store=store)
        for number in range(20):
            controller.admit(request(f"job{number}", slots=1))
    back_up(tmp_path / "first", copy)
    good = copy.read_bytes()
    with contextlib.closing(sqlite3.connect(copy)) as db:
        db.execute("UPDATE ranges SET job = 999 WHERE job = 1")
        db.commit()
    with pytest.raises(StoreError, match="is broken: an entry of ranges belongs to no job"):
        restore(copy, state)
    for broken, message in (
        (good[: len(good) // 2], "is broken|Cannot"),
        (good[:4096] + os.urandom(len(good) - 4096), "is broken|Cannot"),
        (b"", "copy is empty"),
        (b"text" * 1000, "The state file .* is broken: "),
    ):
        copy.write_bytes(broken)
        with pytest.raises(StoreError, match=message):
            restore(copy, state)
        assert not state.exists()
    with pytest.raises(
        StoreError, match=r"There is no state file .*absent. Name the file of lanesum controller --state"
    ):
        restore(tmp_path / "absent", state)
    with pytest.raises(StoreError, match=r"Cannot create .*absent/state.db.part: No such file or directory"):
        restore(tmp_path / "first", tmp_path / "absent" / "state.db")
    monkeypatch.setattr("lanesum_control.state.backup.verify", _unreadable)
    with pytest.raises(StoreError, match=r"Cannot read the state file .*first: disk I/O error\. Name another file"):
        restore(tmp_path / "first", state)


def test_restore_backup_with_hostile_job_is_refused(state: Path, tmp_path: Path) -> None:
    admitted(tmp_path / "first", "a")._store.close()
    back_up(tmp_path / "first", tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as db:
        db.execute("UPDATE jobs SET request = x'00'")
        db.commit()
    with pytest.raises(StoreError, match="/copy is broken: request of jobs has a value of type blob, not text"):
        restore(tmp_path / "copy", state)
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as db:
        db.execute("UPDATE jobs SET request = '{\"name\": 7}'")
        db.commit()
    with pytest.raises(StoreError, match=r"The state in .*/copy is broken: Not a job request"):
        restore(tmp_path / "copy", state)
    assert not state.exists()


def test_backup_and_restore_from_the_command_line(state: Path, tmp_path: Path) -> None:
    controller = admitted(state, "a", "b")
    copy, again = str(tmp_path / "copy"), str(tmp_path / "again")
    result = invoke(["controller", "backup", str(state), copy])
    assert result.exit_code == 0, result.output
    controller._store.close()
    result = invoke(["controller", "restore", copy, again])
    assert (result.exit_code, result.output) == (0, f"2 jobs restored to {again}\n")
    for words in (["backup", "/nonexistent/x", copy], ["restore", copy, again], ["restore", str(tmp_path), again]):
        result = invoke(["controller", *words])
        assert result.exit_code != 0 and "Traceback" not in result.output and len(result.output.splitlines()) <= 3
