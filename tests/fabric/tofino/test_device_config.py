# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Device configs match the definitions of the agents; the controller pushes matching ones unchanged."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lanesum.errors import ConfigurationError
from lanesum_control.switches.recirculation import check_ports, recirculation_ports
from lanesum_fabric.errors import PipelineError
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER, tofino_pipeline
from lanesum_fabric.resources import checkout_root
from lanesum_fabric.tofino.device_config import Compiled
from lanesum_fabric.tofino.resources import REPORT, Resources, measure, read_report

COMPILED = Compiled("lanesum", b'{"schema": 1}', b"{}" * 100, bytes(range(256)) * 80, pipes=(0, 1))


def pipeline_config() -> Any:
    """Return the message of Stratum's bf.proto, built from its description."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="bf.proto", package="stratum.hal.barefoot", syntax="proto3")
    message = file.message_type.add(name="BfPipelineConfig")
    profile = message.nested_type.add(name="Profile")
    for number, (name, kind) in enumerate(
        [("profile_name", field.TYPE_STRING), ("context", field.TYPE_BYTES), ("binary", field.TYPE_BYTES)], start=1
    ):
        profile.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    profile.field.add(name="pipe_scope", number=4, type=field.TYPE_UINT32, label=field.LABEL_REPEATED)
    message.field.add(name="p4_name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    message.field.add(name="bfruntime_info", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="profiles", number=3, type=field.TYPE_MESSAGE, label=field.LABEL_REPEATED,
        type_name=".stratum.hal.barefoot.BfPipelineConfig.Profile",
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("stratum.hal.barefoot.BfPipelineConfig")
    return message_factory.GetMessageClass(descriptor)()


def test_stratums_format_is_its_message() -> None:
    read = pipeline_config()
    read.ParseFromString(COMPILED.for_stratum())
    assert (read.p4_name, read.bfruntime_info) == ("lanesum", COMPILED.bfrt)
    (profile,) = read.profiles
    assert (profile.profile_name, profile.context, profile.binary) == ("pipe", COMPILED.context, COMPILED.binary)
    assert list(profile.pipe_scope) == [0, 1]
    assert read.SerializeToString() == COMPILED.for_stratum()


def test_pis_format_is_three_parts_after_their_lengths() -> None:
    data, parts = COMPILED.for_pi(), []
    while data:
        (size,) = struct.unpack_from("<i", data)
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    assert parts == [b"lanesum", COMPILED.binary, COMPILED.context]


def test_both_formats_are_unpacked() -> None:
    assert dataclasses.replace(Compiled.unpack(COMPILED.for_stratum()), pipes=[0, 1]) == dataclasses.replace(
        COMPILED, pipes=[0, 1]
    )
    assert Compiled.unpack(COMPILED.for_pi()) == dataclasses.replace(COMPILED, bfrt=b"", pipes=())


def test_unpack_other_protobuf_encodings() -> None:
    """Unpacked numbers, fields of other versions, and a name as long as the first key."""
    profile = b"\x0a\x04main" + b"\x12\x02{}" + b"\x1a\x03bin" + b"\x20\x02" + b"\x20\x81\x01" + b"\x48\x05"
    read = Compiled.unpack(b"\x12\x02[]" + b"\x7a\x01x" + b"\x1a" + bytes([len(profile)]) + profile)
    assert read == Compiled("", b"[]", b"{}", b"bin", (2, 129), "main")
    named = dataclasses.replace(COMPILED, name="ten___long", bfrt=b"", pipes=())
    assert named.for_pi()[0] == 0x0A == COMPILED.for_stratum()[0]
    assert Compiled.unpack(named.for_pi()) == named


def test_unpack_unknown_format_is_refused() -> None:
    pi, stratum = COMPILED.for_pi(), COMPILED.for_stratum()
    without_context = dataclasses.replace(COMPILED, context=b"")
    two_pipelines = stratum + stratum[stratum.index(b"\x1a") :]
    broken = [
        b"", b"\x00", b"no program at all", b"\xff" * 40, bytes(40), pi[:-1], pi + b"\x00", stratum[:-1],
        stratum + b"\x80",
        without_context.for_stratum(), without_context.for_pi(), two_pipelines, json.dumps({"program": 1}).encode(),
    ]  # fmt: skip
    for data in broken:
        with pytest.raises(ConfigurationError, match=r"neither in Stratum's format .* nor in that of PI\. Build one"):
            Compiled.unpack(data)


def context_of(found: Resources) -> bytes:
    """Return a small ``context.json`` with this report."""

    def memories(kind: str, count: int) -> dict[str, Any]:
        return {"memory_type": kind, "memory_units_and_vpns": [{"memory_units": list(range(count))}]}

    def alu(i: int, name: str) -> dict[str, Any]:
        stage = {"stage_number": i % found.stages, "stage_table_type": "stateful", "meter_alu_index": i // found.stages}
        return {"table_type": "stateful", "name": name, "stage_tables": [stage]}

    last: dict[str, Any] = {"stage_number": found.stages - 1, "stage_table_type": "hash_match"}
    last["ways"] = [memories("sram", found.memories), memories("tcam", found.ternary_memories)]
    tables = [{"table_type": "match", "name": f"table_{i}"} for i in range(found.tables)]
    tables[0]["match_attributes"] = {"stage_tables": [last]}  # type: ignore[assignment]
    for i in range(found.stateful_alus):
        tables.append(alu(i, f"pipe.lanes.words_{i}" if i < found.lane_stages else f"pipe.slots.slot_{i}"))
    container = {"container_type": "normal", "phv_number": 0, "word_bit_width": found.header_bits}
    cycles = [
        {"gress": "ingress", "cycles_contribute_to_latency": found.ingress_cycles},
        {"gress": "egress", "cycles_contribute_to_latency": found.egress_cycles},
    ]
    document = {"tables": tables, "phv_allocation": [{"ingress": [container]}], "mau_stage_characteristics": cycles}
    assert measure(document) == found
    return json.dumps(document).encode()


FOLDER = (checkout_root() or Path()) / TOFINO_BUILD_FOLDER
REPORTS = read_report(FOLDER / REPORT)
FORMATS = {"stratum": Compiled.for_stratum, "pi": Compiled.for_pi}
Format = Callable[[Compiled], bytes]


def compiled(name: str) -> Compiled:
    return Compiled("lanesum", (FOLDER / f"{name}.bfrt.json").read_bytes(), context_of(REPORTS[name]), b"binary")


@pytest.mark.parametrize("pack", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("name", REPORTS)
def test_device_config_replaces_the_printed_program(name: str, pack: Format, tmp_path: Path) -> None:
    """The controller pushes the file; names, slots and chip are those of the committed P4Info."""
    packed = tmp_path / "packed.bin"
    packed.write_bytes(pack(compiled(name)))
    built, printed = tofino_pipeline(name, packed), tofino_pipeline(name)
    packed.unlink()
    assert built.program == pack(compiled(name)), "what was checked is what is pushed"
    assert (built.p4info, built.slots, built.chip) == (printed.p4info, printed.slots, printed.chip)
    assert built.cookie != printed.cookie


def test_pipes_without_program_have_no_ports(tmp_path: Path) -> None:
    """Stratum's format names the pipes; with PI's format all pipes of the chip are assumed."""
    two = dataclasses.replace(compiled("tofino1-w32"), pipes=(0, 1))
    (tmp_path / "two.bin").write_bytes(two.for_stratum())
    (tmp_path / "any.bin").write_bytes(two.for_pi())
    on_two, on_any = (tofino_pipeline("tofino1-w32", tmp_path / name) for name in ("two.bin", "any.bin"))
    assert recirculation_ports(on_two) == (68, 196) and recirculation_ports(on_any) == (68, 196, 324, 452)
    with pytest.raises(ConfigurationError, match=r"Port 324 is no recirculation port .* It has 68, 196, one in each"):
        recirculation_ports(on_two, [68, 324])
    check_ports(on_two, [3, 131])
    check_ports(on_any, [3, 131, 260])
    with pytest.raises(ConfigurationError, match=r"has no port 260\. Give .* pipe \(0, 1\) times 128"):
        check_ports(on_two, [3, 260])


def refusal(profile: str, data: bytes, folder: Path) -> str:
    (folder / "packed.bin").write_bytes(data)
    with pytest.raises(ConfigurationError) as raised:
        tofino_pipeline(profile, folder / "packed.bin")
    assert raised.value.next_step
    return str(raised.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("pack", FORMATS.values(), ids=FORMATS)
def test_another_profiles_device_config_is_named(pack: Format, tmp_path: Path) -> None:
    assert refusal("tofino1-w32", pack(compiled("tofino2-w64")), tmp_path) == (
        "Device config packed.bin is of profile tofino2-w64, not of tofino1-w32. "
        "Give --tofino tofino2-w64 with it, or the file of tofino1-w32."
    )


@pytest.mark.parametrize("pack", FORMATS.values(), ids=FORMATS)
def test_stale_device_config_is_refused(pack: Format, tmp_path: Path) -> None:
    there = REPORTS["tofino1-w32"]
    older = dataclasses.replace(there, tables=there.tables - 1)
    stale = dataclasses.replace(compiled("tofino1-w32"), context=context_of(older))
    assert refusal("tofino1-w32", pack(stale), tmp_path) == (
        "Device config packed.bin is of no profile whose P4Info is here: from tofino1-w32 it differs in "
        f"tables ({older.tables}, not {there.tables}). "
        "It was made of other sources, or by another compiler. Build it of these: make tofino."
    )


def test_check_other_description_is_refused_other_order_accepted(tmp_path: Path) -> None:
    """The compiler orders the tables of snapshots arbitrarily, and stores the build time."""
    whole = compiled("tofino1-w32")
    schema = json.loads(whole.bfrt)
    schema["tables"].reverse()
    snapshots = [table for table in schema["tables"] if table["name"].startswith("pipe.snapshot.")]
    schema["tables"].reverse()
    assert snapshots
    again = [snapshots.pop() if table["name"].startswith("pipe.snapshot.") else table for table in schema["tables"]]
    by_chance = dataclasses.replace(whole, bfrt=json.dumps({**schema, "tables": again, "build_date": "x"}).encode())
    (tmp_path / "by_chance.bin").write_bytes(by_chance.for_stratum())
    tofino_pipeline("tofino1-w32", tmp_path / "by_chance.bin")

    schema["tables"][0]["size"] = schema["tables"][0].get("size", 0) + 1
    for bfrt in (json.dumps(schema).encode(), b"{}", b"no JSON", b"[]", b'{"tables": [{}]}', b"[" * 100_000):
        other = dataclasses.replace(whole, bfrt=bfrt)
        assert "its bf-rt description is not the one that belongs to this P4Info" in refusal(
            "tofino1-w32", other.for_stratum(), tmp_path
        )


DEEP = b"[" * 100_000


@pytest.mark.parametrize("context", [b"{}", b"no JSON", b"[]", b'{"tables": [1]}', b"\xff", b'{"tables": {}}', DEEP])
def test_check_foreign_context_is_refused(context: bytes, tmp_path: Path) -> None:
    other = dataclasses.replace(compiled("tofino1-w32"), context=context)
    assert refusal("tofino1-w32", other.for_pi(), tmp_path) == (
        "Device config packed.bin: its context.json is not one that the assembler writes. Build it again: make tofino."
    )


def test_check_pipe_beyond_the_chip_is_refused(tmp_path: Path) -> None:
    other = dataclasses.replace(compiled("tofino1-w32"), pipes=(0, 129))
    assert refusal("tofino1-w32", other.for_stratum(), tmp_path) == (
        "Device config packed.bin runs on pipe 129, but a chip has pipes 0 to 3. Build it again: make tofino."
    )


def test_file_that_is_no_device_config_is_refused(tmp_path: Path) -> None:
    printed = (FOLDER / "tofino1-w32.printed.p4").read_bytes()
    assert refusal("tofino1-w32", printed, tmp_path).startswith("Device config packed.bin: ")
    assert refusal("tofino1-w32", printed, tmp_path) == (
        "Device config packed.bin: no compiled program, neither in Stratum's format (BfPipelineConfig) nor in "
        "that of PI. Build one: make tofino."
    )


def test_missing_device_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"Missing device config .*absent\.bin"):
        tofino_pipeline("tofino1-w32", tmp_path / "absent.bin")
    with pytest.raises(ConfigurationError, match="Cannot read the device config /proc/self/mem: "):
        tofino_pipeline("tofino1-w32", Path("/proc/self/mem"))
    moved = dataclasses.replace(tofino_pipeline("tofino1-w32"), p4info_path=tmp_path / "absent.p4info.txtpb")
    with pytest.raises(PipelineError, match=r"Cannot read the bf-rt description .*absent.bfrt.json: No such file"):
        _ = moved.description
