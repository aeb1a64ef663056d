# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State in PostgreSQL: the controller that leads, its standbys, and outages of the database."""

from __future__ import annotations

import contextlib
import math
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.keep_alive import KeepAlive, claimant
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc, tls
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.service import ControllerService
from lanesum_control.errors import NotLeaderError, NotPrimaryError, SchemaError, StoreError
from lanesum_control.security import certs
from lanesum_control.state import backup
from lanesum_control.state import postgresql as postgresql_module
from lanesum_control.state.backup import back_up, restore
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlDatabase, PostgresqlUrl, import_asyncpg
from lanesum_control.state.schema import SCHEMA_VERSION, TABLES
from lanesum_control.state.store import Store
from tests.command_line import invoke
from tests.control_plane.conftest import leading
from tests.control_plane.control_fakes import Site, request, what
from tests.control_plane.postgresql_server import PostgresqlServer
from tests.free_ports import LOCALHOST, free_ports

LONG_S = 3600.0  # a lease that does not end within a test
SHORT_S = 0.01


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a database on a busy machine."""
    settings = {**postgresql_module._SETTINGS, "idle_in_transaction_session_timeout": "0", "statement_timeout": "0"}
    monkeypatch.setattr(postgresql_module, "_SETTINGS", settings)
    monkeypatch.setattr(postgresql_module, "_CONNECT_S", 60.0)
    monkeypatch.setattr(postgresql_module, "_COMMAND_S", 60.0)


@contextlib.contextmanager
def candidate(url: PostgresqlUrl, name: str, lease_s: float = LONG_S) -> Iterator[Leadership]:
    with Leadership(url, name, lease_s=lease_s) as leadership:
        yield leadership


def store_of(url: PostgresqlUrl, leadership: Leadership) -> Store:
    return Store(PostgresqlDatabase(url, leadership.term, leadership.lost))


def rows(url: PostgresqlUrl) -> dict[str, list[object]]:
    """Return all rows of the state but the events."""
    with contextlib.closing(PostgresqlDatabase(url)) as database:
        return {table: sorted(database.execute(f"SELECT * FROM {table}")) for table in TABLES if table != "events"}


# Leadership.


def test_leadership_of_two_candidates_passes_at_end(database: PostgresqlUrl) -> None:
    with candidate(database, "second") as second:
        with candidate(database, "first") as first:
            assert first.take() and not second.take()
            assert (first.term, second.leader) == (1, "first")
            assert first.renew()
        assert second.take() and (second.term, second.leader) == (2, "second")
        with Leadership(database, "third", least_term=90) as third:
            assert third.term == 0
    with candidate(database, "fourth") as fourth:
        assert fourth.take() and fourth.term == 3, "a candidate that never led changes nothing"


def test_leadership_takes_at_least_the_given_term(database: PostgresqlUrl) -> None:
    with Leadership(database, "a", least_term=90) as leadership:
        assert leadership.take() and leadership.term == 90


def test_dead_leader_is_replaced_before_lease_ends(database: PostgresqlUrl) -> None:
    with candidate(database, "first") as first, candidate(database, "second") as second:
        assert first.take() and not second.take()
        first._database._drop()  # as the system does with the sockets of a killed process
        while not second.take():  # the server has yet to read the end
            time.sleep(0.01)
        assert second.term == 2
        assert not first.renew()
        with pytest.raises(NotLeaderError, match="another controller leads than that of term 1"):
            first.wait_until_lost()


def test_frozen_leader_is_replaced_and_cannot_write(database: PostgresqlUrl) -> None:
    with candidate(database, "frozen", SHORT_S) as frozen, candidate(database, "second") as second:
        assert frozen.take()
        with store_of(database, frozen) as old:
            site = Site()
            controller = site.start(store=old)
            controller.admit(request("a", slots=5))
            while not second.take():
                time.sleep(0.01)
            before, told = rows(database), site.told()
            for change in (lambda: controller.remove("a"), lambda: controller.admit(request("b", slots=5))):
                with pytest.raises(NotLeaderError, match="The change is not stored: another controller leads"):
                    change()
            assert (rows(database), site.told()) == (before, []) and told
            with pytest.raises(NotLeaderError, match="does not lead any more"):
                frozen.wait_until_lost()
        with store_of(database, second) as new:
            assert [job.request.name for job in site.start(store=new).present()] == ["a"]


def test_leader_frozen_within_a_transaction_is_replaced(database: PostgresqlUrl) -> None:
    with candidate(database, "frozen", SHORT_S) as frozen, candidate(database, "second") as second:
        assert frozen.take()
        with store_of(database, frozen) as old:
            old._db.begin()
            old._db.execute("INSERT INTO meta VALUES ('half', 1)")
            old._db.execute("SET idle_in_transaction_session_timeout = '1ms'")
            while not second.take():
                time.sleep(0.01)
            with pytest.raises(StoreError):
                old._db.commit()
            old._db.rollback()
            assert old.meta("half") is None


def test_leader_waits_for_switch_of_predecessor(database: PostgresqlUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    with leading(database) as store:
        site.start(store=store).admit(request("a", slots=5))
    before = dict(site.switches["s1"].jobs)

    def connect(_timeout_s: float) -> list[str]:
        raise NotPrimaryError("Another client is bound.")

    with leading(database) as store, monkeypatch.context() as patch:
        patch.setattr(site.switches["s1"], "connect", connect)
        controller = site.start(store=store)
        assert what(controller, "s1")[-1] == "not controlled: Another client is bound."
        patch.undo()
        controller.reconciler.check_switch("s1")
        assert what(controller, "s1")[-1] == "mastership won back: no differences"
        assert site.switches["s1"].jobs == before
    with Store() as alone, monkeypatch.context() as patch, pytest.raises(NotPrimaryError):
        patch.setattr(site.switches["s1"], "connect", connect)
        site.start(store=alone)


def test_new_leader_ends_no_lease_before_workers_return(database: PostgresqlUrl) -> None:
    site = Site()
    with leading(database) as store:
        controller = site.start(store=store)
        controller.admit(request("a", slots=5, lease_s=1.0))
        site.clock.now += 29.0
        assert controller.expire() == pytest.approx(1.0) and controller.present()
        site.clock.now += 2.0
        controller.expire()
        assert not controller.present()


# Transactions.


class WithoutAnswers:
    """Connection whose commits are carried out and not answered: it is reset, or ends while the driver waits."""

    def __init__(self, connection: Any, *, reset: bool) -> None:
        self._connection, self._reset = connection, reset

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, query: str) -> Any:
        await self._connection.execute(query)
        if self._reset:
            raise ConnectionResetError(query)
        self._connection._transport.abort()
        return await self._connection.execute("SELECT")


@pytest.mark.parametrize("reset", [True, False])
def test_commit_without_an_answer_ends_the_leadership(database: PostgresqlUrl, reset: bool) -> None:
    with candidate(database, "a") as leadership:
        assert leadership.take()
        with store_of(database, leadership) as store:
            with pytest.raises(StoreError, match="Cannot use the state in postgresql://"), store.transaction():
                store.set_meta("unknown", 1)
                connection = WithoutAnswers(store._db._connection, reset=reset)  # type: ignore[attr-defined]
                store._db._connection = connection  # type: ignore[attr-defined]
            assert leadership._end.is_set()
            with pytest.raises(NotLeaderError, match="a commit had no answer"):
                leadership.wait_until_lost()
            assert store.meta("unknown") == 1, "the store can be read again"


def test_transaction_with_a_failed_statement_is_not_committed(database: PostgresqlUrl) -> None:
    with leading(database) as store:
        with pytest.raises(StoreError, match="A change is not stored"), store.transaction():
            store.set_meta("half", 1)
            with pytest.raises(StoreError, match="0x00"):
                store.add_event(0.0, "a", "no text of PostgreSQL: \0", "", "", "")
        assert store.meta("half") is None
        store.set_meta("whole", 1)
        assert store.meta("whole") == 1


def test_connection_ending_within_a_transaction_stores_nothing(database: PostgresqlUrl) -> None:
    with leading(database) as store:
        with pytest.raises(StoreError, match="the connection ended within a transaction"), store.transaction():
            store.set_meta("first", 1)
            store._db._drop()  # type: ignore[attr-defined]
            store.set_meta("second", 2)
        assert store.meta("first") is store.meta("second") is None
        with pytest.raises(StoreError, match="the connection ended within a transaction"), store.transaction():
            store._db._drop()  # type: ignore[attr-defined]
        store.set_meta("third", 3)


def test_transaction_with_a_failed_statement_stores_nothing(database: PostgresqlUrl) -> None:
    with leading(database) as store:
        with pytest.raises(RuntimeError), store.transaction():
            store.add_event(0.0, "a", "rolled back", "", "", "")
            raise RuntimeError
        controller = Site().start(store=store)
        controller.admit(request("a", slots=5))
        assert set(controller.events.admissions()) == {"a"}


def test_outage_of_the_database_leaves_the_leader(
    postgresql: PostgresqlServer, database: PostgresqlUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_module, "_RETRY_S", 0.0)
    with candidate(database, "a") as leadership, candidate(database, "b", SHORT_S) as standby:
        assert leadership.take()
        with store_of(database, leadership) as store:
            site = Site()
            controller = site.start(store=store)
            controller.admit(request("a", slots=5))
            held = dict(site.switches["s1"].jobs)
            postgresql.stop()
            try:
                with pytest.raises(StoreError, match=r"Cannot use the state in .*Running jobs go on"):
                    controller.admit(request("b", slots=5))
                assert leadership.renew() and not standby.take(), "without a database all stays as it is"
                assert site.switches["s1"].jobs == held and set(site.server.jobs) == {1}
            finally:
                postgresql.start()
            standby._lease_s = LONG_S  # time that the leader has to connect first
            assert not standby.take() and leadership.renew() and not standby.take()
            assert controller.admit(request("b", slots=5)).number == 2
            assert leadership.term == 1


# A leader that loses its database.


@contextlib.contextmanager
def cut_off(leadership: Leadership, url: PostgresqlUrl) -> Iterator[None]:
    database = leadership._database
    database._drop()
    database._url = f"{url.url}-none/none"  # no socket file is there
    yield
    database._url = url.url


@contextlib.contextmanager
def read_only(leadership: Leadership, _url: PostgresqlUrl) -> Iterator[None]:
    leadership._database.execute("SET default_transaction_read_only = on")
    yield
    leadership._database.execute("SET default_transaction_read_only = off")


@contextlib.contextmanager
def full(_leadership: Leadership, url: PostgresqlUrl) -> Iterator[None]:
    with contextlib.closing(PostgresqlDatabase(url)) as other:
        raised = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'"
        other.execute(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raised}; END $$")
        other.execute("CREATE TRIGGER full_disk BEFORE UPDATE ON leader EXECUTE FUNCTION full_disk()")
        yield
        other.execute("DROP TRIGGER full_disk ON leader")


@contextlib.contextmanager
def slow(leadership: Leadership, url: PostgresqlUrl) -> Iterator[None]:
    leadership._database.execute("SET statement_timeout = '50ms'")
    with contextlib.closing(PostgresqlDatabase(url)) as other:
        other.begin()
        other.execute("SELECT FROM leader FOR UPDATE")
        yield
        other.rollback()
    leadership._database.execute("SET statement_timeout = 0")


@pytest.mark.parametrize("fault", [cut_off, read_only, full, slow])
def test_leader_without_its_database_gives_up(
    fault: Any, database: PostgresqlUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_module, "_RETRY_S", 0.0)
    with candidate(database, "first") as first:
        assert first.take() and first.leads and first.refusal() == ""
        with fault(first, database):
            assert first.renew() and first.leads, "the lease still lasts"
            first._lease_s = SHORT_S
            while first.leads:
                time.sleep(SHORT_S)
            first._lease_s = LONG_S
            first._renewed_at = -math.inf
            assert first.renew() and not first.leads
            why = r"^It does not lead any more: it has not renewed its lease for 3600 s\. Cannot use the state in"
            assert re.search(why, first.refusal())
        assert first.renew() and first.leads and first.term == 1


def test_standby_without_its_database_takes_over_once_back(
    database: PostgresqlUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_module, "_RETRY_S", 0.0)
    with candidate(database, "first") as first, candidate(database, "second") as second:
        assert first.take() and not second.take()
        with cut_off(second, database):
            assert not second.take() and first.renew() and first.leads
            first.close()
            assert not second.take()
        while not second.take():
            time.sleep(SHORT_S)
        assert second.term == 2


def test_database_that_is_behind_gives_no_term_twice(database: PostgresqlUrl) -> None:
    with candidate(database, "first") as first, candidate(database, "second") as second:
        assert first.take() and not second.take()
        with contextlib.closing(PostgresqlDatabase(database)) as replica:
            replica.execute("UPDATE leader SET term = 0, holder = '', until = '-infinity'")
        assert second.take() and second.term == 2
        assert not first.renew()


@contextlib.contextmanager
def following(leadership: Leadership, service: ControllerService) -> Iterator[None]:
    """Follow the leadership as the process of a controller does."""

    def follow() -> None:
        with contextlib.suppress(NotLeaderError):
            leadership.wait_until_lost(service.change_leadership)

    thread = threading.Thread(target=follow)
    thread.start()
    yield
    leadership.lost("the test ends")
    thread.join()


def test_workers_of_cut_off_leader_find_next(
    database: PostgresqlUrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old leader cannot know of the new one; the job must not be removed for its silence."""
    monkeypatch.setattr(postgresql_module, "_RETRY_S", 0.0)
    names = [f"unix:{tmp_path}/one", f"unix:{tmp_path}/two"]
    with (
        candidate(database, "first") as first,
        candidate(database, "second") as second,
        contextlib.ExitStack() as stack,
    ):
        one, two = (
            stack.enter_context(ControllerService(None, name, refusal=leadership.refusal))
            for name, leadership in zip(names, (first, second), strict=True)
        )
        assert first.take()
        old = Site().start(store=stack.enter_context(store_of(database, first)))
        one.lead(old)
        stack.enter_context(following(first, one))
        old.admit(request("a", workers=1, lease_s=120.0))
        message = {"job": "a", "worker": 0, "claimant": claimant(), "protocol": VERSION}
        answer = rpc.call(",".join(names), rpc.JOIN, message)
        stack.enter_context(KeepAlive(JobTicket.from_json(answer["ticket"]), ",".join(names)))
        while old.workers.alive(old.present()[0]) != [0]:
            time.sleep(0.01)
        with cut_off(first, database):
            first._renewed_at = -math.inf  # the lease has ended
            with contextlib.closing(PostgresqlDatabase(database)) as other:
                other.execute("UPDATE leader SET until = '-infinity'")
            while not second.take():
                time.sleep(0.01)
            site = Site()
            new = site.start(store=stack.enter_context(store_of(database, second)))
            two.lead(new)
            while new.workers.alive(new.present()[0]) != [0]:
                time.sleep(0.01)
            assert old.workers.alive(old.present()[0]) == []
            for order in (names, names[::-1]):
                assert set(rpc.jobs_by_name(",".join(order))) == {"a"}
            site.clock.now += 200.0
            new.expire()
            assert [job.request.name for job in new.present()] == ["a"]


