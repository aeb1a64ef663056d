# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planting of a bug: in a source file, for new processes, and in the functions of this process."""

from __future__ import annotations

import contextlib
import gc
import os
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

from tests.planted.bug import Bug
from tests.planted.selection import Function, enclosing, first_line


@contextlib.contextmanager
def in_file(bug: Bug, root: Path) -> Iterator[None]:
    """Write the bug to its file below ``root``, and restore it at the end."""
    path = root / bug.file
    before, stat = path.read_bytes(), path.stat()
    path.write_text(bug.replaced(before.decode()))
    # Byte code is compared by seconds and size: times that no other version has.
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - (1 + zlib.crc32(bug.name.encode()) % 10**6) * 10**9))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def outermost(bug: Bug, source: str) -> Function | None:
    """Return the outermost function that contains the bug; None for a bug outside functions, or in a default value."""
    line = bug.line_in(source)
    functions = [one for one in enclosing(source, line) if isinstance(one, Function)]
    return functions[0] if functions and line >= functions[0].body[0].lineno else None


Location = tuple[str, str, int]  # of a function: file, name, first line


def functions_of_process() -> dict[Location, list[FunctionType]]:
    """Return all functions of this process by location."""
    found: dict[Location, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # imported modules are frozen
    for one in gc.get_objects():
        if type(one) is FunctionType:
            found[one.__code__.co_filename, one.__code__.co_name, one.__code__.co_firstlineno].append(one)
    gc.freeze()
    return found


def in_process(bug: Bug, source: str, root: Path, functions: Mapping[Location, Sequence[FunctionType]]) -> bool:
    """Replace the code of all functions of this process that contain the bug; return False if that is impossible.

    ``source``: of the file without the bug. ``functions``: those of this process.
    """
    function = outermost(bug, source)
    if function is None:
        return False
    path = str(root / bug.file)
    location = path, function.name, first_line(function)
    new = [
        code
        for code in _codes(compile(bug.replaced(source), path, "exec", dont_inherit=True))
        if (code.co_filename, code.co_name, code.co_firstlineno) == location
    ]
    assert len(new) == 1, bug.name
    found = functions.get(location, ())
    for one in found:
        if one.__code__.co_freevars != new[0].co_freevars:
            return False
        one.__code__ = new[0]
    return bool(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
