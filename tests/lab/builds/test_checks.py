# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Custom profiles: unsupported sizes are refused before compiling."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_fabric.resources import checkout_root
from lanesum_fabric.tofino.chips import PROFILES, TOFINO_1, TOFINO_2, TofinoProfile
from lanesum_fabric.tofino.resources import Resources
from lanesum_lab.builds import tofino as tofinobuild
from lanesum_lab.builds.checks import Sizes, custom_profile
from lanesum_lab.builds.performance import ParserCycles
from lanesum_lab.builds.tofino import Built, DoesNotFitError, main

P4SRC = (checkout_root() or Path()) / "p4src"


def test_sizes_are_read_from_the_sources() -> None:
    there = Sizes.of(P4SRC)
    assert there.words == tuple(range(8, 129, 8))
    assert there.slots == tuple(1 << bits for bits in range(8, 16))
    assert there.passes == (1, 4, 8)
    assert there.blocks == 32_768
    assert set(BUILT_ACCUMULATOR_WORDS) <= set(there.words)
    for kept in PROFILES:
        assert kept.accumulator_words // kept.passes in there.words
        assert kept.slots in there.slots and kept.passes in there.passes and kept.slots * kept.passes <= there.blocks


def test_every_number_of_words_has_its_lanes() -> None:
    """Each once, four registers per stage from stage 4 on."""
    text = (P4SRC / "tofino/lanes.p4").read_text()
    macros = dict(re.findall(r"^#define (LANES_\d+)\(M\) (.+)$", text, re.MULTILINE))
    assert list(macros) == [f"LANES_{words}" for words in Sizes.of(P4SRC).words]
    lanes: list[tuple[int, int]] = []
    previous = ""
    for macro, body in macros.items():
        assert body.startswith(previous)
        for stage, *registers in re.findall(r"LANES_OF_STAGE\(M, (\d+), (\d+), (\d+), (\d+), (\d+)\)", body):
            lanes += [(int(stage), int(register)) for register in registers]
        previous = f"{macro}(M) "
        assert lanes == [(4 + i // 4, i) for i in range(int(macro.removeprefix("LANES_")))]


def test_slot_number_bits_are_the_logarithm_of_slots() -> None:
    bits = re.findall(
        r"SLOTS == (\d+)\n#define SLOT_BITS (\d+)$", (P4SRC / "tofino/sizes.p4").read_text(), re.MULTILINE
    )
    assert [int(slots) for slots, _ in bits] == [1 << int(power) for _, power in bits]
    assert len(bits) == len(Sizes.of(P4SRC).slots)


def test_custom_profile_has_the_requested_sizes() -> None:
    assert custom_profile("tofino1", 24, None, 1, P4SRC) == TofinoProfile("tofino1-w24-s16384-p1", TOFINO_1, 24)
    wide = custom_profile("tofino2", 448, None, 8, P4SRC)
    assert wide == TofinoProfile("tofino2-w448-s2048-p8", TOFINO_2, 448, 2_048, 8)
    assert "-DACCUMULATOR_WORDS=56" in wide.defines and "-DPASSES=8" in wide.defines
    for kept in PROFILES:
        chip = kept.name.split("-")[0]
        assert custom_profile(chip, kept.accumulator_words, kept.slots, kept.passes, P4SRC) is kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("tofino3", 32, None, 1), r"There is no chip 'tofino3'\. Known: tofino1, tofino2\."),
        (("tofino1", 0, None, 1), r"no code for 0 words a pass\. There is code for 8, 16, "),
        (("tofino1", -8, None, 1), "no code for -8 words a pass"),
        (("tofino1", 20, None, 1), "no code for 20 words a pass"),
        (("tofino1", 136, None, 1), "no code for 136 words a pass"),
        (("tofino2", 100, None, 8), r"100 words cannot be divided by 8 passes\. Give a multiple of 8\."),
        (("tofino2", 48, None, 4), "no code for 12 words a pass"),
        (("tofino2", 64, None, 0), r"no code for 0 passes\. There is code for 1, 4, 8\."),
        (("tofino2", 64, None, 2), "no code for 2 passes"),
        (("tofino1", 32, 0, 1), "no code for 0 slots"),
        (("tofino1", 32, 10_000, 1), "no code for 10000 slots"),
        (("tofino1", 32, 65_536, 1), "no code for 65536 slots"),
        (("tofino1", 256, 8_192, 8), r"8,192 slots in 8 passes are 65,536 blocks .* Give 4,096 slots or fewer\."),
    ],
)
def test_custom_profile_unsupported_size_is_refused(given: tuple[str, int, int | None, int], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        custom_profile(*given, P4SRC)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--words 24", "--words is for a custom profile. Give --chip with it."),
        ("--slots 0", "--slots is for a custom profile. Give --chip with it."),
        ("--chip tofino1", "A custom profile requires its number of words. Give --words."),
        ("--chip tofino1 --words 24 --only tofino1-w32", "--only builds a known profile, --chip a custom one."),
        ("--chip tofino1 --words 24 --passes 0", "The sources have no code for 0 passes."),
        ("--only ", "There is no Tofino profile ''"),
    ],
)
def test_options_invalid_are_refused_before_tool_lookup(
    options: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(options.split(" ")) == 2
    assert capsys.readouterr().err.startswith(said)


def test_try_profile_leaves_committed_files_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def a_build(wanted: TofinoProfile, p4src: Path, out: Path) -> Built:
        asked.append(wanted)
        if wanted.slots > 16_384:
            raise DoesNotFitError.of(wanted, "21 stages needed, 12 there", "using 21")
        for name in ("tofino.bin", "context.json", f"{wanted.name}.bfrt.json"):
            (out / name).write_text(name)
        context = {"tables": [], "phv_allocation": [], "mau_stage_characteristics": []}
        return Built(wanted, out / "tofino.bin", context, ParserCycles(1, 1), (out / f"{wanted.name}.bfrt.json",))

    monkeypatch.setattr(tofinobuild, "build_profile", a_build)
    monkeypatch.setattr(tofinobuild, "build", lambda *_: pytest.fail("all profiles are built"))
    before = {path: path.stat().st_mtime_ns for path in (P4SRC / "build").rglob("*")}
    own = ["--chip", "tofino1", "--words", "24"]
    assert main([*own, "--binaries", str(tmp_path), "--pipes", "2"]) == 0
    assert Resources(**json.loads(capsys.readouterr().out)).tables == 0
    name = "tofino1-w24-s16384-p1"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == {
        f"{name}/tofino.bin", f"{name}/context.json", f"{name}/{name}.bfrt.json",
        f"{name}.pi.bin", f"{name}.stratum.bin",
    }  # fmt: skip
    assert main([*own, "--slots", "32768"]) == DoesNotFitError.exit_code
    assert "21 stages needed, 12 there" in capsys.readouterr().err
    assert main(["--only", "tofino2-w64"]) == 0
    assert [wanted.name for wanted in asked] == [name, "tofino1-w24-s32768-p1", "tofino2-w64"]
    assert {path: path.stat().st_mtime_ns for path in (P4SRC / "build").rglob("*")} == before
