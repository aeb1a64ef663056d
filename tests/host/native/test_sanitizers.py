# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The programs and fuzzers of the compiled part, for some seconds under sanitizers; ``make native-sanitize`` and ``make
fuzz`` do it for longer, and with threads and Python too."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.long


SCRIPT = ROOT / "scripts" / "native"
SECONDS = 5
NOT_THERE = 77


def native(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), sys.prefix, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# The first build takes as long as the machine takes.
@pytest.mark.timeout(0)
def test_programs_and_fuzzers_find_nothing() -> None:
    result = native("check", SECONDS)
    if result.returncode == NOT_THERE:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 0, (result.stdout + result.stderr)[-8000:]
    found = re.findall(r"(fuzz_\w+): (\d+) inputs took (\d+) ways; (\d+) more runs, (\d+) ways", result.stdout)
    if "clang" not in result.stderr:  # libFuzzer says it otherwise
        assert [name for name, *_ in found] == ["fuzz_aggregator", "fuzz_rounds"], result.stdout
        for _, inputs, given, runs, ways in found:
            assert int(inputs) >= 8
            # The seeds get through the checks of the parsers, and are not the end of it.
            assert 200 < int(given) <= int(ways)
            assert int(runs) > 0


# Compiles what CMake tries itself, but none of our sources; notes those.
COMPILER = """#!/bin/sh
for argument; do
    case $argument in
        */host/native/*.cpp) echo "$argument" >>"$0.asked"; exit 1 ;;
    esac
done
exec {compiler} "$@"
"""


def test_another_compiler_is_not_the_one_of_the_time_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    monkeypatch.setenv("NATIVE_OUT", str(tmp_path / "out"))
    for name in ("one", "other"):
        path = tmp_path / name
        path.write_text(COMPILER.format(compiler=compiler))
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        result = native("check", 1)
        if result.returncode == NOT_THERE:
            pytest.skip(result.stderr.strip().splitlines()[-1])
        assert result.returncode == 1, result.stdout + result.stderr
        assert ".cpp" in path.with_suffix(".asked").read_text(), f"{name} was not asked"


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = native("check", 1)
    assert result.returncode == NOT_THERE
    assert "no C++ compiler" in result.stderr
    assert native("everything").returncode == 2
