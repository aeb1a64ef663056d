# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The build for Tofino: missing tools and exceeded resources are named, and the report counts the allocations."""

from __future__ import annotations

import json
import pickle
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.lanes import LaneOp
from lanesum_fabric.program import pipelines
from lanesum_fabric.program.manifest import MANIFEST, sha256
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER, tofino_pipeline
from lanesum_fabric.tofino.chips import PROFILES, TOFINO_1, TOFINO_2, TofinoProfile, nearest, profile
from lanesum_fabric.tofino.device_config import repeatable
from lanesum_fabric.tofino.resources import Resources, measure
from lanesum_lab.builds import tofino as tofinobuild
from lanesum_lab.builds.checks import (
    COMPILER,
    TofinoCompileError,
    check_counted_entries,
    check_overlays,
    check_parser_errors,
)
from lanesum_lab.builds.performance import PERFORMANCE, ParserCycles, read_parser_cycles
from lanesum_lab.builds.rates import RECIRCULATION_HEADER_BYTES, rates, recirculated_bytes
from lanesum_lab.builds.report import recirculation_table, resource_table
from lanesum_lab.builds.tofino import (
    ASSEMBLER,
    Built,
    DoesNotFitError,
    build,
    build_profile,
    resource_that_ran_out,
    tools,
    warnings_to_heed,
)
from tests.paths import ROOT