def test_calls_go_on_from_leader_whose_store_fails(database: PostgresqlUrl, tmp_path: Path) -> None:
    names = [f"unix:{tmp_path}/one", f"unix:{tmp_path}/two"]
    second = Site().start()
    second.admit(request("b"))
    with leading(database) as store:
        first = Site().start(store=store)
        first.admit(request("a"))
        store._db._drop()  # type: ignore[attr-defined]
        store._db._url = f"{database.url}-none/none"  # type: ignore[attr-defined]
        with ControllerService(first, names[0]), ControllerService(second, names[1]):
            assert set(rpc.jobs_by_name(",".join(names))) == {"b"}
            with pytest.raises(rpc.ControllerError, match="Cannot use the state"):
                rpc.call(names[0], rpc.ADMIT, {"name": "c", "workers": ["w1"], "codec": "fixed"})


# Service.


def test_standby_names_leader_and_serves_when_leading() -> None:
    site = Site()
    refusals = ["It is a standby; the controller at 10.0.0.1:5 leads."]
    with ControllerService(None, "127.0.0.1:0", refusal=lambda: "".join(refusals)) as service:
        address = f"127.0.0.1:{service.port}"
        grpc = tls.import_grpc()
        with grpc.insecure_channel(address) as channel:
            health = channel.unary_unary("/grpc.health.v1.Health/Check")
            states = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
            assert (health(b"", wait_for_ready=True), next(states)) == (b"\x08\x02", b"\x08\x02")
            for method in (rpc.JOBS, rpc.ADMIT, rpc.JOIN):
                with pytest.raises(
                    rpc.UnreachableError, match=r"It is a standby; the controller at 10\.0\.0\.1:5 leads\. Name all"
                ):
                    rpc.call(address, method, {})
            with (
                pytest.raises(json_grpc.StandbyError),
                json_grpc.ReplyStream(address, rpc.SERVICE, rpc.WATCH, {}) as stream,
            ):
                next(iter(stream))
            controller = site.start()
            controller.admit(request("a"))
            refusals.clear()
            with pytest.raises(rpc.UnreachableError, match="It is a standby that begins to lead"):
                rpc.call(address, rpc.JOBS, {})
            service.lead(controller)
            assert (next(states), health(b"")) == (b"\x08\x01", b"\x08\x01")
            states.cancel()
        assert set(rpc.jobs_by_name(address)) == {"a"}


