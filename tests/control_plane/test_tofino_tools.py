# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Custom profiles with the real compiler and assembler, where they are on PATH."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lanesum_control.capabilities import Capabilities, slots_of
from lanesum_control.p4info import P4InfoNames
from lanesum_control.resources import checkout_root
from lanesum_control.tofino.build import ASSEMBLER, DoesNotFitError, build_profile
from lanesum_control.tofino.checks import COMPILER
from lanesum_control.tofino.custom_profile import custom_profile
from lanesum_control.tofino.device_config import Compiled
from lanesum_control.tofino.resources import measure

pytestmark = pytest.mark.long


P4SRC = (checkout_root() or Path()) / "p4src"


@pytest.fixture(autouse=True)
def tools_are_there() -> None:
    for tool in (COMPILER, ASSEMBLER):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")


def test_small_profile_is_built(tmp_path: Path) -> None:
    wanted = custom_profile("tofino1", 8, 2_048, 1, P4SRC)
    made = build_profile(wanted, P4SRC, tmp_path)
    found = measure(made.context)
    assert found.stages <= wanted.chip.stages
    assert found.lane_stages == 2
    assert {path.name for path in made.outputs} == {
        f"{wanted.name}.{kind}" for kind in ("p4info.txtpb", "bfrt.json", "printed.p4")
    }
    p4info = next(path for path in made.outputs if path.name.endswith(".p4info.txtpb"))
    names = P4InfoNames.from_text(p4info.read_text())
    assert slots_of(names) == 2_048
    assert Capabilities.of(names).pipes
    packed = made.packed(2)
    assert Compiled.unpack(packed.for_stratum()).context == packed.context


@pytest.mark.parametrize(
    ("chip", "words", "slots", "instead"),
    [("tofino1", 40, 16_384, "tofino1-w32"), ("tofino2", 8, 32_768, "tofino2-w64")],
)
def test_one_that_is_too_large_is_refused(chip: str, words: int, slots: int, instead: str, tmp_path: Path) -> None:
    wanted = custom_profile(chip, words, slots, 1, P4SRC)
    with pytest.raises(DoesNotFitError) as raised:
        build_profile(wanted, P4SRC, tmp_path)
    ran_out = r"\d+ stages needed, \d+ there|out of (packet header containers|memories in one stage)"
    assert re.fullmatch(ran_out, raised.value.resource)
    assert f"does not fit {wanted.chip.title}: {raised.value.resource}. Output: " in raised.value.what
    assert raised.value.next_step.startswith(f"Build {instead} instead ")
