# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation site: its navigation, the files that pages link to, and its page of all error messages."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from lanesum.cli.app import command
from lanesum.errors import LanesumError
from lanesum.transport.errors import WorkerGoneError
from lanesum_control.cli.configuration import arguments
from lanesum_control.topology import load
from lanesum_lab import error_table, site, slot_picture
from lanesum_switch.reference.slots import Decision
from tests.docs.names import resolves
from tests.paths import ROOT


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
        lambda: command("controller")(["--election-id", "0"]),
    ]
    errors: list[LanesumError] = [WorkerGoneError("train", 2, "w3", "failed", "out of memory")]
    for call in calls:
        with pytest.raises(LanesumError) as caught:
            call()
        errors.append(caught.value)
    return errors


def test_page_of_errors_has_the_message_of_errors_that_occur(
    messages: list[error_table.Message], tmp_path: Path
) -> None:
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


@pytest.fixture(scope="module")
def tests() -> str:
    """Return the text of all tests but this file, without marks of regular expressions."""
    files = (path for top in ("tests", "bmv2_tests") for path in (ROOT / top).rglob("*.py") if path != Path(__file__))
    return "\n".join(path.read_text() for path in files).replace("\\", "")


def test_symptoms_of_troubleshooting_are_provoked_by_tests(tests: str) -> None:
    _, _, section = (ROOT / "docs" / "running.md").read_text().partition("## Troubleshooting\n")
    symptoms = re.findall(r"^\| `([^`]+)`", section.partition("\n## ")[0], re.MULTILINE)
    assert len(symptoms) >= 9
    for symptom in symptoms:
        assert re.search(re.escape(symptom).replace(re.escape("..."), ".*"), tests), symptom


def test_every_type_of_error_is_provoked_by_a_test(
    parsed: dict[str, ast.Module], messages: list[error_table.Message], tests: str
) -> None:
    known = {name for name in error_table.error_classes(parsed) if name in tests}
    pieces = ((one.error, piece.strip(" .,:;()")) for one in messages for piece in one.what.split(error_table.VALUE))
    known |= {error for error, piece in pieces if len(piece) >= 10 and piece in tests}
    assert {one.error for one in messages} <= known


def test_navigation_names_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    settings = yaml.safe_load(text)
    made = ["docs/errors.md", *(f"docs/api/{module}.md" for module in site.API)]
    pages = [*site.tracked_pages(ROOT), *made]
    found = list(site._leaves(site.navigation(settings["nav"], [*pages, "docs/new.md"])))
    assert [one.split(": ")[-1] for one in found].count("docs/new.md") == 1
    assert sorted(found) == sorted([*pages, "docs/new.md"])
    assert settings["strict"] is True and settings["theme"]["font"] is False
    for hook in settings["hooks"]:
        assert (ROOT / hook).is_file()


def test_navigation_with_unknown_or_repeated_page_raises() -> None:
    for entries in (["a.md", "b.md"], ["a.md", {"Again": "a.md"}]):
        with pytest.raises(ValueError, match="the navigation names"):
            site.navigation(entries, ["a.md"])


def test_linked_files_are_pictures_and_sources(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a.svg", "b.py", "c.md"):
        (tmp_path / name).touch()
    (tmp_path / "docs" / "page.md").write_text("![a](a.svg) [b](../b.py#L1) [c](../c.md) [d](https://d.test/x.py)")
    assert site.linked_files(tmp_path, ["docs/page.md", "c.md"]) == ["b.py", "docs/a.svg"]


def test_modules_of_the_reference_exist() -> None:
    for module in site.API:
        assert resolves(module), module


def test_slot_picture_shows_whole_sums_under_loss_duplicates_and_delay() -> None:
    steps = slot_picture.run()
    done = [state for step in steps for state in step.sets if state is not None and state[3]]
    assert {(workers, total) for _, workers, total, _ in done} == {(0b111, 1 + 2 + 3)}
    assert {position for position, *_ in done} == {0, 64}
    seen = {step.decision for step in steps}
    assert {Decision.REPLAY, Decision.REPORT_PENDING, Decision.DROP_LATE} < seen
    for before, step in itertools.pairwise(steps):
        counted = step.decision.value.startswith(("claim", "contribute"))
        assert (before.sets != step.sets) == counted, step
    root = ElementTree.fromstring(slot_picture.svg())
    shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in shown if text in {step.decision.value for step in steps}] == [
        step.decision.value for step in steps
    ]