def a_tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(("there", "missing"), [((), COMPILER), ((COMPILER,), ASSEMBLER)])
def test_missing_tool_is_named(
    there: tuple[str, ...], missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in there:
        a_tool(tmp_path, name, "exit 0\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match=f"^{missing} is not on PATH") as raised:
        tools()
    assert raised.value.exit_code == 3


COMPILES = """
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2;;
    --bf-rt-schema) echo '{}' > "$2";;
  esac
  shift
done
/bin/mkdir -p "$out/pipe"
: > "$out/pipe/main.bfa"
"""


def test_assemblers_refusal_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler succeeds with too many stages: only the assembler refuses."""
    a_tool(tmp_path, COMPILER, COMPILES)
    a_tool(tmp_path, ASSEMBLER, "echo 'main.bfa: error: tofino supports up to 12 stages, using 13' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = TofinoProfile("tofino1-w64", TOFINO_1, 64)
    with pytest.raises(DoesNotFitError, match="13 stages needed, 12 there") as raised:
        build_profile(wanted, tmp_path, tmp_path)
    assert "tofino1-w32" in str(raised.value)
    assert raised.value.resource == "13 stages needed, 12 there"


def test_compilers_refusal_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_tool(tmp_path, COMPILER, "echo 'error: PHV allocation was not successful' >&2\nexit 1\n")
    a_tool(tmp_path, ASSEMBLER, "exit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DoesNotFitError, match="packet header containers"):
        build_profile(profile("tofino1-w32"), tmp_path, tmp_path)
    a_tool(tmp_path, COMPILER, "echo 'main.p4(3): error: syntax error' >&2\nexit 1\n")
    with pytest.raises(TofinoCompileError, match="syntax error"):
        build_profile(profile("tofino1-w32"), tmp_path, tmp_path)


NO_SUCH_SIZE = """
tofino/sizes.p4:39:2: error: #error SLOTS is none of the numbers that the sources have code for
   39 | #error SLOTS is none of the numbers that the sources have code for
[--Werror=I/O error] error: Preprocessor returned exit code 256; aborting compilation
"""


def test_size_missing_in_sources_names_nearest_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_tool(tmp_path, COMPILER, f"echo '{NO_SUCH_SIZE}' >&2\nexit 1\n")
    a_tool(tmp_path, ASSEMBLER, "exit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TofinoCompileError) as raised:
        build_profile(TofinoProfile("tofino1-w32-s65536", TOFINO_1, 32, slots=65_536), tmp_path, tmp_path)
    assert str(raised.value) == (
        "p4src/tofino has no code for profile tofino1-w32-s65536: SLOTS is none of the numbers that the sources have "
        "code for. Build tofino1-w32 instead (32 words, 16384 slots)."
    )


def test_refusal_leaves_the_build_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of two builds must never be mixed."""
    first, second = PROFILES[:2]
    too_large: list[TofinoProfile] = [second]

    def a_build(wanted: TofinoProfile, p4src: Path, out: Path) -> Built:
        if wanted in too_large:
            raise DoesNotFitError.of(wanted, "out of power", "too much of it")
        for name in (f"{wanted.name}.bfrt.json", "tofino.bin", "context.json"):
            (out / name).write_text("new")
        outputs = (out / f"{wanted.name}.bfrt.json",)
        return Built(wanted, out / "tofino.bin", CONTEXT, ParserCycles(21, 10), outputs)

    monkeypatch.setattr(tofinobuild, "tools", lambda: (COMPILER, ASSEMBLER))
    monkeypatch.setattr(tofinobuild, "build_profile", a_build)
    monkeypatch.setattr(tofinobuild, "version_of", lambda name, compiler: f"{compiler} 1")
    monkeypatch.setattr(tofinobuild, "write_page", lambda root: None)
    committed, packed = tmp_path / TOFINO_BUILD_FOLDER, tmp_path / "out"
    kept = [committed / f"{first.name}.bfrt.json", packed / f"{first.name}.pi.bin"]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
    with pytest.raises(DoesNotFitError):
        build(tmp_path, (first, second), packed)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)
    assert [path.read_text() for path in kept] == ["old", "old"]

    too_large.clear()
    build(tmp_path, (first, second), packed)
    manifest = json.loads((committed / MANIFEST).read_text())
    outputs = {path.name: sha256(path) for path in committed.iterdir() if path.name != MANIFEST}
    assert manifest["outputs"] == outputs
    assert outputs.keys() == {f"{first.name}.bfrt.json", f"{second.name}.bfrt.json", "resources.json", PERFORMANCE}
    assert read_parser_cycles(committed / PERFORMANCE) == dict.fromkeys((first.name, second.name), ParserCycles(21, 10))
    assert kept[0].read_text() == "new"
    for built in (first, second):
        assert (packed / f"{built.name}.pi.bin").read_bytes().count(b"new") == 2
        assert (packed / built.name / "tofino.bin").read_text() == "new"


def test_unknown_warnings_are_shown() -> None:
    said = (
        "tofino/parser.p4(245): [--Wwarn=invalid-header] warning: accessing a field of an invalid header hdr.lanes\n"
        "    hdr.lanes.w0 = hdr.arrived.w0;\n"
        "tofino/parser.p4(245): [--Wwarn=invalid-header] warning: accessing a field of an invalid header hdr.codes\n"
        "main.bfa:20303: warning: Input xbar hash group 0 mergeable conflict in stage 4\n"
        "main.bfa:9995: warning: conflicting hash group definition here\n"
        "warning: tofino/redirect.p4(31): The stage specified for table IngressPipeline.redirect.cpu_port is 4, but we "
        "could not place it until stage 10\n"
    )
    (heeded,) = warnings_to_heed(said + "tofino/passes.p4(188): [--Wwarn=shadow] warning: 'task' shadows 'task'\n")
    assert heeded.endswith("invalid header hdr.codes")


def test_description_is_the_same_in_every_build() -> None:
    """The compiler begins with the snapshots of either gress, arbitrarily."""

    def table(name: str, number: int, *depends_on: int) -> dict[str, object]:
        return {"name": name, "id": number, "depends_on": list(depends_on)}

    ingress = [table(f"pipe.snapshot.ingress_{what}", 0x92937EEE + i) for i, what in enumerate(("trigger", "data"))]
    egress = [table(f"pipe.snapshot.egress_{what}", 0x924EC4DF + i) for i, what in enumerate(("trigger", "data"))]
    one, other, last = table("a", 1), table("pipe.words", 2), table("z", 3)
    configuring = table("pipe.snapshot.cfg", 0x914EC4DF, 0x924EC4DF, 0x92937EEE)
    wanted = [one, other, table("pipe.snapshot.cfg", 0x91937EEE, 0x92937EEE, 0x924EC4DF), *ingress, *egress, last]
    schema = {"build_date": "x", "tables": [one, other, configuring, *egress, *ingress, last]}
    for _ in range(2):
        schema = repeatable(schema)
        assert schema == {"tables": wanted}


def test_parser_without_branches_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assembler warns about branches that p4c dropped, and still writes a binary."""
    a_tool(tmp_path, COMPILER, COMPILES)
    warning = "main.bfa:5: warning: Can't match parser state due to previous match"
    binary = "while [ $1 != -o ]; do shift; done; : > $2/tofino.bin"
    a_tool(tmp_path, ASSEMBLER, f'echo "{warning}" >&2\necho "{warning}" >&2\n{binary}\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TofinoCompileError, match=r"left 2 branches out of the parsers of profile tofino1-w32.*5753"):
        build_profile(profile("tofino1-w32"), tmp_path, tmp_path)


def test_profile_that_the_assembler_refuses_is_named() -> None:
    with pytest.raises(TofinoCompileError, match=r"refused profile tofino1-w32: .*no such container"):
        tofinobuild._refuse(profile("tofino1-w32"), "main.bfa:5: error: no such container")


def test_parser_errors_above_lowest_bit_fail_build() -> None:
    """The chip's parser writes its errors from bit 0 of a container on."""
    built, place = profile("tofino1-w32"), "  ig_intr_md_from_prsr.parser_err: {{  stage 0: {} }} \n"
    for container in ("H12", "W1(0..15)"):
        check_parser_errors(built, place.format(container))
    with pytest.raises(TofinoCompileError, match=r"errors of profile tofino1-w32 at bit 13.*pa_container_size"):
        check_parser_errors(built, place.format("W4(13..28)"))


@pytest.mark.parametrize("field", ["meta.access", "meta.torn"])
def test_unset_field_sharing_container_fails_build(field: str) -> None:
    """The field would be what the earlier one left in the container."""

    def context(lsb: int) -> dict[str, Any]:
        unset = {"field_name": field, "phv_lsb": lsb, "phv_msb": lsb + 1}
        earlier = {"field_name": "meta.operation_bit", "phv_lsb": 0, "phv_msb": 15}
        stages = [[{"phv_number": 7, "records": [part]}] for part in (earlier, unset)]
        return {"phv_allocation": [{"ingress": stage} for stage in stages]}

    check_overlays(profile("tofino2-w64"), context(16))
    with pytest.raises(
        TofinoCompileError,
        match=rf"places {field} of profile tofino2-w64 where meta.operation_bit was, and some actions leave it",
    ):
        check_overlays(profile("tofino2-w64"), context(15))


def test_counted_entries_that_became_conditions_fail_the_build() -> None:
    """Conditions have no memory, so nothing counts them."""

    def context(kind: str, *ways: dict[str, Any], counted: str = "direct") -> dict[str, Any]:
        stages = [{"stage_table_type": kind, "ways": list(ways)}]
        table = {
            "name": "IngressPipeline.forward.hop",
            "statistics_table_refs": [{"how_referenced": counted}],
            "match_attributes": {"stage_tables": stages},
        }
        return {"tables": [table, {"name": "IngressPipeline.slots.seen"}]}

    wanted = profile("tofino2-w64")
    check_counted_entries(wanted, context("ternary_match"))
    check_counted_entries(wanted, context("hash_match", {"way_number": 0}))
    check_counted_entries(wanted, context("hash_match", counted="indirect"))
    with pytest.raises(TofinoCompileError, match=r"forward\.hop of profile tofino2-w64 into conditions"):
        check_counted_entries(wanted, context("hash_match"))


def test_compiler_that_prints_nothing_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_tool(tmp_path, COMPILER, COMPILES)
    a_tool(tmp_path, ASSEMBLER, "while [ $1 != -o ]; do shift; done; : > $2/tofino.bin\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        TofinoCompileError, match=r"a binary of profile tofino1-w32, but not its P4Info.* September 2026"
    ):
        build_profile(profile("tofino1-w32"), tmp_path, tmp_path)


@pytest.mark.parametrize("pipes", [2, 4])
def test_binaries_are_packed_for_existing_pipes(tmp_path: Path, pipes: int) -> None:
    for name in ("tofino.bin", "context.json", "x.bfrt.json"):
        (tmp_path / name).write_bytes(name.encode())
    made = Built(profile("tofino1-w32"), tmp_path / "tofino.bin", {}, ParserCycles(21, 10), (tmp_path / "x.bfrt.json",))
    packed = made.packed(pipes)
    assert list(packed.pipes) == list(range(pipes))
    assert (packed.binary, packed.context, packed.bfrt) == (b"tofino.bin", b"context.json", b"x.bfrt.json")


def test_exhausted_resource_is_read_from_the_messages() -> None:
    assert resource_that_ran_out("error: tofino supports up to 12 stages, using 13") == "13 stages needed, 12 there"
    assert resource_that_ran_out("error: PHV allocation was not successful") == "out of packet header containers"
    assert resource_that_ran_out("error: out of instruction memory") == "out of instruction memory"
    deparser = "error: Too many field dictionary chunks (130) required in egress deparser, need to have fewer headers"
    assert resource_that_ran_out(deparser) == "out of chunks of the deparser's field dictionary"
    register = (
        "tofino/slots.p4(210): error: Could not place table IngressPipeline.slots.owner: table "
        "IngressPipeline.slots.owner could not fit in stage 1 with 512 entries along with 65536 entries of Register "
        "IngressPipeline.slots.slot_owner"
    )
    assert resource_that_ran_out(register) == "out of memories in one stage"
    assert resource_that_ran_out("error: no such field") is None
    mistake = "[--Werror=type-error] error: ternary: no such kind of match for memory"
    assert resource_that_ran_out(mistake) is None


@pytest.mark.parametrize(
    ("refused", "fitting"),
    [
        (TofinoProfile("x", TOFINO_1, 48), "tofino1-w32"),
        (TofinoProfile("x", TOFINO_1, 24, 32_768), "tofino1-w32"),
        (TofinoProfile("x", TOFINO_1, 512, 2_048, passes=16), "tofino1-w256"),
        (TofinoProfile("x", TOFINO_1, 64, 4_096, passes=8), "tofino1-w256"),
        (TofinoProfile("x", TOFINO_2, 72), "tofino2-w64"),
        (TofinoProfile("x", TOFINO_2, 512, 4_096, passes=4), "tofino2-w256"),
        (profile("tofino1-w256"), "tofino1-w32"),
        (profile("tofino1-w32"), None),
    ],
)
def test_nearest_profile_keeps_chip_and_adds_no_passes(refused: TofinoProfile, fitting: str | None) -> None:
    found = nearest(refused)
    assert (found.name if found else None) == fitting


def test_unknown_profile_is_named() -> None:
    with pytest.raises(ConfigurationError, match="tofino3"):
        profile("tofino3")


def test_refusal_crosses_process_borders() -> None:
    error = DoesNotFitError.of(TofinoProfile("x", TOFINO_2, 72), "out of power", "too much of it.")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is DoesNotFitError
    assert (str(copy), copy.what, copy.next_step, copy.resource) == (
        "Profile x does not fit Tofino 2: out of power. Output: too much of it. "
        "Build tofino2-w64 instead (64 words, 16384 slots).",
        error.what,
        error.next_step,
        "out of power",
    )


def test_unknown_or_unbuilt_profile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="no Tofino profile 'tofino1-w1'; built: tofino1-w32, "):
        tofino_pipeline("tofino1-w1")
    monkeypatch.setattr(pipelines.resources, "directory", lambda name: tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"Missing program of Tofino profile tofino1-w32\. Build it with `make tofino`"
    ):
        tofino_pipeline("tofino1-w32")


