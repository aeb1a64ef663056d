# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of the distribution for tests, in a folder of its own and at a socket file."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum.rpc import tls

_USER = "postgres"  # of the databases
_UID = 65534  # of the processes, because PostgreSQL refuses root
_FOLDERS = (*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), os.environ.get("PATH", ""))
_INITDB = shutil.which("initdb", path=os.pathsep.join(_FOLDERS))
#: The reason why there is no server here; empty if there is one.
MISSING = "" if _INITDB else "initdb is not installed (Debian package postgresql)"
if importlib.util.find_spec("asyncpg") is None:
    MISSING = "asyncpg is not installed (lanesum-control[postgresql])"


class PostgresqlServer:
    """A server in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **more: str) -> None:
        """Start with more settings, and wait until it answers."""
        assert _INITDB is not None
        self._port = more.get("port", "5432")
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "fsync": "off"}
        options = [word for name, value in (settings | more).items() for word in ("-c", f"{name}={value}")]
        command = [str(Path(_INITDB).with_name("postgres")), "-D", f"{self.folder}/data", *options]
        self._process = _start(command, self.folder)
        while self._psql("SELECT 1").returncode:
            assert self._process.poll() is None, "postgres ended"
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once, as after a crash of the machine; the databases stay."""
        if self._process is not None:
            self._process.send_signal(3)
            self._process.wait()

    def start_with_tls(self, address: tuple[str, int], certificates: Path, password: str) -> str:
        """Start with TLS and a password at ``address`` too; return the URL of a database there, without parameters."""
        for name in (tls.CERTIFICATE, tls.KEY):
            shutil.copy(certificates / name, self.folder)
            (self.folder / name).chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(self.folder / name, _UID)
        access = "local all all trust\nhostssl all all 127.0.0.0/8 scram-sha-256\n"
        (self.folder / "data" / "pg_hba.conf").write_text(access)
        files = {"ssl_cert_file": f"{self.folder}/{tls.CERTIFICATE}", "ssl_key_file": f"{self.folder}/{tls.KEY}"}
        self.start(listen_addresses=address[0], port=str(address[1]), ssl="on", **files)
        assert not self._psql(f"ALTER USER {_USER} PASSWORD '{password}'").returncode
        return f"postgresql://{_USER}@{address[0]}:{address[1]}/postgres"

    def empty_database(self, name: str) -> str:
        """Return the URL of the database ``name``, without tables."""
        query = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
        if self._psql(query, name).returncode:
            assert not self._psql(f"CREATE DATABASE {name}").returncode
        return f"postgresql://{_USER}@/{name}?host={self.folder}"

    def _psql(self, query: str, database: str = "template1") -> subprocess.CompletedProcess[bytes]:
        assert _INITDB is not None
        where = ["-h", str(self.folder), "-p", self._port, "-U", _USER, "-d", database]
        psql = str(Path(_INITDB).with_name("psql"))
        return subprocess.run([psql, *where, "-c", query], check=False, capture_output=True)


def _start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    # Not by Popen(user=...), which forks: a child in which handlers of gRPC run sometimes ends with SIGSEGV.
    other_user = ["setpriv", f"--reuid={_UID}", f"--regid={_UID}", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.Popen([*other_user, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def running() -> Iterator[PostgresqlServer]:
    """Run a server on a new cluster; skip the test where it is not installed."""
    if MISSING:
        pytest.skip(MISSING)
    assert _INITDB is not None
    folder = Path(tempfile.mkdtemp(prefix="lanesum-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _UID)
        command = [_INITDB, "-D", f"{folder}/data", "-U", _USER, "--auth=trust", "--no-sync", "--no-instructions"]
        command += ["--locale=C", "--encoding=UTF8"]  # the environment may name a locale that is not installed
        assert _start(command, folder).wait() == 0
        server = PostgresqlServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
