# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The page of all error messages has those of the sources, and tests assert them."""

from __future__ import annotations

import ast
import collections
import gc
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from lanesum.cli.app import command
from lanesum.errors import LanesumError
from lanesum.transport.errors import WorkerGoneError
from lanesum_control.cli.configuration import arguments
from lanesum_fabric.topology import load
from tests.docs import error_table
from tests.paths import ROOT


@pytest.fixture(scope="module", autouse=True)
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: it goes through millions of new nodes, none of which is garbage."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def parsed() -> dict[str, ast.Module]:
    return error_table.modules(ROOT)


@pytest.fixture(scope="module")
def messages(parsed: dict[str, ast.Module]) -> list[error_table.Message]:
    return error_table.messages(parsed)


def pattern(message: error_table.Message) -> str:
    ways = ("|".join(map(re.escape, words.split(" / "))) for words in (message.what, message.next_step))
    what, next_step = (f"(?:{way})".replace(re.escape(error_table.VALUE), ".*") for way in ways)
    return f"{what} ?{next_step}"


def provoke(tmp_path: Path) -> list[LanesumError]:
    (tmp_path / "empty.yaml").touch()
    (tmp_path / "lanesum.toml").write_text("[server]\nthread = 2")
    calls = [
        lambda: command("swich"),
        lambda: load("nowhere"),
        lambda: load(tmp_path / "empty.yaml"),
        lambda: arguments(str(tmp_path / "lanesum.toml"), ["server"]),
        lambda: arguments("/nowhere.toml", ["server"]),
        lambda: command("server")(["--listen", "here"]),
        lambda: command("launch")(["nowhere.py"]),
        lambda: command("controller")(["--server", "a:1", "--server", "a:1"]),
    ]
    errors: list[LanesumError] = [WorkerGoneError("train", 2, "w3", "failed", "out of memory")]
    for call in calls:
        with pytest.raises(LanesumError) as caught:
            call()
        errors.append(caught.value)
    return errors


def test_page_of_errors_has_messages_that_occur(messages: list[error_table.Message], tmp_path: Path) -> None:
    for error in provoke(tmp_path):
        kinds = {kind.__name__ for kind in type(error).__mro__}
        found = [one for one in messages if one.error in kinds and re.fullmatch(pattern(one), str(error), re.DOTALL)]
        assert found, f"{type(error).__name__}: {error}"


def test_page_of_errors_has_every_type_and_message(
    parsed: dict[str, ast.Module], messages: list[error_table.Message]
) -> None:
    types = error_table.error_classes(parsed)
    page = error_table.page(parsed)
    assert {name for name in types if f"\n## {name}\n" in page} == types.keys()
    lines = {(one.module, one.line) for one in messages}
    for module, tree in parsed.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or not node.exc.args:
                continue
            name, first = error_table._name(node.exc.func), node.exc.args[0]
            if name in types and isinstance(first, ast.Constant | ast.JoinedStr) and " " in error_table.text(first):
                handed_on = not error_table.text(first).strip(f"{error_table.VALUE} .:")
                assert handed_on or (module, node.exc.lineno) in lines, f"{module}:{node.lineno}"


def test_message_behind_a_status_code_is_found() -> None:
    source = """class StatusError(Exception): "Ends a call."
def find(number): raise StatusError(NOT_FOUND, f"There is no table {number}", b"details")"""
    (message,) = error_table.messages({"tables.py": ast.parse(source)})
    assert (message.error, message.what, message.next_step) == ("StatusError", "There is no table …", "")


def test_message_of_namesake_functions_is_typed_by_module() -> None:
    parsed = {
        "hook.py": """class LanesumError(Exception): "Root."
def _refused(why) -> LanesumError: return LanesumError(why)
def attach(): raise _refused("it has another hook")""",
        "pipeline.py": """class StatusError(Exception): "Ends a call."
def _refused(why) -> StatusError: return StatusError(ABORTED, why)""",
    }
    (message,) = error_table.messages({module: ast.parse(source) for module, source in parsed.items()})
    assert (message.error, message.what) == ("LanesumError", "it has another hook")


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """Return the sources of all tests but this file."""
    paths = (path for top in ("tests", "bmv2_tests") for path in (ROOT / top).rglob("*.py"))
    return [path.read_text() for path in paths if path != Path(__file__)]


