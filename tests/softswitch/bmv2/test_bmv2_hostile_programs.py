# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that a hostile controller pushes: none executes its text, and none takes more state than the limits."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2.fields import MAX_CELLS
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.driver import _check_names
from lanesum_switch.compiler.python_source import MAX_SOURCE, BoundNames, SourceWriter
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.fuzz.running import run
from tests.softswitch.bmv2.mutants import BUILD, payloads, places, with_item
from tests.softswitch.conftest import PROGRAMS

P4RUNTIME_PROGRAMS = PROGRAMS.parent / "p4runtime" / "programs"
# lanes.json has no construct that the others lack, and takes the longest to compile.
SMALL = sorted(p for p in (*PROGRAMS.glob("*.json"), *P4RUNTIME_PROGRAMS.glob("*.json")) if p.stem != "lanes")


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [
        ("copies", ["errors", 0, 1], r"\$\.errors\[0\]\[1\]"),
        ("copies", ["field_lists", 0, "id"], r"\$\.field_lists\[0\]\.id"),
        ("tables", ["learn_lists", 0, "id"], r"\$\.learn_lists\[0\]\.id"),
    ],
)
def test_pushed_text_as_number_is_not_executed(name: str, path: list[Any], shown: str, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    for payload in payloads(marker):
        with pytest.raises(InvalidArgumentError, match=rf"malformed at {shown}: expected an integer .*, found "):
            load_and_run(with_item(name, path, payload))
    assert not marker.exists()


def load_and_run(text: bytes) -> None:
    switch = EmbeddedSwitch()
    switch.load(text)
    switch.process(1, bytes(range(200)))


@pytest.mark.long
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_payload_at_every_place_does_not_reach_source(path: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    payload = payloads(marker)[1]
    text = path.read_text()
    patterns: dict[str, set[int]] = {}
    for number, (pattern, _) in enumerate(places(json.loads(text))):
        patterns[pattern] = {min(patterns.get(pattern, {number})), number}
    for number in set[int]().union(*patterns.values()):
        root = json.loads(text)
        holder, key = [place for _, place in places(root)][number]
        holder[key] = payload
        switch = EmbeddedSwitch()
        try:
            switch.load(json.dumps(root).encode())
        except (InvalidArgumentError, UnsupportedProgramError):
            continue
        if "open" in switch.source:
            assert all(getattr(node, "id", "") != "open" for node in ast.walk(ast.parse(switch.source)))
    assert not marker.exists()


@pytest.mark.long
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_missing_key_of_every_kind_raises_or_loads(path: Path) -> None:
    text = path.read_text()
    first: dict[str, int] = {}
    for number, (pattern, (holder, _)) in enumerate(places(json.loads(text))):
        if isinstance(holder, dict):
            first.setdefault(pattern, number)
    refused = 0
    for number in first.values():
        root = json.loads(text)
        holder, key = [place for _, place in places(root)][number]
        del holder[key]
        try:
            load_program(json.dumps(root).encode())
        except (InvalidArgumentError, UnsupportedProgramError):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["register_arrays", 0, "size"], 600_000_000),
        (["register_arrays", 0, "size"], -1),
        (["register_arrays", 0, "bitwidth"], 1 << 40),
        (["header_types", 0, "fields", 0, 1], 1 << 40),
        (["header_types", 0, "fields", 0, 1], -8),
        (["actions", 0, "id"], 1 << 64),
        (["pipelines", 0, "tables", 0, "max_size"], 1 << 40),
        (["counter_arrays"], [{"name": "c", "id": 0, "is_direct": False, "size": 600_000_000}]),
        (["meter_arrays"], [{"name": "m", "id": 0, "type": "bytes", "size": 600_000_000}]),
        (["header_stacks"], [{"name": "s", "id": 0, "header_ids": [0] * 5000}]),
    ],
)
def test_number_beyond_its_limit_is_refused(path: list[Any], value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="malformed at"):
        load_and_run(with_item("lanes", path, value))


def test_registers_beyond_total_are_refused_before_allocation() -> None:
    program = json.loads((PROGRAMS / "lanes.json").read_text())
    program["register_arrays"] = [
        {**program["register_arrays"][0], "name": f"r{i}", "size": MAX_CELLS} for i in range(2000)
    ] + program["register_arrays"]
    with pytest.raises(InvalidArgumentError, match="at most 3145728 cells"):
        EmbeddedSwitch().load(json.dumps(program).encode())


def test_wide_registers_beyond_the_total_state_are_refused() -> None:
    """Packets would fill the cells with large values later."""
    wide = {"size": 600_000, "bitwidth": 2048}
    program = json.loads((PROGRAMS / "lanes.json").read_text())
    program["register_arrays"].append({**program["register_arrays"][0], **wide, "name": "wide"})
    with pytest.raises(
        InvalidArgumentError, match=r"'wide' has 600000 cells of 2048 bits: .* 134217728 bytes of state"
    ):
        EmbeddedSwitch().load(json.dumps(program).encode())


def test_program_nested_too_deeply_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        EmbeddedSwitch().load(b"[" * 100_000)
    value: Any = {"type": "hexstr", "value": "0x1"}
    for _ in range(350):
        value = {"type": "expression", "value": {"op": "~", "left": None, "right": value}}
    program = json.loads((PROGRAMS / "copies.json").read_text())
    program["pipelines"][0]["conditionals"][0]["expression"] = value
    with pytest.raises(InvalidArgumentError, match="has an expression that is nested too deeply"):
        load_program(json.dumps(program).encode())


def test_generated_code_beyond_its_limit_is_refused() -> None:
    writer = SourceWriter()
    with pytest.raises(UnsupportedProgramError, match="more than 1048576 characters of generated code"):
        for _ in range(3):
            writer.line("x" * (MAX_SOURCE // 2))


@pytest.mark.parametrize("text", ["import os", "__import__('os')", "().__class__", "def f():\n open('x')"])
def test_generated_code_with_a_foreign_name_is_refused(text: str) -> None:
    code: CodeType = compile(text, "<p4>", "exec")
    with pytest.raises(UnsupportedProgramError, match="The code generated for the program refers to"):
        _check_names(code, frozenset(("run", "f")))


@pytest.mark.parametrize("hint", ["a.b[0]", "\ufb01eld", "x\u00b2", "\n0 or exit()", "9", "", "x" * 10_000])
def test_fresh_name_is_an_ascii_identifier(hint: str) -> None:
    name = BoundNames().fresh(hint)
    assert name.isidentifier() and name.isascii() and len(name) < 100


MUTANTS = "tests.softswitch.bmv2.mutants"


def test_mutants_of_programs_load_or_raise_typed_error() -> None:
    outcomes = run(MUTANTS, "--count", "300", "--seed", "1")
    assert outcomes["total"] == 300 and outcomes["loaded"] > 10 and outcomes["invalid"] > 100


@pytest.mark.long
def test_many_mutants_load_or_raise_typed_error() -> None:
    assert run(MUTANTS, "--count", "600", "--seed", "1000")["total"] == 600
    assert run(MUTANTS, "--count", "100", "--seed", "5", str(BUILD / "bmv2-w64.json"))["total"] == 100
