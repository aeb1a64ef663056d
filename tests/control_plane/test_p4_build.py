# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The committed build is the sources' own: by its manifest everywhere, by compiling again where p4c is on PATH."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_control.manifest import MANIFEST, manifest_problems, source_files
from lanesum_control.p4build import COMPILER, FLAGS, compile_program
from lanesum_control.pipelines import bmv2_pipeline
from lanesum_control.resources import checkout_root

P4SRC = (checkout_root() or Path()) / "p4src"
COMMITTED = json.loads((P4SRC / "build" / MANIFEST).read_text())


def test_manifest_agrees_with_sources_and_outputs() -> None:
    assert manifest_problems(P4SRC) == []
    assert len(source_files(P4SRC)) >= 15
    assert set(COMMITTED["outputs"]) == {
        path.name
        for size in BUILT_ACCUMULATOR_WORDS
        for path in (bmv2_pipeline(size).json_path, bmv2_pipeline(size).p4info_path)
    }


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Sources and build that a test may damage."""
    shutil.copytree(P4SRC, tmp_path / "p4src")
    assert manifest_problems(tmp_path / "p4src") == []
    return tmp_path / "p4src"


@pytest.mark.parametrize("name", ["bmv2/slots.p4", "shared/protocol.p4"])
def test_an_edited_source_is_noticed(copy: Path, name: str) -> None:
    with (copy / name).open("a") as source:
        source.write("// changed\n")
    assert manifest_problems(copy) == [f"source {name} is not the one that was compiled: run `make p4`"]


def test_a_new_or_missing_source_is_noticed(copy: Path) -> None:
    (copy / "bmv2" / "more.p4").write_text("")
    (copy / "bmv2" / "lanes.p4").unlink()
    problems = manifest_problems(copy)
    assert len(problems) == 2 and "bmv2/lanes.p4" in problems[0] and "bmv2/more.p4" in problems[1]


def test_an_edited_or_missing_output_is_noticed(copy: Path) -> None:
    names = sorted(COMMITTED["outputs"])
    with (copy / "build" / names[0]).open("a") as output:
        output.write("\n")
    (copy / "build" / names[1]).unlink()
    problems = manifest_problems(copy)
    assert [names[0] in problems[0], names[1] in problems[1], len(problems)] == [True, True, 2]


@pytest.mark.parametrize("accumulator_words", BUILT_ACCUMULATOR_WORDS)
def test_compiling_again_gives_the_committed_build(accumulator_words: int, tmp_path: Path) -> None:
    """Byte for byte with the compiler that the manifest names; any other one must at least accept the program."""
    compiler = shutil.which(COMPILER)
    if compiler is None:
        pytest.skip(f"{COMPILER} is not on PATH")
    outputs = compile_program(compiler, P4SRC, accumulator_words, tmp_path)
    assert len(outputs) == 2 and all(path.stat().st_size > 1000 for path in outputs)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    same_compiler = COMMITTED["compiler"].split()[1:] == (version.stdout + version.stderr).split()[1:]
    if not same_compiler or COMMITTED["flags"] != list(FLAGS):
        pytest.skip(f"accepted; the committed build is by {COMMITTED['compiler']}, which this compiler is not")
    for path in outputs:
        assert path.read_bytes() == (P4SRC / "build" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("accumulator_words", BUILT_ACCUMULATOR_WORDS)
def test_program_has_one_register_per_word(accumulator_words: int) -> None:
    program = json.loads(bmv2_pipeline(accumulator_words).json_path.read_text())
    words = [register["name"] for register in program["register_arrays"] if ".words_" in register["name"]]
    assert len(words) == accumulator_words
    assert all(table["with_counters"] for pipeline in program["pipelines"] for table in pipeline["tables"]
               if not table["name"].startswith("tbl_"))  # fmt: skip