def test_calls_with_several_addresses_follow_the_leader(tmp_path: Path) -> None:
    first, second = Site().start(), Site().start()
    names = [f"unix:{tmp_path}/{name}" for name in ("dead", "one", "two")]
    with ControllerService(first, names[1]) as one, ControllerService(None, names[2]) as two:
        rpc.call(",".join(names), rpc.ADMIT, {"name": "a", "workers": ["w1"], "codec": "fixed"})
        assert [job.request.name for job in first.present()] == ["a"]
        assert rpc.leader(",".join(names)) == names[1]
        one.close()
        with pytest.raises(rpc.UnreachableError, match="It is a standby"):
            rpc.call(",".join(names), rpc.JOBS, {}, connect_s=0.0)
        two.lead(second)
        assert rpc.call(",".join(names), rpc.JOBS, {})["jobs"] == []
        assert rpc.leader(",".join(names)) == names[2]


# URLs.


def test_missing_asyncpg_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingToolError, match="State in PostgreSQL needs the package asyncpg"):
        import_asyncpg()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://u:secret@127.0.0.1/db", "has a password"),
        ("postgresql://u@127.0.0.1/db?password=secret", "has a password"),
        ("postgresql://u@127.0.0.1/db?sslpassword=secret", "has a password"),
        ("postgresql://u@127.0.0.1/db?secret=1", "The URL of --state has unknown parameters: secret"),
        ("postgresql://u@127.0.0.1/db?secret", "--state is a URL that cannot be read"),
        ("postgresql://u@[secret/db", "cannot be read"),
        ("postgresql://u@127.0.0.1/", "no URL of a database"),
        ("postgresql://u@10.0.0.1/db", "sslmode prefer, which authenticates no server"),
        ("postgresql://u@127.0.0.1,example.org:5433/db?sslmode=require", "example.org:5433 has sslmode require"),
        ("postgresql://u@/db?host=10.0.0.1", "authenticates no server"),
    ],
)
def test_invalid_url_is_refused_without_its_secrets(url: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        PostgresqlUrl.parse(url)
    assert "password=secret" not in str(caught.value) and ":secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u@db.example/state?sslmode=verify-full&sslrootcert=ca.crt", "postgresql://u@db.example/state"),
        ("postgres://localhost:5433/state?passfile=p", "postgres://localhost:5433/state"),
        ("postgresql:///state?host=/run/postgresql", "postgresql:///state"),
        ("postgresql://[::1]/state", "postgresql://[::1]/state"),
    ],
)
def test_valid_url_has_a_name_without_parameters(url: str, name: str) -> None:
    assert PostgresqlUrl.parse(url).name == name