def test_profiles_keep_what_was_promised() -> None:
    """In one pass 24 words on Tofino 1 and 56 on Tofino 2, with 16,384 slots; 1,024 four-bit codes in eight passes."""
    single = [kept for kept in PROFILES if kept.passes == 1]
    assert max(kept.accumulator_words for kept in single if kept.chip is TOFINO_1) >= 24
    assert max(kept.accumulator_words for kept in single if kept.chip is TOFINO_2) >= 56
    assert all(kept.slots >= 16_384 for kept in single)
    wide = [kept for kept in PROFILES if kept.passes > 1]
    assert any(rates(kept, LaneOp.EXPAND8).values_per_packet >= 1024 and kept.passes <= 8 for kept in wide)


CONTEXT = {
    "tables": [
        {
            "table_type": "match",
            "name": "pipe.IngressPipeline.membership.member",
            "match_attributes": {
                "stage_tables": [
                    {
                        "stage_number": 0,
                        "stage_table_type": "hash_match",
                        "ways": [
                            {
                                "memory_resource_allocation": {
                                    "memory_type": "sram",
                                    "memory_units_and_vpns": [{"memory_units": [7, 8], "vpns": [0]}],
                                }
                            }
                        ],
                    }
                ]
            },
        },
        {
            "table_type": "stateful",
            "name": "pipe.IngressPipeline.lanes.words_0",
            "stage_tables": [
                {
                    "stage_number": 4,
                    "stage_table_type": "stateful",
                    "meter_alu_index": 3,
                    "memory_resource_allocation": {
                        "memory_type": "sram",
                        "memory_units_and_vpns": [
                            {"memory_units": [1], "vpns": [0]},
                            {"memory_units": [2], "vpns": [1]},
                        ],
                        "spare_bank_memory_unit": 3,
                    },
                }
            ],
        },
    ],
    "phv_allocation": [
        {
            "ingress": [
                {"container_type": "normal", "phv_number": 0, "word_bit_width": 32},
                {"container_type": "tagalong", "phv_number": 256, "word_bit_width": 32},
            ],
            "egress": [{"container_type": "normal", "phv_number": 64, "word_bit_width": 8}],
        },
        {"ingress": [{"container_type": "normal", "phv_number": 0, "word_bit_width": 32}]},
    ],
    "mau_stage_characteristics": [
        {"gress": "ingress", "cycles_contribute_to_latency": 22},
        {"gress": "ingress", "cycles_contribute_to_latency": 26},
        {"gress": "egress", "cycles_contribute_to_latency": 20},
    ],
}


