# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The process that serves the chip's model: what it needs before it starts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_fabric.tofino.chips import profile
from lanesum_lab.targets import SwitchProcess, get
from lanesum_lab.tofino_model.__main__ import BUILD_VARIABLE, binaries, main

_PROCESS = SwitchProcess(name="s1", topology="star4", p4runtime="unix:/p4", interfaces=None)


def test_binaries_of_the_profile_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUILD_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigurationError, match="no binary of profile tofino1-w32"):
        binaries(profile("tofino1-w32"))
    (tmp_path / "tofino1-w32").mkdir()
    (tmp_path / "tofino1-w32" / "tofino.bin").touch()
    assert binaries(profile("tofino1-w32")) == tmp_path / "tofino1-w32"


def test_missing_harness_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    target = get("tofino-model")
    assert target.obstacle == "tofino_test_harness is not on PATH"
    command = target.command(_PROCESS)
    assert command[1:3] == ["-m", "lanesum_lab.tofino_model"]
    assert main(command[3:]) == MissingToolError("").exit_code
    assert capsys.readouterr().err.startswith("tofino_test_harness is not on PATH.")
