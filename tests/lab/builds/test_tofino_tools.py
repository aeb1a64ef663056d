# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Custom profiles with the real compiler and assembler, where they are on PATH."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lanesum_fabric.program.capabilities import Capabilities, slots_of
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.resources import checkout_root
from lanesum_fabric.tofino.device_config import Compiled
from lanesum_fabric.tofino.resources import measure
from lanesum_lab.builds.checks import COMPILER, custom_profile
from lanesum_lab.builds.tofino import ASSEMBLER, DoesNotFitError, build_profile
from tests.softswitch.tna.conftest import PROGRAMS

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


def test_program_with_too_many_slots_is_refused(tmp_path: Path) -> None:
    """The size that is refused soonest."""
    wanted = custom_profile("tofino1", 8, 32_768, 1, P4SRC)
    with pytest.raises(DoesNotFitError) as raised:
        build_profile(wanted, P4SRC, tmp_path)
    assert re.fullmatch(r"\d+ stages needed, 12 there", raised.value.resource)
    assert f"does not fit Tofino 1: {raised.value.resource}. Output: " in raised.value.what
    assert raised.value.next_step.startswith("Build tofino1-w32 instead ")


_ADD = (PROGRAMS / "twice.p4").read_text()
_REGISTER = _ADD[_ADD.index("    Register<") : _ADD.index("    RegisterAction<bit<16>, bit<8>, bit<16>>(cells) look")]
_USE = "        hdr.request.value = add.execute(hdr.request.first);\n"


def small_program(architecture: str, registers: int = 1, cells: int = 256, words: int = 0) -> str:
    """Return a program that is compiled in seconds: registers whose new values depend on each other, and a header."""
    before, after = _ADD[: _ADD.index("    Register<")], _ADD[_ADD.index("    }\n}\n\ncontrol IngressDeparser") :]
    before = before.replace("tna.p4", f"{architecture}.p4")
    before = before.replace(
        "    bit<16> value;\n", "    bit<16> value;\n" + "".join(f"    bit<32> w{n};\n" for n in range(words))
    )
    declared = "".join(re.sub(r"\b(cells|add)\b", rf"\1_{n}", _REGISTER) for n in range(registers))
    used = "".join(_USE.replace("add", f"add_{n}") for n in range(registers))
    text = f"{before}{declared}    apply {{\n        for_tm.ucast_egress_port = intrinsic.ingress_port;\n{used}{after}"
    wide = text.replace("bit<16>, bit<8>", "bit<16>, bit<32>").replace("execute(", "execute((bit<32>)")
    return wide.replace("(256)", f"({cells})")


@pytest.mark.parametrize(
    ("chip", "size", "resource"),
    [
        ("tofino1", {"registers": 13}, "13 stages needed, 12 there"),
        ("tofino2", {"registers": 21}, "21 stages needed, 20 there"),
        ("tofino1", {"cells": 1 << 20}, "out of memories in one stage"),
        ("tofino2", {"cells": 1 << 20}, "out of memories in one stage"),
        ("tofino1", {"words": 200}, "out of packet header containers"),
    ],
)
def test_program_too_large_is_refused_with_resource(
    chip: str, size: dict[str, int], resource: str, tmp_path: Path
) -> None:
    wanted = custom_profile(chip, 8, 2_048, 1, P4SRC)
    (tmp_path / "tofino").mkdir()
    (tmp_path / "tofino" / "main.p4").write_text(small_program(wanted.chip.architecture, **size))
    with pytest.raises(DoesNotFitError) as raised:
        build_profile(wanted, tmp_path, tmp_path)
    assert raised.value.resource == resource
    assert f"does not fit {wanted.chip.title}: {resource}. Output: " in raised.value.what
    assert raised.value.next_step.startswith(f"Build {chip}-w")
