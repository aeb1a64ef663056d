# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The committed BMv2 builds match the sources: by the manifest, and by compiling where p4c is on PATH."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_fabric.program.capabilities import STATION
from lanesum_fabric.program.manifest import (
    BUILDS,
    COMPILER,
    FLAGS,
    MANIFEST,
    Bmv2Build,
    source_files,
    version_of,
)
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.resources import checkout_root
from lanesum_lab.builds.bmv2 import CompileError, compile_build
from tests.lab.builds.manifests import bmv2_problems

P4SRC = (checkout_root() or Path()) / "p4src"
COMMITTED = json.loads((P4SRC / "build" / MANIFEST).read_text())


def build_id(build: Bmv2Build) -> str:
    return build.name


def test_manifest_of_the_committed_builds_has_no_problems() -> None:
    assert bmv2_problems(P4SRC) == []
    assert len(source_files(P4SRC)) >= 15
    assert set(COMMITTED["outputs"]) == {name for build in BUILDS for name in build.outputs}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy sources and builds, so that a test may change them."""
    shutil.copytree(P4SRC, tmp_path / "p4src")
    assert bmv2_problems(tmp_path / "p4src") == []
    return tmp_path / "p4src"


@pytest.mark.parametrize("name", ["bmv2/slots.p4", "shared/protocol.p4"])
def test_manifest_problems_of_an_edited_source_name_it(copy: Path, name: str) -> None:
    with (copy / name).open("a") as source:
        source.write("// changed\n")
    assert bmv2_problems(copy) == [f"source {name} is not the one that was compiled: run `make p4`"]


def test_manifest_problems_name_new_and_missing_sources(copy: Path) -> None:
    (copy / "bmv2" / "more.p4").write_text("")
    (copy / "bmv2" / "lanes.p4").unlink()
    problems = bmv2_problems(copy)
    assert len(problems) == 2 and "bmv2/lanes.p4" in problems[0] and "bmv2/more.p4" in problems[1]


def test_manifest_problems_name_edited_and_missing_outputs(copy: Path) -> None:
    names = sorted(COMMITTED["outputs"])
    with (copy / "build" / names[0]).open("a") as output:
        output.write("\n")
    (copy / "build" / names[1]).unlink()
    problems = bmv2_problems(copy)
    assert [names[0] in problems[0], names[1] in problems[1], len(problems)] == [True, True, 2]


def test_manifest_problems_of_an_unknown_output_name_it(copy: Path) -> None:
    (copy / "build" / "test" / "bmv2-w32-faults.json").write_text("{}")
    assert bmv2_problems(copy) == ["test/bmv2-w32-faults.json belongs to no build: delete it"]


@pytest.mark.parametrize(("key", "what"), [("builds", "the builds are"), ("flags", "the compiler's flags are")])
def test_manifest_problems_of_other_options_name_them(copy: Path, key: str, what: str) -> None:
    path = copy / "build" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), key: []}))
    (problem,) = bmv2_problems(copy)
    assert problem.startswith(f"{what} not those that were")


@pytest.mark.parametrize("build", BUILDS, ids=build_id)
def test_compiling_again_gives_the_committed_build(build: Bmv2Build, tmp_path: Path) -> None:
    """Byte for byte with the compiler of the manifest; any other compiler must accept the program."""
    compiler = shutil.which(COMPILER)
    if compiler is None:
        pytest.skip(f"{COMPILER} is not on PATH")
    outputs = compile_build(compiler, P4SRC, build, tmp_path)
    assert len(outputs) == 2 and all(path.stat().st_size > 1000 for path in outputs)
    if COMMITTED["compiler"] != version_of(COMPILER, compiler) or COMMITTED["flags"] != list(FLAGS):
        pytest.skip(f"accepted; the committed build is of another compiler: {COMMITTED['compiler']}")
    for name in build.outputs:
        assert (tmp_path / name).read_bytes() == (P4SRC / "build" / name).read_bytes(), name


@pytest.mark.parametrize("build", BUILDS, ids=build_id)
def test_every_build_has_word_registers_and_counters(build: Bmv2Build) -> None:
    program = json.loads((P4SRC / "build" / build.outputs[0]).read_text())
    words = [register["name"] for register in program["register_arrays"] if ".words_" in register["name"]]
    assert len(words) == build.accumulator_words
    assert all(table["with_counters"] for pipeline in program["pipelines"] for table in pipeline["tables"]
               if not table["name"].startswith("tbl_") and table["name"] != STATION)  # fmt: skip


@pytest.mark.parametrize("build", BUILDS, ids=build_id)
def test_only_test_build_has_fault_tables_and_random(build: Bmv2Build) -> None:
    text = (P4SRC / "build" / build.outputs[0]).read_text()
    assert ('"op":"modify_field_rng_uniform"' in text, "faults.fault" in text) == (build.with_faults,) * 2


def test_bmv2_pipeline_with_faults_is_the_test_build() -> None:
    assert "faults.fault" in bmv2_pipeline(with_faults=True).p4info
    assert not any("faults.fault" in bmv2_pipeline(size).p4info for size in BUILT_ACCUMULATOR_WORDS)


def test_bmv2_pipeline_without_its_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_fabric.program.pipelines.resources.directory", lambda *_: tmp_path)
    with pytest.raises(ConfigurationError, match=r"Missing BMv2 program .*\. Run lanesum from a checkout"):
        bmv2_pipeline()


def test_program_that_the_compiler_rejects_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"rejected bmv2/main.p4 of build "):
        compile_build("false", P4SRC, BUILDS[0], tmp_path)


def test_bmv2_pipeline_of_size_without_build_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"No BMv2 program for 48 .* Built sizes: 32, 64, 128\."):
        bmv2_pipeline(48)
    with pytest.raises(ConfigurationError, match=r"with fault tables for 32 .* Built sizes: 64\."):
        bmv2_pipeline(32, with_faults=True)
