# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Stress programs and fuzzers of the native extension, for some seconds under sanitizers.

``make native-sanitize`` and ``make fuzz`` run them for longer, also with the thread sanitizer and from Python.
"""

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
SECONDS = 3
NOT_AVAILABLE = 77


def native(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), sys.prefix, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# The first build has no time limit: it depends on the machine.
@pytest.mark.timeout(0)
def test_programs_and_fuzzers_report_no_error() -> None:
    result = native("check", SECONDS)
    if result.returncode == NOT_AVAILABLE:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 0, (result.stdout + result.stderr)[-8000:]
    found = re.findall(r"(fuzz_\w+): (\d+) inputs covered (\d+) edges; (\d+) more runs, (\d+) edges", result.stdout)
    if "clang" not in result.stderr:  # libFuzzer has another output format
        assert [name for name, *_ in found] == ["fuzz_aggregator", "fuzz_rounds"], result.stdout
        for _, inputs, given, runs, edges in found:
            assert int(inputs) >= 8
            # The seeds pass the checks of the parsers, and mutations reach further code.
            assert 200 < int(given) <= int(edges)
            assert int(runs) > 0


# A compiler for CMake's own checks. It records our sources instead of compiling them.
COMPILER = """#!/bin/sh
for argument; do
    case $argument in
        */host/native/*.cpp | */Unity/*.cxx) echo "$argument" >>"$0.called"; exit 1 ;;
    esac
done
exec {compiler} "$@"
"""


def test_changed_compiler_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        if result.returncode == NOT_AVAILABLE:
            pytest.skip(result.stderr.strip().splitlines()[-1])
        assert result.returncode == 1, result.stdout + result.stderr
        assert re.search(r"\.(cpp|cxx)$", path.with_suffix(".called").read_text(), re.M), f"{name} was not called"


def test_missing_compiler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = native("check", 1)
    assert result.returncode == NOT_AVAILABLE
    assert "no C++ compiler" in result.stderr
    assert native("everything").returncode == 2
