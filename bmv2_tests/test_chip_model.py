# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The assembled binary on the chip's model beside executor and reference; see ``chip_frames``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_lab.builds.checks import COMPILER
from lanesum_lab.builds.tofino import ASSEMBLER, build_profile
from lanesum_switch.api import PacketOut

from .chip_frames import Trio, compare, trio
from .chip_model import MODEL_PROFILES, P4_SOURCES, assemble, assembly_of

# The assembled program is built at first, which takes minutes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(0)]

_SMALLEST = "tofino1-w32-model"
# Action of a stateful ALU in the assembly, an instruction of it, and a wrong one. An ALU extends no signs in equations,
# so the third one never finds a complete entry.
_PLANTED = (
    pytest.param("lanes_add_0", "add lo, lo, phv_lo", "or lo, lo, phv_lo", id="sum"),
    pytest.param("slots_count_next", "geq.u hi, lo, 1, -phv_lo", "geq.u hi, lo, 2, -phv_lo", id="complete-too-early"),
    pytest.param("slots_read_count", "lss.s lo, lo", "equ lo, lo, 1", id="never-complete"),
    pytest.param("slots_next_seen", "or cmplo, lo, lo, phv_lo", "alu_a cmplo, lo, phv_lo", id="duplicates-summed"),
)


@pytest.fixture(scope="module", params=MODEL_PROFILES)
def running_trio(request: pytest.FixtureRequest) -> Iterator[Trio]:
    with trio(request.param) as star:
        yield star


@pytest.mark.parametrize("seed", range(4))
def test_model_random_frames_match_executor_and_reference(running_trio: Trio, seed: int) -> None:
    before = running_trio.frames
    compare(running_trio, seed)
    assert running_trio.frames > before


def test_comparison_with_wrong_table_entry_fails(running_trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: every member has the bit of the next worker."""
    harness = running_trio.model.switch.harness
    run = harness.run
    monkeypatch.setattr(harness, "run", lambda commands: run(c.replace("worker:1,", "worker:2,") for c in commands))
    with pytest.raises(AssertionError, match="differs from the reference"):
        compare(running_trio, 0)


def test_comparison_with_wrong_executor_fails(running_trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the executor's answers to port 1 have one bit of the last word inverted."""
    process = running_trio.executor.switch.process

    def wrong(port: int, frame: bytes) -> list[PacketOut]:
        return [PacketOut(o.port, o.frame[:-1] + bytes([o.frame[-1] ^ (o.port == 1)])) for o in process(port, frame)]

    monkeypatch.setattr(running_trio.executor.switch, "process", wrong)
    with pytest.raises(AssertionError, match="the executor differs from the reference"):
        compare(running_trio, 0)


@pytest.mark.parametrize(("action", "right", "wrong"), _PLANTED)
def test_comparison_with_wrong_program_fails(action: str, right: str, wrong: str, tmp_path: Path) -> None:
    """A planted bug: one instruction of a stateful ALU. The assembler makes another binary of it."""
    profile = MODEL_PROFILES[_SMALLEST]
    text = assembly_of(profile)
    begin = re.search(rf"^ +{action}:$", text, re.MULTILINE)
    assert begin is not None
    behind = text[begin.end() :]
    assert right in behind[: behind.index("output")]
    _check_detected(assemble(profile, text[: begin.end()] + behind.replace(right, wrong, 1), tmp_path))


def test_comparison_with_wrong_source_fails(tmp_path: Path) -> None:
    """A planted bug: ADD32 takes the bitwise OR of words. The compiler makes another binary of it."""
    profile = MODEL_PROFILES[_SMALLEST]
    reason = next((f"{tool} is not on PATH" for tool in (COMPILER, ASSEMBLER) if shutil.which(tool) is None), "")
    if reason:
        pytest.skip(reason)
    sources = Path(shutil.copytree(P4_SOURCES, tmp_path / "p4src"))
    parser = sources / "tofino" / "parser.p4"
    right = "OPERATION_STATE(sum_words, OP_ADD32, COMBINE_ADD,"
    assert right in parser.read_text()
    parser.write_text(parser.read_text().replace(right, right.replace("COMBINE_ADD", "COMBINE_OR")))
    _check_detected(build_profile(profile, sources, tmp_path).binary.parent)


def _check_detected(build: Path) -> None:
    """Check that random frames through another binary differ from the reference's."""
    # The star's first frames, which complete entries, are compared too.
    with pytest.raises(AssertionError, match="differs from the reference"), trio(_SMALLEST, build=build) as star:
        for seed in range(4):
            compare(star, seed)
