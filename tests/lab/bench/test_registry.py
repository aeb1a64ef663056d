# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks are declared once; options, settings and the command that repeats a run follow from the declaration."""

from __future__ import annotations

import dataclasses
import shlex
import subprocess
import sys

import pytest

from lanesum.errors import ConfigurationError
from lanesum_control.cli.tree import commands
from lanesum_lab.bench.registry import benchmarks


def test_every_benchmark_has_a_command_with_its_options() -> None:
    found = {one.words[1]: {option.name for option in one.options} for one in commands("bench")}
    assert found.keys() == benchmarks().keys()
    for name, one in benchmarks().items():
        picture = {"picture"} if one.picture is not None else set()
        assert found[name] == {option.flag[2:] for option in one.options()} | picture | {"quick", "json"}


def test_order_of_benchmarks_is_independent_of_imports() -> None:
    program = "import {}lanesum_lab.bench.registry as made; print(list(made.benchmarks()))"
    one, other = (
        subprocess.run([sys.executable, "-c", program.format(first)], check=True, capture_output=True, text=True).stdout
        for first in ("", "lanesum_lab.bench.tta, ")
    )
    assert one == other


def test_settings_take_given_options_and_zero() -> None:
    tta = benchmarks()["tta"]
    settings = tta.settings({"tolerance": 0.0, "rates_mbit": "1.5k,10", "by": "thc", "lr": None}, quick=True)
    assert settings == dataclasses.replace(tta.quick, tolerance=0.0, rates_mbit=(1500.0, 10.0), by=("gloo", "thc"))
    sweep = benchmarks()["allreduce"].settings({"values": "2,3k,4M", "peers": ""}, quick=False)
    assert sweep.values == (2, 3000, 4_000_000) and sweep.peers == ()


def test_command_repeats_the_settings() -> None:
    codec = benchmarks()["codec"]
    given = {"codecs": "thc 4;powersgd, rank 4", "repeats": 3, "parts": None}
    words = shlex.split(codec.command(given, quick=True))
    assert words == ["lanesum", "bench", "codec", "--quick", "--repeats", "3", "--codecs", "thc 4;powersgd, rank 4"]


def test_taken_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="A benchmark named 'tta' exists"):
        benchmarks()["tta"].register()