@pytest.fixture(scope="module")
def tests(sources: list[str]) -> str:
    """Return them as one text, without marks of regular expressions."""
    return "\n".join(sources).replace("\\", "")


def test_symptoms_of_troubleshooting_are_provoked_by_tests(tests: str) -> None:
    _, _, section = (ROOT / "docs" / "running.md").read_text().partition("## Troubleshooting\n")
    symptoms = re.findall(r"^\| `([^`]+)`", section.partition("\n## ")[0], re.MULTILINE)
    assert len(symptoms) >= 9
    for symptom in symptoms:
        assert re.search(re.escape(symptom).replace(re.escape("..."), ".*"), tests), symptom


def test_every_error_type_is_provoked_by_test(
    parsed: dict[str, ast.Module], messages: list[error_table.Message], tests: str
) -> None:
    known = {name for name in error_table.error_classes(parsed) if name in tests}
    others = [one for one in messages if one.error not in known]
    pieces = ((one.error, piece.strip(" .,:;()")) for one in others for piece in one.what.split(error_table.VALUE))
    found = {error for error, piece in pieces if len(piece) >= 10 and piece in tests}
    assert {one.error for one in others} <= found


# Two words that follow each other, without a value between them.
Pair = tuple[str, str]


def pairs(text: str) -> frozenset[Pair]:
    """Return the pairs of words of a message, or of a regular expression for one."""
    runs = (re.findall(r"\w+", run) for run in re.split(rf"{error_table.VALUE}|\.\*", text.replace("\\", "")))
    return frozenset(pair for run in runs for pair in itertools.pairwise(run))


def strings(tree: ast.Module, types: Collection[str]) -> Iterator[str]:
    """Yield the strings of a test, but docstrings and the arguments of errors that it makes itself."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield error_table.text(node)
        elif not (isinstance(node, ast.Call) and error_table._name(node.func) in types):
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            left += () if docstring else ast.iter_child_nodes(node)


def asserted(known: Collection[frozenset[Pair]], texts: Collection[str]) -> set[frozenset[Pair]]:
    """Return those of the ``known`` messages that a text of the tests agrees with.

    A text agrees with a message if it has all its pairs, or as many as with no other message; one pair is enough only
    for messages of one.
    """
    having = collections.defaultdict(list)
    for message in known:
        for pair in message:
            having[pair].append(message)
    found = set()
    for text in texts:
        shared = collections.Counter(message for pair in pairs(text) for message in having.get(pair, ()))
        # Of messages with equally many pairs, the shortest has the fewest words that the text lacks.
        best = max(((count, -len(message)) for message, count in shared.items()), default=None)
        for message, count in shared.items():
            if count == len(message) or (count > 1 and (count, -len(message)) == best):
                found.add(message)
    return found


def ways(message: error_table.Message) -> list[frozenset[Pair]]:
    """Return the pairs of each form of a message; none if all its words are values."""
    return [found for what in message.what.split(" / ") if (found := pairs(what))]


def test_every_message_is_asserted_by_a_test(
    parsed: dict[str, ast.Module], messages: list[error_table.Message], sources: list[str]
) -> None:
    types = error_table.error_classes(parsed)
    texts = {text for source in sources for text in strings(ast.parse(source), types)}
    found = asserted({way for message in messages for way in ways(message)}, texts)
    lacking = [f"{one.module}:{one.line}: {one.what}" for one in messages if ways(one) and found.isdisjoint(ways(one))]
    assert not lacking, (
        "No test asserts the words of these messages. Provoke each of them in a test beside those of its module, with "
        "pytest.raises(..., match=...) of at least three of its words in a row that no other message has:\n"
        + "\n".join(lacking)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"Job 'a' has no slots\.", {"no slots"}),
        ("Job 'a' has no slots left", {"no slots", "left"}),
        ("has no .* slots left", {"left"}),
        ("slots left", set()),
    ],
)
def test_text_agrees_with_the_message_that_fits_best(text: str, expected: set[str]) -> None:
    known = {"no slots": pairs("Job … has no slots."), "left": pairs("Job … has no slots left.")}
    found = asserted(set(known.values()), {text})
    assert {name for name, one in known.items() if one in found} == expected
