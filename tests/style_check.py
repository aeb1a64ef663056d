# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check text and names against docs/style.md: ``python -m tests.style_check [PATH...]``.

This module holds the rules that a program can check. docs/style.md has the others.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lanesum_lab.glossary import GLOSSARY

MAX_DOCS_COLUMNS = 120
MAX_PAGE_LINES = 400
MAX_SENTENCE_WORDS = 25
MAX_TEST_NAME_WORDS = 8


def _across_lines(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"(?: +| *\n *)"), re.IGNORECASE)


_WORDS = [(_across_lines(term.pattern), term) for term in GLOSSARY if term.pattern]
_NAMES = [(re.compile(term.name), term) for term in GLOSSARY if term.name]

_RELATIVE = r"(?:What|Whatever|Who|Whoever|That which|Somebody|Nobody|Anybody|Everybody)\b"
# "Where ..." and "How ..." are refused as openings only: later sentences may begin with a clause of place or manner.
_OPENING = re.compile(rf"(?:{_RELATIVE}|(?:Whether|Where|Wherever|How|Which)\b)")
_SENTENCE = re.compile(rf"(?:\A|(?<=[.!?]\s)|(?<=[.!?]\)\s)|(?<=\n\n)){_RELATIVE}[^.?!]*(?P<end>[.!?]?)")
_TEST_OPENING = re.compile(r"test_(a|an|the|what|whatever|whether|who|whoever|where|how|which|nobody|somebody)_")

_MARKER = re.compile(r"^[ \t]*(?:///?<?|#+:?|/?\*+/?)(?=\s|$)", re.MULTILINE)
_HASH_COMMENT = re.compile(r"(?P<code>[^#\n]*)#:?(?P<text>.*)")
_C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s")
_LINK_TARGET = re.compile(r"(?<=\])\([^)]*\)|https?://\S+")
# Titles of other works stand in quotation marks, and keep their words.
_OTHERS_WORDS = re.compile(r"https?://\S+|(?<=\])\([^)]*\)|“[^”]*”")
_CODE_SPAN = re.compile(r"`[^`]*`")
# A full stop ends a sentence before a blank, also behind a closing quotation mark, bracket or emphasis.
_ANY_SENTENCE = re.compile(r'\S(?:[^.!?]|[.!?](?![*"”)`\]]*(?:\s|$)))*(?:[.!?][*"”)`\]]*|\Z)')
_PRONOUN = re.compile(r"\bthose\s+(?:of|that|which|who|whose|in|on|with|without|by|for|from|to|at)\b", re.IGNORECASE)
_QUOTED_IN_DOCS = re.compile(r'"[A-Z][^"\n]*"')

_PYTHON = (".py", ".pyi")
_C_LIKE = (".cpp", ".hpp", ".inl", ".p4", ".pml")
_HASH = (".yaml", ".yml", ".toml", "Makefile", "CMakeLists.txt", "scripts/setup", "scripts/native", ".ci/run")
# These files show the words that the check refuses.
_OWN_FILES = (
    "lab/lanesum_lab/glossary.py",
    "tests/style_check.py",
    "docs/style.md",
    "tests/test_style_check.py",
)
_GENERATED = ("p4src/build/", "tests/softswitch/p4runtime/programs/", "tests/softswitch/programs/")


