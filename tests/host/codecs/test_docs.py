# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/codecs.md run, in order and in one namespace, and its table of parameters is complete."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from lanesum.codecs import THC, PaperTHC, RingLGC, ServerLGC
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "codecs.md").read_text(encoding="utf-8")


def test_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    namespace: dict[str, Any] = {}
    for example in examples:
        exec(example, namespace)
    assert len(examples) == 3 and namespace["mean"].shape == (5000,)


@pytest.mark.parametrize(("build", "title"), [(THC, "## `thc`\n"), (PaperTHC, "## `thc-paper`, ")])
def test_parameters_are_all_there(build: type, title: str) -> None:
    (section,) = (one for one in TEXT.split("\n## ") if f"## {one}".startswith(title))
    documented = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)
    assert set(inspect.signature(build).parameters) - {"workers"} == set(documented)


def test_examples_of_learned_compression_run() -> None:
    pytest.importorskip("torch")
    page = (ROOT / "docs" / "lgc.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(example, namespace)
    assert namespace["run"].values.shape == (5000,) and namespace["sent"]
    for build in (RingLGC, ServerLGC):
        for name, one in inspect.signature(build).parameters.items():
            if name != "workers":
                default = "0.01" if name == "density" else str(one.default)
                assert f"`{name}` ({default})" in page, name
