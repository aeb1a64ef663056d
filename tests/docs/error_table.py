# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All error messages of lanesum, read from its sources: the page of errors of the documentation site."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "host/lanesum",
    "fabric/lanesum_fabric",
    "control_plane/lanesum_control",
    "softswitch/lanesum_switch",
    "lab/lanesum_lab",
)
_ROOT = "LanesumError"
# The other one ends calls over P4Runtime and BF Runtime.
_ROOTS = (_ROOT, "StatusError")
# Errors with a status code.
_CODED = ("RefusedError", "StatusError")
# Stands for a value that is known when the error is raised.
VALUE = "…"


@dataclass(frozen=True, slots=True)
class Message:
    """One message that a module raises; values are ellipses."""

    error: str
    what: str
    next_step: str
    module: str
    line: int


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """Type of error: its name, its bases and the first line of its docstring."""

    name: str
    bases: tuple[str, ...]
    summary: str
    module: str


def modules(root: Path) -> dict[str, ast.Module]:
    """Return the parsed modules of all packages that name an error or hand one on, by path below ``root``."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    texts = {str(path.relative_to(root)): path.read_text() for path in paths}
    return {path: ast.parse(source) for path, source in texts.items() if "Error" in source or "raise " in source}


def error_classes(parsed: Mapping[str, ast.Module]) -> dict[str, ErrorClass]:
    """Return the types of errors, by name: ``LanesumError`` and those below it."""
    every = [
        ErrorClass(
            node.name,
            tuple(_name(base) for base in node.bases),
            (ast.get_docstring(node) or "").partition("\n")[0],
            module,
        )
        for module, tree in parsed.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    found = {one.name: one for one in every if one.name in _ROOTS}
    while more := {
        one.name: one for one in every if one.name not in found and any(base in found for base in one.bases)
    }:
        found |= more
    return found


def messages(parsed: Mapping[str, ast.Module]) -> list[Message]:
    """Return all messages with which a module makes an error, in the order of the sources."""
    known = error_classes(parsed)
    made = {module: _returned(tree, known) for module, tree in parsed.items()}
    every = {name: kind for one in made.values() for name, kind in one.items()}
    # A module's own function hides those of the same name in other modules.
    return [
        message for module, tree in parsed.items() for message in _messages(module, tree, known, every | made[module])
    ]


def _returned(tree: ast.Module, known: Container[str]) -> dict[str, str]:
    """Return the type of error that a function returns, by the name of the function."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {one.name: kind for one in functions if one.returns is not None and (kind := _name(one.returns)) in known}


def _messages(module: str, tree: ast.Module, known: Container[str], made: Mapping[str, str]) -> Iterator[Message]:
    nodes = list(ast.walk(tree))
    own = {
        call: node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and node.name in known
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
    }
    # Some functions get the type of their errors as an argument; others, in ``made``, make an error of a message.
    handed = {node.exc for node in nodes if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)}
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = own.get(node) or _name(node.func)
        if node in handed and name.islower():
            name = made.get(name, _ROOT)
        if name not in known:
            continue
        # A status code is in front of the message.
        what, *steps = (_name(node.func) in _CODED and node.args[1:2]) or node.args
        # A message that is handed on, such as that of a cause, has no words of its own.
        if (words := text(what)).strip(f"{VALUE} .:"):
            steps += (one.value for one in node.keywords if one.arg == "next_step")
            yield Message(name, words, text(steps[0]) if steps else "", module, node.lineno)


def text(node: ast.expr) -> str:
    """Return the words of an expression for a string; other expressions are ellipses."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " ".join(node.value.split())
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
        return " ".join("".join(map(str, parts)).split())
    if isinstance(node, ast.IfExp):
        ways = (text(node.body), text(node.orelse))
        return " / ".join(way for way in ways if way)
    if isinstance(node, ast.BoolOp):
        return " / ".join(way for value in node.values if (way := text(value)) != VALUE)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{text(node.left)}{text(node.right)}"
    return VALUE


def page(parsed: Mapping[str, ast.Module]) -> str:
    """Return the page as Markdown: a section for each type, its messages by alphabet."""
    found = messages(parsed)
    lines = [
        "# Errors",
        "",
        "After this page you know what an error means and what to do about it. Search the page for the words of a",
        f"message; `{VALUE}` stands for its values. The page is made of the sources, so it has every message.",
    ]
    for name, one in sorted(error_classes(parsed).items()):
        lines += ["", f"## {name}", "", f"{one.summary} It is a kind of `{one.bases[0]}` (`{one.module}`)."]
        rows = sorted({(message.what, message.next_step, message.module) for message in found if message.error == name})
        if rows:
            lines += ["", "| message | next step | raised in |", "|---|---|---|"]
            lines += [f"| {_cell(what)} | {_cell(step)} | `{module}` |" for what, step, module in rows]
    return "\n".join([*lines, ""])


def _cell(words: str) -> str:
    escaped = words
    for mark in "\\|<>*_`[]":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