def test_measuring_counts_each_thing_once() -> None:
    found = measure(CONTEXT)
    assert found == Resources(
        stages=5,
        stateful_alus=1,
        memories=5,
        ternary_memories=0,
        tables=1,
        lane_stages=1,
        header_bits=40,
        ingress_cycles=48,
        egress_cycles=20,
    )
    table = resource_table({"tofino1-w32": found})
    assert "| stages | 5 of 12 |" in table and "| stateful ALUs | 1 of 48 |" in table


def test_rates_follow_from_frame_sizes() -> None:
    """128 codes in a frame of 202 bytes plus 24 on the wire: 55.3 million per second at 100 Gbit/s."""
    found = rates(profile("tofino1-w32"), LaneOp.EXPAND8)
    assert (found.values_per_packet, found.contribution_bytes, found.result_bytes) == (128, 138, 202)
    assert found.packets_per_second == pytest.approx(100e9 / (8 * 226))
    assert found.values_per_second == pytest.approx(128 * 100e9 / (8 * 226))


def test_recirculated_bytes_follow_from_the_passes() -> None:
    """512 bytes of codes are removed in four passes; 1,024 bytes of sums are added in four more."""
    built = profile("tofino2-w256")
    assert (built.passes, built.recirculations_for_sum) == (4, 7)
    empty = 74 + 24 + RECIRCULATION_HEADER_BYTES
    assert recirculated_bytes(built, LaneOp.EXPAND8) == (3 * empty + 384 + 256 + 128, 4 * empty + 0 + 256 + 512 + 768)
    assert recirculated_bytes(profile("tofino2-w64"), LaneOp.EXPAND8) == (0, 0)
    lines = recirculation_table().splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["ADD32", "ADD8X4", "EXPAND8"] * 2
    assert lines[-1].startswith("| tofino2-w256 | EXPAND8 | 1,140 | 2,032 |")


def test_recirculation_headers_have_the_assumed_length() -> None:
    types = (ROOT / "p4src/tofino/types.p4").read_text()
    widths = {"handover_t": 8, "task_t": 8, "role_t": 8, "PortId_t": 9}
    for alias in ("handover_t", "task_t"):
        assert f"typedef bit<{widths[alias]}> {alias};" in types
    bits = 0
    for header in ("bridge_t", "pass_t"):
        (body,) = re.findall(rf"header {header} \{{(.*?)\n\}}", types, re.DOTALL)
        body = re.sub(r"#else.*?#endif", "", body, flags=re.DOTALL)  # the same bits without the flag of partial sums
        for kind in re.findall(r"^\s*(?:@padding )?(bit<\d+>|\w+_t)\s+\w+;", body, re.MULTILINE):
            bits += widths[kind] if kind in widths else int(kind[4:-1])
    assert bits == 8 * RECIRCULATION_HEADER_BYTES
