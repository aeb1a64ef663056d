# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: their kinds, permissions, and what is left after a failure."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum._internal.output_file import OutputFile, open_private, write_file
from lanesum.errors import ConfigurationError


@pytest.fixture
def device() -> Iterator[Path]:
    """A character device that no mistake harms: a terminal of this test alone."""
    one, other = os.openpty()
    yield Path(os.ttyname(other))
    os.close(one)
    os.close(other)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("private", [False, True])
def test_write_file_creates_or_replaces_it(tmp_path: Path, private: bool) -> None:
    path = tmp_path / ("x" * 255)  # the longest name
    for data in (b"first, longer", "second"):
        write_file(path, data, private=private)
        assert path.read_bytes() == (data if isinstance(data, bytes) else data.encode())
    assert list(tmp_path.iterdir()) == [path]


def test_write_file_device_is_refused(device: Path) -> None:
    before = device.stat()
    for write in (lambda: write_file(device, b"x"), lambda: open_private(device)):
        with pytest.raises(ConfigurationError, match=f"Cannot write {device}: it is a device. Give the path of a reg"):
            write()
    assert device.stat().st_ino == before.st_ino and mode_of(device) == stat.S_IMODE(before.st_mode)


def test_write_file_pipe_or_socket_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "socket"))
    for name, kind in (("pipe", "a named pipe"), ("socket", "a socket")):
        for write in (lambda path: write_file(path, b"x"), open_private):  # without a reader, neither may wait for one
            with pytest.raises(ConfigurationError, match=f"Cannot write .*/{name}: it is {kind}"):
                write(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "socket"}


def test_write_file_link_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    for target in ("file", "folder", "missing"):
        link = tmp_path / f"link-{target}"
        link.symlink_to(target)
        for write in (lambda path: write_file(path, b"x"), open_private):
            with pytest.raises(
                ConfigurationError, match=f"is a symbolic link to {tmp_path / target}. Give the path of"
            ):
                write(link)
        assert link.readlink() == Path(target)
    assert (tmp_path / "file").read_text() == "kept" and not (tmp_path / "missing").exists()


def test_write_file_below_linked_folder_works(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    write_file(tmp_path / "link" / "file", b"x")
    assert (tmp_path / "folder" / "file").read_bytes() == b"x"


def test_write_file_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path, Path("."), Path("..")):
        with pytest.raises(ConfigurationError, match=f"Cannot write {re.escape(str(path))}: it is a folder"):
            write_file(path, b"x")


def test_write_file_without_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no folder .*/none\. Create the folder, or give another"):
        write_file(tmp_path / "none" / "x", b"x")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"Cannot write .*/file/x: .*/file is no folder\. Give another file"):
        write_file(tmp_path / "file" / "x", b"x")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_write_file_in_closed_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigurationError) as caught:
        write_file(tmp_path / "x", b"x")
    monkeypatch.undo()
    assert caught.value.what == f"Cannot write {tmp_path / 'x'}: {os.strerror(number)}."
    closed = "Give a file in a folder that you may write to."
    assert caught.value.next_step == ("Give another file." if number == errno.EIO else closed)


def test_output_file_on_full_disk_keeps_earlier(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"earlier")
    with (
        pytest.raises(ConfigurationError, match=f"No space left on device. Free space in {tmp_path}, or give another"),
        OutputFile(tmp_path / "x") as output,
    ):
        output.file.close()
        output.file = Path("/dev/full").open("wb")  # noqa: SIM115
        output.write(b"new")
        output.commit()
    assert (tmp_path / "x").read_bytes() == b"earlier" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_write_file_keeps_permissions_unless_private(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.touch()
    path.chmod(mode)
    write_file(path, b"x")
    assert mode_of(path) == mode
    write_file(path, b"x", private=True)
    assert mode_of(path) == 0o600


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o777, 0o000)])
def test_new_file_follows_umask_unless_private(tmp_path: Path, umask: int, mode: int) -> None:
    earlier = os.umask(umask)
    try:
        write_file(tmp_path / "x", b"x")
        write_file(tmp_path / "secret", b"x", private=True)
        os.close(open_private(tmp_path / "state"))
    finally:
        os.umask(earlier)
    assert mode_of(tmp_path / "x") == mode
    assert {mode_of(tmp_path / name) for name in ("secret", "state")} == {0o600}


def test_private_file_is_private_before_commit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch(0o666)
    with OutputFile(path, private=True) as output:
        assert mode_of(next(tmp_path.glob(".lanesum-*.new"))) == 0o600
        output.commit()


def test_interrupted_commit_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "x", b"earlier")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"earlier" and len(list(tmp_path.iterdir())) == 1


def test_killed_writer_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_file(path, b"earlier")
    program = (
        "import os, signal, sys; from pathlib import Path; from lanesum._internal.output_file import OutputFile\n"
        "output = OutputFile(Path(sys.argv[1])); output.write(b'new'); output.sync()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    assert path.read_bytes() == b"earlier"
    assert [left.read_bytes() for left in tmp_path.glob(".lanesum-*.new")] == [b"new"]
    write_file(path, b"later")
    assert path.read_bytes() == b"later"


def test_commit_refuses_link_made_since_open(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "x") as output, pytest.raises(ConfigurationError, match="is a symbolic link to"):
        (tmp_path / "x").symlink_to("elsewhere")
        output.commit()
    assert [path.name for path in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").is_symlink()


def test_exchanged_folder_does_not_redirect_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").mkdir()
    with OutputFile(tmp_path / "folder" / "x") as output:
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").symlink_to("other")
        output.commit()
    assert (tmp_path / "moved" / "x").is_file() and not list((tmp_path / "other").iterdir())


def test_committed_file_grows_until_it_closes(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "x") as output:
        output.write(b"head")
        output.commit()
        assert (tmp_path / "x").read_bytes() == b"head"
        output.write(b", tail")
    assert (tmp_path / "x").read_bytes() == b"head, tail"
    output.close()


def test_open_private_keeps_content_and_closes_access(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"content")
    (tmp_path / "state").chmod(0o644)
    opened = open_private(tmp_path / "state")
    assert os.read(opened, 100) == b"content" and mode_of(tmp_path / "state") == 0o600
    os.close(opened)
