# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens of callers: random text in a file of its owner; the controller has the hash.

A token file has one line for each caller: name, role, and the SHA-256 of the token. A token has 256 random bits, so its
hash needs no salt.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lanesum._internal.output_file import OutputFile, open_private, write_file
from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.jobs.names import look_alike

_HEADING = "# Callers of the controller: name, role, SHA-256 of the token. lanesum token writes this file.\n"
_LOCK_S = 10.0  # a change takes milliseconds
_LOCK_POLL_S = 0.02
_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,62}) (operator|tenant) ([0-9a-f]{64})")


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return the hash by which a token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def write_token(path: Path, token: str) -> None:
    """Write a token for LANESUM_TOKEN_FILE, which only its owner may read. Raises ConfigurationError."""
    with token_output(path, token) as output:
        output.commit()


def token_output(path: Path, token: str) -> OutputFile:
    """Return the written file of a token, which takes its place on ``commit``. Raises ConfigurationError."""
    output = OutputFile(path, private=True)
    try:
        output.write(token.encode() + b"\n")
        output.sync()
    except BaseException:
        output.close()
        raise
    return output


class TokenFile:
    """Callers by token; the file is read again when it has changed. Thread-safe.

    Raises ConfigurationError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._problem = ""
        self._read_at: tuple[int, int, int] | None = None
        self._callers: dict[str, Caller] = {}
        self._update()

    def caller(self, token: str) -> Caller | None:
        """Return the caller of a token; None for an unknown one."""
        return self._present().get(token_hash(token))

    def has(self, caller: Caller) -> bool:
        """Return True if the token of a caller that ``caller`` returned is still valid."""
        found = self._present().get(caller.token_hash)
        return found is not None and (found.name, found.role) == (caller.name, caller.role)

    def _present(self) -> dict[str, Caller]:
        with self._lock:
            try:
                self._update()
            except ConfigurationError as error:
                with contextlib.suppress(OSError):  # standard error may be closed
                    if str(error) != self._problem:
                        print(f"lanesum: {error} The earlier callers stay.", file=sys.stderr, flush=True)
                self._problem = str(error)
            return self._callers

    def _update(self) -> None:
        try:
            stat = self._path.stat()
            stamp = stat.st_mtime_ns, stat.st_ino, stat.st_size
            if stamp != self._read_at:
                self._callers = {
                    digest: Caller(name, role, token_hash=digest) for name, (role, digest) in read(self._path).items()
                }
                self._read_at = stamp
        except OSError as error:
            raise _unreadable(self._path, error) from error


def read(path: Path) -> dict[str, tuple[CallerRole, str]]:
    """Return role and hash by name. Raises ConfigurationError, OSError."""
    found: dict[str, tuple[CallerRole, str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] in found:
            # The line may hold a token in place of its hash.
            what = "names a caller a second time" if match else "is no name, role and SHA-256 of a token"
            raise ConfigurationError(f"{path}, line {number} {what}.", "Write the file with lanesum token.")
        found[match[1]] = CallerRole(match[2]), match[3]
    return found


def add(path: Path, name: str, role: CallerRole, token: str | None = None) -> str:
    """Add a caller to a token file, or give it a new token, and return the token. Raises ConfigurationError.

    ``token``: of ``new_token``, if it was written to the caller's file before.
    """
    token = new_token() if token is None else token
    line = f"{name} {role} {token_hash(token)}"
    if not _LINE.fullmatch(line):
        raise ConfigurationError(
            f"{name!r} cannot be the {role} of a token.",
            "Use letters, digits, '.', '_' and '-' in the name, and the role operator or tenant; a job has its own "
            "token for its workers (lanesum job admit --worker-token).",
        )
    with _locked(path):
        callers = _existing(path)
        if (other := look_alike(name, callers)) is not None:
            raise ConfigurationError(
                f"{name!r} looks like the caller {other!r} of {path}.", f"Use that name, or remove {other!r} first."
            )
        _write(path, {**callers, name: (role, token_hash(token))})
    return token


def remove(path: Path, name: str) -> None:
    """Remove a caller, whose token is void from then on. Raises ConfigurationError."""
    with _locked(path):
        callers = _existing(path)
        if callers.pop(name, None) is None:
            raise ConfigurationError(f"{path} has no caller {name!r}; it has {', '.join(sorted(callers)) or 'none'}.")
        _write(path, callers)


def roles(path: Path) -> dict[str, CallerRole]:
    """Return the role of every caller of a token file. Raises ConfigurationError."""
    return {name: role for name, (role, _) in _existing(path).items()}


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from changing a token file. Its lock is ``FILE.lock``, which stays: the file is replaced.

    Raises ConfigurationError.
    """
    lock = Path(f"{path}.lock")
    try:
        opened = open_private(lock)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot lock the token file {path}: {error.strerror}.", "Give a file in a folder that you may write to."
        ) from error
    try:
        limit = time.monotonic() + _LOCK_S
        while not _try_lock(opened):
            if time.monotonic() >= limit:
                raise ConfigurationError(
                    f"Cannot change the token file {path}: another process holds {lock} for {_LOCK_S:g} s.",
                    "End that process (fuser names it), and repeat the command.",
                )
            time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(opened)


def _try_lock(opened: int) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _existing(path: Path) -> dict[str, tuple[CallerRole, str]]:
    try:
        return read(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error


def _write(path: Path, callers: dict[str, tuple[CallerRole, str]]) -> None:
    lines = "".join(f"{name} {role} {digest}\n" for name, (role, digest) in sorted(callers.items()))
    write_file(path, _HEADING + lines, private=True)


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot read the token file {path}: {error.strerror}.", "Make one (lanesum token add), or correct --tokens."
    )
