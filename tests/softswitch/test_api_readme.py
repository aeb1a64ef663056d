# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of softswitch/README.md run as they are."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lanesum_switch
from tests.paths import ROOT

README = ROOT / "softswitch" / "README.md"
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_readme_python_examples_run() -> None:
    examples = _PYTHON.findall(README.read_text())
    assert len(examples) == 4
    names: dict[str, object] = {}
    for number, example in enumerate(examples, 1):
        exec(compile(example, f"README.md, example {number}", "exec"), names)


def test_readme_switch_command_serves_p4runtime(tmp_path: Path) -> None:
    assert "lanesum switch --loopback --topology star4" in README.read_text()
    socket = tmp_path / "p4runtime.sock"
    command = [sys.executable, "-m", "lanesum.cli", "switch", "--loopback", "--topology", "star4"]
    with subprocess.Popen([*command, "--p4runtime", f"unix:{socket}"]) as switch:
        while not socket.exists() and switch.poll() is None:
            time.sleep(0.05)
        assert socket.is_socket()
        switch.terminate()
        assert switch.wait(120) == 128 + signal.SIGTERM


@pytest.mark.parametrize("name", lanesum_switch.__all__)
def test_public_name_is_loaded_on_first_use(name: str) -> None:
    assert getattr(lanesum_switch, name).__name__ == name


def test_unknown_public_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = lanesum_switch.Nothing
