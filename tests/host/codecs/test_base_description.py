# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One line per codec: equal where workers may sum each other's words, different where they may not."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from lanesum import codecs
from lanesum.codecs import THC, Auto, ErrorFeedback, FixedPoint, Sketch, Union
from lanesum.codecs.thc import WidthTHC
from lanesum_lab.baselines import GatheredFloats, PowerSGD
from lanesum_lab.baselines.thc_paper import PaperTHC

# A value other than the default for every parameter that changes what words mean.
OTHERS: dict[type, dict[str, dict[str, Any]]] = {
    FixedPoint: {
        "workers": {"workers": 3},
        "block": {"block": 512},
        "gathered": {"gathered": 0},
        "power_of_two": {"power_of_two": True},
    },
    Auto: {
        "workers": {"workers": 3},
        "block": {"block": 8},
        "placement": {"placement": "coupled"},
        "round_trip_bytes": {"round_trip_bytes": 0},
    },
    Sketch: {"workers": {"workers": 3}, "block": {"block": 8}, "placement": {"placement": "uniform"}},
    Union: {"workers": {"workers": 3}, "block": {"block": 8}},
    THC: {
        "lookup": {"lookup": False},
        "workers": {"workers": 3},
        "bits": {"bits": 5},
        "lanes": {"lanes": 16},
        "block": {"block": 512},
        "for_adaptive": {"for_adaptive": THC(workers=4, bits=8)},
    },
    WidthTHC: {
        "lookup": {"lookup": False, "budget": 4},
        "workers": {"workers": 3},
        "budget": {"budget": 4},
        "error": {"error": 0.01},
        "exponent": {"exponent": 2},
        "block": {"block": 256},
    },
    PaperTHC: {
        "workers": {"workers": 3},
        "bits": {"bits": 3},
        "codes": {"codes": "uniform"},
        "granularity": {"granularity": 25},
        "p": {"p": 1 / 64},
        "table": {"table": [*range(15), 30]},
        "rotation": {"rotation": "block"},
        "chunk": {"chunk": 1 << 10},
        "diagonal_seed": {"diagonal_seed": 1},
    },
    GatheredFloats: {"workers": {"workers": 3}, "format": {"format": "bf16"}},
    PowerSGD: {"workers": {"workers": 3}, "rank": {"rank": 2}},
}


@pytest.mark.parametrize("build", list(OTHERS))
def test_every_parameter_shows(build: Any) -> None:
    assert set(OTHERS[build]) == set(inspect.signature(build).parameters)
    lines = [build(**{"workers": 4, **other}).describe() for other in OTHERS[build].values()]
    lines.append(build(workers=4).describe())
    assert len(set(lines)) == len(lines)
    assert all("\n" not in line for line in lines)


def test_codec_for_adaptive_optimizers_shows_whole() -> None:
    inner = (None, THC(workers=4, bits=5), THC(workers=4, bits=8))
    assert len({THC(workers=4, for_adaptive=one).describe() for one in inner}) == len(inner)


def test_equal_codecs_have_equal_descriptions() -> None:
    assert codecs.get("thc-paper", workers=4).describe() == PaperTHC(workers=4, granularity=30).describe()
    assert codecs.get("thc", workers=4, bits=4).describe() == THC(workers=4, bits=4, lanes=8).describe()
    assert codecs.get("fixed", workers=4).describe() == "fixed workers=4 block=1024 gathered=2048"
    assert ErrorFeedback(FixedPoint(workers=4)).describe() == FixedPoint(workers=4).describe()
