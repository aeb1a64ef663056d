# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of a pushed program: what is shipped fits the limits, and no text takes more than they allow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2.fields import MAX_CELLS, MAX_PROGRAM_BYTES, MAX_UNICODE_BYTES, MAX_VALUES, MAX_WORDS
from lanesum_switch.compiler.python_source import MAX_SOURCE_WORDS, check_source
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.tna.switch import TofinoSwitch
from tests.fuzz.running import MAX_GROWTH_MIB
from tests.paths import ROOT
from tests.softswitch.bmv2.mutants import BUILD
from tests.softswitch.conftest import PROGRAMS
from tests.softswitch.tna.conftest import printed

# Loads a program in a process of its own, and prints the growth of its resident memory, in MiB.
LOAD = """
import sys
from pathlib import Path
from lanesum_switch.api import SwitchError
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.tna.switch import TofinoSwitch
from tests.fuzz.running import Budget

switch = (TofinoSwitch if sys.argv[2] == "tna" else EmbeddedSwitch)()
data = Path(sys.argv[1]).read_bytes()
budget = Budget(1, 1e9)
outcome = "loaded"
try:
    switch.load(data)
except SwitchError as error:
    outcome = error.what
print(budget.growth_mib(), outcome)
"""


def growth_mib(path: Path, kind: str) -> tuple[int, str]:
    command = [sys.executable, "-c", LOAD, str(path), kind]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    grown, _, outcome = done.stdout.strip().partition(" ")
    return int(grown), outcome


@pytest.mark.long
@pytest.mark.parametrize("name", ["bmv2-w128.json", "tofino/tofino2-w256.printed.p4", "tofino/tofino2-w64.printed.p4"])
def test_largest_shipped_programs_fit_the_limit(name: str) -> None:
    grown, outcome = growth_mib(BUILD / name, "tna" if name.endswith("p4") else "bmv2")
    assert outcome == "loaded"
    assert grown <= MAX_GROWTH_MIB


def with_junk(junk: bytes) -> bytes:
    """Return a valid program with a value that the loader does not read."""
    return (PROGRAMS / "lanes.json").read_bytes().strip()[:-1] + b', "junk": ' + junk + b"}"


def many_keys() -> bytes:
    number = MAX_VALUES - 12_000
    return with_junk(b"{" + b",".join(b'"%030d":%d' % (i, 1000 + i) for i in range(number)) + b"}")


def many_objects() -> bytes:
    return with_junk(b"[" + b",".join([b'{"a":{"a":{"a":{}}}}'] * ((MAX_VALUES - 12_000) // 5)) + b"]")


def long_text() -> bytes:
    return with_junk(b'"' + b"x" * (MAX_PROGRAM_BYTES - 200_000) + b'"')


def long_unicode() -> bytes:
    return with_junk(b'"' + b"x" * (MAX_UNICODE_BYTES - 200_000) + "\U0001f600".encode() + b'"')


def many_cells() -> bytes:
    program = json.loads((PROGRAMS / "lanes.json").read_text())
    own = sum(array["size"] for array in program["register_arrays"])
    program["counter_arrays"] = [
        {"name": f"c{i}", "id": 100 + i, "is_direct": False, "size": (MAX_CELLS - own) // 4} for i in range(2)
    ]
    return json.dumps(program).encode()


def much_code() -> bytes:
    """Return a program with more and more primitives in an action."""
    program = json.loads((PROGRAMS / "copies.json").read_text())
    for action in program["actions"]:
        action["primitives"] = action["primitives"] * 250
    return json.dumps(program).encode()


def code_and_cells() -> bytes:
    """Return a program just below the limits of both: Python's tree of the code exists beside the cells."""
    program = json.loads((PROGRAMS / "copies.json").read_text())
    for action in program["actions"]:
        action["primitives"] = action["primitives"] * 200
    program["counter_arrays"] = [{"name": "c", "id": 100, "is_direct": False, "size": MAX_CELLS // 2}]
    return json.dumps(program).encode()


def many_declarations() -> bytes:
    words = [f"const bit<32> x{i} = 32w{i};" for i in range((MAX_WORDS - 12_000) // 9)]
    return "\n".join(words).encode() + b"\n" + printed("sum").encode()


def many_words() -> bytes:
    return b"{ " * (MAX_WORDS + 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (many_keys, "bmv2"),
        (many_objects, "bmv2"),
        (long_text, "bmv2"),
        (long_unicode, "bmv2"),
        (many_cells, "bmv2"),
        (much_code, "bmv2"),
        (code_and_cells, "bmv2"),
        (many_declarations, "tna"),
        (many_words, "tna"),
    ],
)
def test_hostile_program_stays_within_its_memory(make: Callable[[], bytes], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(make())
    grown, outcome = growth_mib(path, kind)
    assert grown <= MAX_GROWTH_MIB, outcome


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (with_junk(b"[" + b"0," * MAX_VALUES + b"0]"), "values: a program has at most 196608"),
        (b" " * (MAX_PROGRAM_BYTES + 1), "8388609 bytes: a program has at most 8388608"),
        ("\u00e9".encode() * MAX_UNICODE_BYTES, "characters beyond ASCII: a program has at most 1048576"),
    ],
)
def test_text_beyond_limit_is_refused_before_parsing(text: bytes, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        EmbeddedSwitch().load(text)


def test_printed_program_with_too_many_words_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="more than 131072 words"):
        TofinoSwitch().load(many_words())


def test_program_with_too_much_generated_code_is_refused() -> None:
    with pytest.raises(UnsupportedProgramError, match="more than 1048576 characters of generated code"):
        EmbeddedSwitch().load(much_code())


def test_source_of_too_many_words_is_refused() -> None:
    with pytest.raises(UnsupportedProgramError, match="needs more than 80000 words of generated code"):
        check_source("a " * (MAX_SOURCE_WORDS + 1))