# Folders of sources, and of the tests that mirror their modules.
_MIRRORED = {
    PurePosixPath("host/lanesum"): PurePosixPath("tests/host"),
    PurePosixPath("fabric/lanesum_fabric"): PurePosixPath("tests/fabric"),
    PurePosixPath("control_plane/lanesum_control"): PurePosixPath("tests/control_plane"),
    PurePosixPath("softswitch/lanesum_switch"): PurePosixPath("tests/softswitch"),
    PurePosixPath("lab/lanesum_lab"): PurePosixPath("tests/lab"),
}
_PACKAGES = (
    "host/lanesum/",
    "fabric/lanesum_fabric/",
    "control_plane/lanesum_control/",
    "softswitch/lanesum_switch/",
    "lab/lanesum_lab/",
    "tests/reference/",
    "tests/simulator/",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One line that breaks a rule of the style page."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, docstring or comment (``kind``): its first line's number, and its text without markers."""

    kind: str
    line: int
    text: str


def check_text(path: str, text: str) -> list[Problem]:
    """Return the problems of one file; ``path`` is relative to the repository's root."""
    problems = [*_words(path, text), *_openings(path, text)]
    if path.endswith(".md"):
        problems += [*_sizes(path, text), *_sentences(path, text)]
    if path.endswith(_PYTHON):
        problems += _test_names(path, text)
    for line, name in _names(path, text):
        snake = _CAMEL.sub("_", name).lower()
        problems += [
            Problem(path, line, f"name {name!r}: say {term.say}") for rule, term in _NAMES if rule.search(snake)
        ]
    return sorted(set(problems), key=lambda problem: (problem.line, problem.text))


@functools.lru_cache(maxsize=1)
def _parse(text: str) -> ast.Module:
    """Parse a file once for all rules."""
    return ast.parse(text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _words(path: str, text: str) -> Iterator[Problem]:
    plain = _MARKER.sub(_blank, _OTHERS_WORDS.sub(_blank, text))
    if path.endswith(".md"):
        plain = _QUOTED_IN_DOCS.sub(_blank, plain)
    for pattern, term in _WORDS:
        for found in pattern.finditer(plain):
            words = " ".join(found[0].split())
            yield Problem(path, _line(plain, found.start()), f"{words!r}: say {term.say}")


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _sizes(path: str, text: str) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        columns = len(_LINK_TARGET.sub("", line))
        if columns > MAX_DOCS_COLUMNS:
            yield Problem(path, number, f"{columns} columns, without targets of links; at most {MAX_DOCS_COLUMNS}")
    lines = text.count("\n")
    if lines > MAX_PAGE_LINES:
        yield Problem(path, MAX_PAGE_LINES + 1, f"page of {lines} lines; at most {MAX_PAGE_LINES}")


def _sentences(path: str, text: str) -> Iterator[Problem]:
    """Yield long sentences of a page, and pronouns where a noun can stand."""
    for block in _paragraphs(text):
        plain = _LINK_TARGET.sub("", _CODE_SPAN.sub(lambda found: re.sub(r"[.!?:]", "-", found[0]), block.text))
        for found in _ANY_SENTENCE.finditer(plain):
            words = len(found[0].split())
            if words > MAX_SENTENCE_WORDS:
                line = block.line + _line(plain, found.start()) - 1
                yield Problem(path, line, f"sentence of {words} words; at most {MAX_SENTENCE_WORDS}")
        for found in _PRONOUN.finditer(plain):
            line = block.line + _line(plain, found.start()) - 1
            yield Problem(path, line, f"{' '.join(found[0].split())!r}: say the noun")


def _openings(path: str, text: str) -> Iterator[Problem]:
    for block in _blocks(path, text):
        if block.kind != "paragraph" and _OPENING.match(block.text):
            word = block.text.split()[0]
            yield Problem(path, block.line, f"{block.kind} opens with {word!r}: use subject, verb, object")
        for found in _SENTENCE.finditer(block.text):
            if found["end"] != "?" and (found.start() or block.kind == "paragraph"):
                line = block.line + _line(block.text, found.start()) - 1
                yield Problem(path, line, f"sentence opens with {found[0].split()[0]!r}: use subject, verb, object")


def _blocks(path: str, text: str) -> Iterator[_Block]:
    if path.endswith(".md"):
        yield from _paragraphs(text)
    elif path.endswith(_PYTHON):
        yield from _docstrings(text)
        yield from _joined(_python_comments(text))
    elif path.endswith(_C_LIKE):
        yield from _joined(_c_comments(text))
    else:
        lines = enumerate(text.splitlines(), 1)
        comments = ((number, _HASH_COMMENT.fullmatch(line)) for number, line in lines)
        yield from _joined((number, not found["code"].strip(), found["text"]) for number, found in comments if found)


def _paragraphs(text: str) -> Iterator[_Block]:
    """Yield paragraphs and items of lists; headings, tables and code have no sentences to check."""
    fenced = False
    collected: list[tuple[int, bool, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if fenced or fence or not line.strip() or line.startswith(("#", "|", "<")):
            continue
        item = _LIST_ITEM.match(line)
        collected.append((number, item is None, line[item.end() :] if item else line))
    yield from _joined(collected, "paragraph")


def _docstrings(text: str) -> Iterator[_Block]:
    """Yield the docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield _Block("docstring", node.lineno, inspect.cleandoc(node.value.value))


def _python_comments(text: str) -> Iterator[tuple[int, bool, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.line.lstrip().startswith("#"), token.string.lstrip("#:")


def _c_comments(text: str) -> Iterator[tuple[int, bool, str]]:
    for found in _C_COMMENT.finditer(text):
        if found["comment"]:
            alone = not text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
            for offset, line in enumerate(found["comment"].splitlines()):
                yield _line(text, found.start()) + offset, alone, re.sub(r"^\s*(///?<?|/?\*+)|\*/$", "", line)


def _joined(lines: Iterable[tuple[int, bool, str]], kind: str = "comment") -> Iterator[_Block]:
    """Join lines with neighbouring numbers to blocks; a line with False begins a new one."""
    first, last, block = 0, -1, ""
    for number, joins, text in lines:
        if block and joins and number == last + 1:
            block += "\n" + text.strip()
        else:
            if block:
                yield _Block(kind, first, block)
            first, block = number, text.strip()
        last = number
    if block:
        yield _Block(kind, first, block)


def _test_names(path: str, text: str) -> Iterator[Problem]:
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            words = len(node.name.split("_")) - 1
            if words > MAX_TEST_NAME_WORDS:
                yield Problem(path, node.lineno, f"{node.name}: {words} words; at most {MAX_TEST_NAME_WORDS}")
            if _TEST_OPENING.match(node.name):
                yield Problem(path, node.lineno, f"{node.name}: name unit, condition and outcome")


def misplaced_tests(paths: Iterable[str]) -> list[Problem]:
    """Return the test files whose names do not begin with a module of their package, or with the package."""
    listed = [PurePosixPath(path) for path in paths]
    problems = []
    for source, tests in _MIRRORED.items():
        names: dict[PurePosixPath, set[str]] = defaultdict(set)
        for path in listed:
            if path.is_relative_to(source):
                names[path.parent] |= {path.stem, path.parent.name}
                names[path.parent.parent].add(path.parent.name)
        for path in listed:
            if path.match("test_*.py") and path.is_relative_to(tests) and path.parent.name != "native":
                package = source / path.parent.relative_to(tests)
                name = f"{path.stem.removeprefix('test_')}_"
                if not name.startswith(tuple(f"{module}_" for module in names[package])):
                    problems.append(Problem(str(path), 1, f"no module or package of {package} has this name"))
    return problems


def _names(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the names that a file defines; of C++, P4 and Promela the first use of each."""
    if path.endswith(_PYTHON):
        yield from _python_names(_parse(text))
    elif path.endswith(_C_LIKE):
        code, seen = _C_COMMENT.sub(_blank, text), set()
        for found in _IDENTIFIER.finditer(code):
            if found[0] not in seen:
                seen.add(found[0])
                yield _line(code, found.start()), found[0]


def _python_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def second_homes(texts: Mapping[str, str]) -> list[Problem]:
    """Return public classes that another module of the packages defines too. ``texts``: contents of files by path."""
    homes: dict[str, str] = {}
    problems = []
    for path, text in texts.items():
        if path.startswith(_PACKAGES) and path.endswith(".py"):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    first = homes.setdefault(node.name, path)
                    if first != path:
                        why = f"class {node.name!r} is also in {first}: rename one of them"
                        problems.append(Problem(path, node.lineno, why))
    return problems


def tracked_files(root: Path) -> list[str]:
    """Return the files of the checkout that have text to check. Raises CalledProcessError outside a checkout."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    suffixes = (".md", *_PYTHON, *_C_LIKE, *_HASH)
    return [
        path
        for path in listed.splitlines()
        if path.endswith(suffixes) and path not in _OWN_FILES and not path.startswith(_GENERATED)
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the problems of the given files or folders, or of the whole checkout; return 1 if there are any."""
    root = Path.cwd()
    below = tuple(arguments) or ("",)
    tracked = [path for path in tracked_files(root) if (root / path).exists()]
    texts = {path: (root / path).read_text(encoding="utf-8") for path in tracked}
    problems = [problem for path in tracked if path.startswith(below) for problem in check_text(path, texts[path])]
    of_checkout = [*misplaced_tests(tracked), *second_homes(texts)]
    problems += [problem for problem in of_checkout if problem.path.startswith(below)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
