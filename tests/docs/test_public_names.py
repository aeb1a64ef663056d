# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The public names of ``import lanesum``: present, documented, and imported only when they are used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lanesum
from tests.docs.names import tracked_files
from tests.paths import ROOT

_CODE = re.compile(r"`([^`\n]+)`")
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")


def documented() -> set[str]:
    """Return the identifiers in the code of README and of the pages for users."""
    pages = [name for name in tracked_files() if name == "README.md" or re.fullmatch(r"docs/[\w-]+\.md", name)]
    texts = [(ROOT / page).read_text() for page in pages]
    return {
        name
        for text in texts
        for code in (*_CODE.findall(text), *_PYTHON.findall(text))
        for name in _NAME.findall(code)
    }


def test_public_names_are_documented() -> None:
    assert set(lanesum.__all__) - documented() == set()


@pytest.mark.parametrize("name", lanesum.__all__)
def test_public_name_is_importable_and_has_docstring(name: str) -> None:
    assert getattr(lanesum, name).__doc__
    assert name in dir(lanesum)


def test_public_names_equal_imports_for_type_checkers() -> None:
    tree = ast.parse(Path(str(lanesum.__file__)).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname: node.module for node in imports for alias in node.names}
    assert homes == vars(lanesum)["_HOMES"]


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'lanesum' has no attribute 'Controller'"):
        _ = vars(lanesum)["__getattr__"]("Controller")


def test_import_of_lanesum_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import lanesum; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["lanesum"]
