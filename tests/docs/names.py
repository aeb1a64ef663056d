# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names that exist in the checkout, for the tests of its documents."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePath

from tests.paths import ROOT

PACKAGE_ROOTS = {
    "lanesum": "host",
    "lanesum_native": "host/native",
    "lanesum_fabric": "fabric",
    "lanesum_control": "control_plane",
    "lanesum_switch": "softswitch",
    "lanesum_lab": "lab",
    "tests": ".",
    "bmv2_tests": ".",
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MODULES = (".py", ".pyi")
# Constants and macros, types, functions and variables, controls, tables and actions.
_DEFINITION = r"(?:#define|class|struct|enum|union|namespace|control|parser|table|action|header|typedef|using|inline)"


@functools.cache
def tracked_files() -> tuple[str, ...]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return tuple(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())


@functools.cache
def identifiers() -> frozenset[str]:
    """Every identifier of a tracked file that is no document, and of the paths of all files."""
    found = set(_IDENTIFIER.findall("\n".join(tracked_files())))
    for name in tracked_files():
        path = ROOT / name
        if path.suffix not in (".md", ".png", ".svg", ".json", ".npz") and path.is_file():
            found.update(_IDENTIFIER.findall(path.read_text(errors="ignore")))
    return frozenset(found)


@functools.cache
def file_names() -> frozenset[str]:
    """Every tracked file's path, and each end of it that is a path too."""
    ends = (PurePath(*PurePath(name).parts[start:]) for name in tracked_files() for start in range(name.count("/") + 1))
    return frozenset(map(str, ends))


def defines(path: Path, symbol: str) -> bool:
    """Return True if the file ``path`` defines ``symbol``, or ``Class.member``."""
    if path.suffix in _MODULES:
        return symbol in _python_names(path)
    name = re.escape(symbol.rpartition(".")[2])
    return re.search(rf"\b{_DEFINITION}\b[^;\n]*\b{name}\b|\b{name}\b\s*[({{=;:]", path.read_text()) is not None


@functools.cache
def _python_names(path: Path) -> frozenset[str]:
    return frozenset(_defined(ast.parse(path.read_text()).body))


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in _defined(node.body))
            yield from (f"{node.name}.{name}" for name in _attributes(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.If | ast.Try):
            yield from _defined(node.body)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store):
            yield item.attr


def resolves(dotted: str) -> bool:
    """Return True if a dotted name such as ``lanesum.torch.State.join`` is a module or a name of one."""
    parts = dotted.split(".")
    base = ROOT / PACKAGE_ROOTS[parts[0]]
    for end in range(len(parts), 0, -1):
        module = base.joinpath(*parts[:end])
        rest = ".".join(parts[end:])
        for path in (module.with_suffix(".py"), module.with_suffix(".pyi"), module / "__init__.py"):
            if path.exists():
                return not rest or _has(path, rest)
    return False


def _has(path: Path, name: str) -> bool:
    """Return True if the module has ``name``, its own or imported; members of imported classes are looked up there."""
    if name in _python_names(path):
        return True
    first, _, rest = name.partition(".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and first in [one.asname or one.name for one in node.names]:
            return resolves(f"{node.module}.{first}" + (f".{rest}" if rest else ""))
    return False