def test_host_of_the_environment_needs_tls_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    with pytest.raises(ConfigurationError, match=r"db\.example has sslmode prefer"):
        PostgresqlUrl.parse("postgresql:///state")
    assert PostgresqlUrl.parse("postgresql:///state", insecure=True).url == "postgresql:///state"


@pytest.mark.parametrize(
    "words", [["backup", "postgresql://db.example/a", "copy"], ["restore", "copy", "postgresql://db.example/a"]]
)
def test_backup_and_restore_accept_what_the_error_advises(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("back_up", "restore"):
        monkeypatch.setattr(backup, name, lambda *places: sum(isinstance(one, PostgresqlUrl) for one in places))
    refused = invoke(["controller", *words])
    assert refused.exit_code == 2 and "accept --insecure" in " ".join(refused.output.split())
    assert invoke(["controller", *words, "--insecure"]).exit_code == 0


def test_database_on_network_uses_tls_and_password(
    postgresql: PostgresqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    address = LOCALHOST, free_ports(1, socket.SOCK_STREAM)[0]
    certs.init(tmp_path / "own", {"controller": [address[0]]})
    certs.init(tmp_path / "other")
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    passwords.write_text(f"{address[0]}:{address[1]}:postgres:*:secret\n")
    postgresql.stop()
    try:
        base = postgresql.start_with_tls(address, tmp_path / "own" / "controller", "secret")
        own, other = (f"sslmode=verify-full&sslrootcert={tmp_path}/{name}/ca/ca.crt" for name in ("own", "other"))
        with Leadership(PostgresqlUrl.parse(f"{base}?{own}&passfile={passwords}"), "a") as leadership:
            assert leadership.take()
        for query, why in {
            own: "password authentication failed",
            f"{other}&passfile={passwords}": "certificate verify failed",
            f"sslmode=disable&passfile={passwords}": "no encryption",
            f"sslmode=verify-full&sslrootcert={tmp_path}/none": "a file that the URL or the environment names",
        }.items():
            with pytest.raises(StoreError, match=why) as caught:
                Leadership(PostgresqlUrl.parse(f"{base}?{query}"), "a")
            assert "secret" not in str(caught.value) and "\n" not in str(caught.value)
    finally:
        postgresql.stop()
        postgresql.start()


def test_database_of_another_program_is_refused_unchanged(database: PostgresqlUrl) -> None:
    with contextlib.closing(PostgresqlDatabase(database)) as other:
        other.execute("CREATE TABLE cats (name TEXT)")
        with pytest.raises(SchemaError, match="is no state of a controller"):
            Leadership(database, "a")
        assert other.tables() == {"cats"}
        assert not other.execute("SELECT FROM pg_tables WHERE tablename = 'leader'")


def test_database_of_a_newer_version_is_refused(database: PostgresqlUrl) -> None:
    with leading(database) as store:
        store.set_meta("schema", SCHEMA_VERSION + 1)
    with pytest.raises(SchemaError, match=f"has version {SCHEMA_VERSION + 1} of the state"):
        Leadership(database, "a")


# Backup.


def test_state_moves_between_databases_by_backup_and_restore(
    database: PostgresqlUrl, postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    other = PostgresqlUrl.parse(postgresql.empty_database("other"))
    with leading(database) as store:
        controller = Site().start(store=store)
        controller.admit(request("a", slots=5, seed=(1 << 64) - 1))
        tag, events = controller.job("a").tickets[0].tag, controller.events.since()
        result = invoke(["controller", "backup", database.url, str(tmp_path / "copy")])
        assert (result.exit_code, result.output) == (0, "")
        with pytest.raises(StoreError, match="The controller a test uses"):
            restore(tmp_path / "copy", database)
    with pytest.raises(StoreError, match="Restoring would overwrite the state"):
        restore(tmp_path / "copy", database)
    assert restore(tmp_path / "copy", other) == restore(tmp_path / "copy", tmp_path / "file") == 1
    for again in (leading(other), Store(tmp_path / "file")):
        with again as store:
            controller = Site().start(store=store)
            found = controller.events.since()
            assert found[: len(events)] == events and found[len(events)].what.startswith("state of 1 jobs restored")
            assert controller.job("a").tickets[0].tag != tag and controller.job("a").request.slots == 5
            assert controller.admit(request("b", slots=5)).number == 2
    with pytest.raises(StoreError, match="has no state of this version"):
        back_up(PostgresqlUrl.parse(postgresql.empty_database("other")), tmp_path / "none")
    assert not (tmp_path / "none").exists()
