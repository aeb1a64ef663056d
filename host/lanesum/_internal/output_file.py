# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Files that lanesum writes: regular files alone, never through a link, and complete or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lanesum._internal.closing import Closing
from lanesum.errors import ConfigurationError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)


class OutputFile(Closing):
    """New file beside ``path``, which takes its place on ``commit``. Without ``commit`` it is deleted on ``close``.

    Readers of ``path`` see the earlier file or the complete new one. A process that is killed may leave the new file
    as ``.lanesum-*.new``. All methods raise ConfigurationError with the path.

    Args:
        path: a regular file, or a name without a file. Folders on the way to it may be links.
        private: give only the owner access. Otherwise the permissions of an earlier file are kept.

    Attributes:
        file: the new file, for writers that need a file object. ``commit`` does not close it.
    """

    file: BinaryIO

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self._path = path
        self._name = path.name or "."
        self._new = f".lanesum-{secrets.token_hex(8)}.new"
        self._folder = -1
        self._committed = False
        try:
            with self._errors():
                # The folder stays the same one if its path is exchanged meanwhile.
                self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                earlier = _earlier(path, self._name, self._folder)
                mode = 0o600 if private else None if earlier is None else earlier.st_mode & 0o777
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                created = os.open(self._new, flags, 0o666 if mode is None else 0o600, dir_fd=self._folder)
                self.file = os.fdopen(created, "wb")
                if mode is not None:
                    os.fchmod(created, mode)
        except BaseException:
            self.close()
            raise

    def write(self, data: bytes) -> None:
        """Append bytes to the new file."""
        with self._errors():
            self.file.write(data)

    def sync(self) -> None:
        """Write the new file to the disk, so that a full disk is found before ``commit``."""
        with self._errors():
            self.file.flush()
            os.fsync(self.file.fileno())

    def commit(self) -> None:
        """Replace the earlier file. The new file can be written further."""
        self.sync()
        with self._errors():
            _earlier(self._path, self._name, self._folder)
            os.rename(self._new, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._committed = True
            with contextlib.suppress(OSError):  # some network file systems have no such call for folders
                os.fsync(self._folder)

    def close(self) -> None:
        """Close the file, and delete it unless it was committed; idempotent."""
        folder, self._folder = self._folder, -1
        if folder >= 0:
            try:
                if not self._committed:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self._new, dir_fd=folder)
            finally:
                os.close(folder)
        if hasattr(self, "file"):
            with self._errors() if self._committed else contextlib.suppress(OSError):
                self.file.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _failure(self._path, error) from error


def write_file(path: Path, data: bytes | str, *, private: bool = False) -> None:
    """Replace the file ``path`` in one step; see ``OutputFile``. Raises ConfigurationError."""
    with OutputFile(path, private=private) as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.commit()


def open_private(path: Path) -> int:
    """Open a file to change it in place, or create it, and return the descriptor. Only its owner may open it then.

    Raises ConfigurationError for a link, a folder, a device or a pipe, and OSError.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _earlier(path, path.name or ".", folder)
        # A pipe or link that took the place meanwhile neither blocks nor is followed.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opened = os.open(path.name, flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _require_regular(path, os.fstat(opened))
        os.fchmod(opened, 0o600)
    except BaseException:
        os.close(opened)
        raise
    return opened


def check_writable(path: Path) -> None:
    """Raise ConfigurationError if no file can be written at ``path``: before work whose result goes there."""
    OutputFile(path).close()


def make_folder(path: Path, *, private: bool = False) -> None:
    """Create a folder, with those above it, unless it exists; only the owner may enter a private one.

    Raises ConfigurationError.
    """
    try:
        path.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot create the folder {path}: {error.strerror}.", "Give another folder."
        ) from error


def _earlier(path: Path, name: str, folder: int) -> os.stat_result | None:
    """Return the status of the file to replace; None without one. Raises ConfigurationError, OSError."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _require_regular(path, found)
    return found


def _require_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISLNK(found.st_mode):
        raise ConfigurationError(
            f"Cannot write {path}: it is a symbolic link to {os.path.realpath(path)}.",
            "Give the path of the file itself, or remove the link.",
        )
    kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "no file")
    raise ConfigurationError(f"Cannot write {path}: it is {kind}.", "Give the path of a regular file.")


def _failure(path: Path, error: OSError) -> ConfigurationError:
    if error.errno == errno.ENOENT:
        return ConfigurationError(
            f"Cannot write {path}: there is no folder {path.parent}.", "Create the folder, or give another file."
        )
    if error.errno == errno.ENOTDIR:
        return ConfigurationError(f"Cannot write {path}: {path.parent} is no folder.", "Give another file.")
    next_step = "Give another file."
    if error.errno in _NO_SPACE:
        next_step = f"Free space in {path.parent}, or give another file."
    elif error.errno in _NO_PERMISSION:
        next_step = "Give a file in a folder that you may write to."
    return ConfigurationError(f"Cannot write {path}: {error.strerror}.", next_step)
