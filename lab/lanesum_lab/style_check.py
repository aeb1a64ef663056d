# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check text and names against docs/style.md: ``python -m lanesum_lab.style_check [PATH...]``.

The rules that a program can check are here; docs/style.md shows the glossary below as a table and has the others.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_DOCS_COLUMNS = 120
MAX_TEST_NAME_WORDS = 10
_OPENINGS = re.compile(
    r"(What|Whatever|Whether|Who|Whoever|Where|Wherever|How|Which|That which|Somebody|Nobody|Everybody)\b"
)
_TEST_OPENINGS = re.compile(r"test_(a|an|the|what|whatever|whether|who|whoever|where|how|which|nobody|somebody)_")
_CODE_COMMENT = re.compile(r"^\s*(?:///?<?|#)\s*(?P<text>.*)")
_URL = re.compile(r"https?://\S+|\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the glossary.

    Attributes:
        say: the field's standard term.
        instead_of: the words that it replaces, as docs/style.md shows them.
        pattern: regular expression that finds them in text; empty where a program cannot tell.
        name: regular expression that finds them in identifiers; empty where there is none.
    """

    say: str
    instead_of: str
    pattern: str = ""
    name: str = ""


GLOSSARY = (
    Term("in flight", "under way", r"\bunder way\b", r"(^|_)under_?way(_|$)"),
    Term(
        "retransmit, retransmission",
        "send again, resend",
        r"\b(send|sends|sent|sending) (\w+ )?again\b|\bresen(d|ds|t|ding)\b",
        r"(^|_)resen(d|ds|t|ding)(_|$)",
    ),
    Term("uplink / downlink; uplink and downlink bits", "up / down, way up", r"\bway (up|down)\b"),
    Term("contribution; partial sum; result", "what was sent; piece; what comes back"),
    Term("native extension", "compiled part", r"\bcompiled (part|one|ones)\b", r"(^|_)compiled_part(_|$)"),
    Term("busy polling", "looking before sleeping", r"\blook(s|ed|ing)? before (it |they )?sleep"),
    Term("random number generator, `rng`", "dice", r"\bdice\b", r"(^|_)dice(_|$)"),
    Term("captured packets", "loot, hearsay", r"\b(loot|hearsay)\b", r"(^|_)(loot|hearsay)(_|$)"),
    Term("unexpected contributors", "strangers", r"\bstrangers?\b", r"(^|_)strangers?(_|$)"),
    Term("recirculation pass, pipeline pass", "journey", r"\bjourneys?\b", r"(^|_)journeys?(_|$)"),
    Term(
        "quorum, late worker, evicted result",
        "enough, who comes too late, what nobody has any more",
        r"\bcomes? too late\b",
    ),
    Term("aggregation point", "place"),
    Term(
        "in order, out of order, reordering threshold",
        "overtaken",
        r"\bovert(ake|akes|aken|ook|aking)\b",
        r"(^|_)overt(ake|akes|aken|ook|aking)(_|$)",
    ),
    Term("MTU, path MTU", "room of the way", r"\broom of the way\b"),
    Term(
        "worker, server, controller, peer, caller",
        "nobody, somebody, whoever, everybody",
        r"\b(nobody|somebody|whoever|everybody)\b",
        r"(^|_)(nobody|somebody|whoever|everybody)(_|$)",
    ),
    Term("`max_`, at most", "most, as many as", name=r"^most_|_most$"),
)
_WORDS = [(re.compile(term.pattern, re.IGNORECASE), term) for term in GLOSSARY if term.pattern]
_NAMES = [(re.compile(term.name, re.IGNORECASE), term) for term in GLOSSARY if term.name]

SUFFIXES = (".py", ".pyi", ".cpp", ".hpp", ".inl", ".p4", ".md", ".pml")
# This file and its page show the words that they refuse.
_OWN_FILES = ("lab/lanesum_lab/style_check.py", "docs/style.md", "tests/lab/test_style_check.py")
_GENERATED = ("p4src/build/", "tests/softswitch/p4runtime/programs/", "tests/softswitch/bmv2/programs/")


@dataclass(frozen=True, slots=True)
class Problem:
    """One place that the style page would word otherwise."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def check_text(path: str, text: str) -> list[Problem]:
    """Return the problems of one file; ``path`` is relative to the repository's root."""
    problems = list(_words(path, text))
    if path.endswith(".md"):
        problems += _columns(path, text)
    elif path.endswith((".py", ".pyi")):
        problems += _python(path, text)
    else:
        problems += _comments(path, text)
    return sorted(problems, key=lambda problem: problem.line)


def _words(path: str, text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        plain = _URL.sub("", line)
        for pattern, term in _WORDS:
            found = pattern.search(plain)
            if found:
                yield Problem(path, number, f"{found[0]!r}: say {term.say}")


def _columns(path: str, text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_DOCS_COLUMNS and "](" not in line:
            yield Problem(path, number, f"{len(line)} columns; at most {MAX_DOCS_COLUMNS}")


def _python(path: str, text: str) -> Iterator[Problem]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring and _OPENINGS.match(docstring):
                first = node.body[0].lineno
                yield Problem(path, first, f"docstring opens with {docstring.split()[0]!r}: use subject, verb, object")
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from _test_name(path, node)
    for number, name in _defined_names(tree):
        for pattern, term in _NAMES:
            if pattern.search(name):
                yield Problem(path, number, f"name {name!r}: say {term.say}")


def _test_name(path: str, node: ast.FunctionDef) -> Iterator[Problem]:
    words = len(node.name.split("_")) - 1
    if words > MAX_TEST_NAME_WORDS:
        yield Problem(path, node.lineno, f"test name of {words} words; at most {MAX_TEST_NAME_WORDS}")
    if _TEST_OPENINGS.match(node.name):
        yield Problem(path, node.lineno, f"{node.name}: name unit, condition and outcome")


def _defined_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def _comments(path: str, text: str) -> Iterator[Problem]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = _CODE_COMMENT.match(line)
        first, inside = not inside, comment is not None
        if comment and first and _OPENINGS.match(comment["text"]):
            yield Problem(path, number, f"comment opens with {comment['text'].split()[0]!r}: use subject, verb, object")


def tracked_files(root: Path) -> list[str]:
    """Return the files of the checkout that have text to check."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [
        path
        for path in listed.splitlines()
        if path.endswith(SUFFIXES) and path not in _OWN_FILES and not path.startswith(_GENERATED)
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the problems of the given files or folders, or of the whole checkout; return 1 if there are any."""
    root = Path.cwd()
    paths = [path for path in tracked_files(root) if not arguments or path.startswith(tuple(arguments))]
    problems = [
        problem
        for path in paths
        if (root / path).exists()
        for problem in check_text(path, (root / path).read_text(encoding="utf-8"))
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
