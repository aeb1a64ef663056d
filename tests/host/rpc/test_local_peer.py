# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Users who can answer at a socket file or a port of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum.rpc.local_peer import foreign_user_at_port, foreign_user_at_socket

FOREIGN_USER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user")
_LISTEN = f"""
import os, socket, sys
os.setuid({FOREIGN_USER})
with socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET) as one:
    print(one.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["127.0.0.1", "0.0.0.0", "::"])
def foreign_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Port at which a process of another user listens."""
    command = [sys.executable, "-c", _LISTEN, request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate("")


@needs_root
def test_port_of_another_user_is_named(foreign_port: int) -> None:
    assert foreign_user_at_port(foreign_port) == f"user {FOREIGN_USER} listens there"


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_own_port_is_trusted(family: socket.AddressFamily, host: str) -> None:
    with socket.create_server((host, 0), family=family) as listening:
        port = listening.getsockname()[1]
        assert foreign_user_at_port(port) == ""
    assert foreign_user_at_port(port) is None


@pytest.fixture
def socket_file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "controller.sock"
    path.parent.mkdir()
    path.touch()
    return path


def test_own_socket_is_trusted(socket_file: Path) -> None:
    assert foreign_user_at_socket(socket_file) == ""
    assert foreign_user_at_socket(socket_file.with_name("absent")) is None


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_socket_in_shared_folder_is_refused(socket_file: Path, mode: int) -> None:
    socket_file.parent.chmod(mode)
    assert foreign_user_at_socket(socket_file) == f"other users may replace files in {socket_file.parent}"
    socket_file.parent.chmod(mode | 0o1000)
    assert foreign_user_at_socket(socket_file) == ""


@needs_root
@pytest.mark.parametrize("above", [False, True])
def test_owner_of_socket_or_folder_is_named(socket_file: Path, above: bool) -> None:
    owned = socket_file.parent if above else socket_file
    os.chown(owned, FOREIGN_USER, FOREIGN_USER)
    assert foreign_user_at_socket(socket_file) == f"user {FOREIGN_USER} owns {owned}"


def test_link_to_socket_is_checked_at_target(socket_file: Path, tmp_path: Path) -> None:
    socket_file.parent.chmod(0o777)
    (tmp_path / "link").symlink_to(socket_file)
    assert foreign_user_at_socket(tmp_path / "link") == f"other users may replace files in {socket_file.parent}"
