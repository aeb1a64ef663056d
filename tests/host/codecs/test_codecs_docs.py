# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Documents of the codecs: examples run, tables are complete, and the codec of the recipe conforms."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanesum import codecs
from lanesum.codecs.thc.reference import digit_base
from lanesum.codecs.thc.widths import WidthTHC, thc
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.lgc import RingLGC, ServerLGC
from tests.paths import ROOT

PAGES = ("codecs", "codec-thc", "codecs-sparse", "codec-baselines")
TEXT = "\n".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)


def test_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    namespace: dict[str, Any] = {}
    for example in examples:
        exec(example, namespace)
    assert len(examples) == 4 and namespace["mean"].shape == (5000,)


@pytest.mark.parametrize(("build", "title"), [(thc, "## `thc`\n"), (PaperTHC, "## `thc-paper`, ")])
def test_parameters_are_all_there(build: Callable[..., Any], title: str) -> None:
    (section,) = (one for one in TEXT.split("\n## ") if f"## {one}".startswith(title))
    documented = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)
    assert set(inspect.signature(build).parameters) - {"workers"} == set(documented)


def test_every_registered_codec_is_in_a_table() -> None:
    documented = re.findall(r"^\| (`[\w-]+`(?:, `[\w-]+`)*)", TEXT, re.MULTILINE)
    found = {name for row in documented for name in re.findall(r"`([\w-]+)`", row)}
    assert set(codecs.names()) - {"lgc", "lgc-server"} <= found


def test_codec_of_the_recipe_passes_the_conformance_test(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "extending" / "codec.md").read_text(encoding="utf-8")
    (listing,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "recipe_codec.py").write_text(listing)
    conformance = "tests/host/codecs/test_base_conformance.py"
    tests = [conformance, "-k", "coarse", "-p", "recipe_codec", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 25


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


def test_table_of_digits_is_that_of_four_workers() -> None:
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) \| ([\d.]+) \| (\d+) \| ([\d.]+) \|$", TEXT, re.MULTILINE)
    shown = []
    for codec in WidthTHC(workers=4, error=0.01)._codecs:
        per_word = codec.coder.per_word
        assert per_word is not None
        error = f"{codec.grid.error():.5f}" if codec.grid.error() < 1e-3 else f"{codec.grid.error():.2g}"
        bits, levels = f"{float(codec.bits):.1f}".removesuffix(".0"), str(codec.grid.granularity + 1)
        shown.append((str(per_word), f"{digit_base(per_word):,}", bits, levels, error))
    assert [(*row[:4], f"{float(row[4]):g}") for row in rows] == [(*row[:4], f"{float(row[4]):g}") for row in shown]
