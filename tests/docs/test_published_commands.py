# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that repeat the figures of README and docs/packets.md, run small."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lanesum_lab.veth import obstacle
from tests.command_line import invoke

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "--workers": "2", "--values": "20k", "--rates": "100", "--repeats": "1", "--seeds": "1", "--steps": "2",
    "--job": "digits",
}  # fmt: skip


def published(page: str, benchmark: str) -> list[str]:
    """Return the words of the one command of a benchmark on a page."""
    text = " ".join((ROOT / page).read_text().split())
    commands = set(re.findall(rf"lanesum (bench {benchmark} --[^`]*?) ?`", text))
    (command,) = commands
    return shlex.split(command)


def small(words: list[str]) -> list[str]:
    """Return a command with options of a short run, in place of its own ones."""
    return [SMALL.get(before, word) for before, word in zip(["", *words[:-1]], words, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "benchmark", "ways"),
    [
        ("README.md", "allreduce", {"gloo", "thc", "fixed"}),
        ("docs/packets.md", "allreduce", {"gloo", "thc"}),
        ("docs/sharded-training.md", "allreduce", {"gloo", "thc", "lanesum"}),
        ("README.md", "tta", {"gloo", "thc", "topk"}),
    ],
)
def test_published_command_repeats_its_figures(page: str, benchmark: str, ways: set[str]) -> None:
    if obstacle():
        pytest.skip(obstacle())
    ran = invoke([*small(published(page, benchmark)), "--json"])
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.output[ran.output.index("{") :])
    assert ways <= {figure["by"] for figure in result["figures"]}
    sizes = {figure["accumulator_words"] for figure in result["figures"] if figure.get("accumulator_words")}
    assert sizes <= {360}


def test_published_commands_name_conditions_of_tables() -> None:
    assert {"--codecs", "thc,fixed", "--rates", "200,1000"} <= set(published("README.md", "allreduce"))
    assert {"--job", "words", "--seeds", "3"} <= set(published("README.md", "tta"))
    assert {"--values", "7M"} <= set(published("docs/packets.md", "allreduce"))
