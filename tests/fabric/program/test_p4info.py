# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the compiled program that the control plane requires."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from google.protobuf import text_format

from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_fabric.errors import PipelineError
from lanesum_fabric.program.capabilities import CONGESTION, STATION
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.protobufs import p4info_pb2, p4runtime_pb2


@pytest.mark.parametrize("accumulator_words", BUILT_ACCUMULATOR_WORDS)
def test_every_table_counts_its_packets(accumulator_words: int) -> None:
    """BMv2 serves counters over P4Runtime but no registers: they are the only view of the data plane."""
    text = bmv2_pipeline(accumulator_words).p4info_path.read_text()
    p4info = text_format.Parse(text, p4info_pb2.P4Info())
    counters = {counter.preamble.id: counter.direct_table_id for counter in p4info.direct_counters}
    assert len(p4info.tables) >= 13
    for table in p4info.tables:
        if table.preamble.name == STATION:
            continue  # table classify counts what becomes of the frames
        assert table.preamble.id in {counters.get(resource) for resource in table.direct_resource_ids}, table
    registers = {register.preamble.name for register in p4info.registers}
    assert {f"IngressPipeline.lanes.words_{i}" for i in range(accumulator_words)} <= registers
    assert f"IngressPipeline.lanes.words_{accumulator_words}" not in registers


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe", "Cannot read the P4Info "),
        (b"tables {", "The P4Info is malformed: "),
        (b"no P4Info", "The P4Info is malformed: "),
        (b"tables { preamble { id: -1 } }", "The P4Info is malformed: "),
    ],
)
def test_p4info_file_of_other_contents_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.txtpb"
    path.write_bytes(data)
    with pytest.raises(PipelineError, match=message):
        _ = dataclasses.replace(bmv2_pipeline(), p4info_path=path).names


def test_entry_that_the_program_lacks_is_refused() -> None:
    names = bmv2_pipeline().names
    marking = "EgressPipeline.congestion.mark_above"
    with pytest.raises(PipelineError, match="The switch's program has no table nothing"):
        names.entry("nothing", {})
    with pytest.raises(PipelineError, match=r"Table .* is keyed on \['egress_port'\], not on \['port'\]"):
        names.entry(CONGESTION, {"port": 1})
    with pytest.raises(PipelineError, match=rf"Action {marking} does not take the parameters \['deep'\]"):
        names.entry(CONGESTION, {"egress_port": 1}, marking, {"deep": 5})


def test_read_entry_of_another_program_is_refused() -> None:
    """A switch answers with any numbers that it likes."""
    names = bmv2_pipeline().names
    entry = names.entry(CONGESTION, {"egress_port": 1}, "EgressPipeline.congestion.mark_above", {"depth": 5})
    assert names.read(entry).params == {"depth": 5}
    table, field, param = (p4runtime_pb2.TableEntry.FromString(entry.SerializeToString()) for _ in range(3))
    table.table_id = 1
    field.match[0].field_id = 77
    param.action.action.params.add(param_id=5)
    for foreign in (field, param):
        with pytest.raises(
            PipelineError, match=r"an entry of table .* with a field or parameter that this controller's"
        ):
            names.read(foreign)
    with pytest.raises(PipelineError, match="lacks"):
        names.read(table)
    with pytest.raises(PipelineError, match="table 1, which this controller's program lacks"):
        names.table_name(1)
    empty = p4runtime_pb2.TableEntry(table_id=entry.table_id)
    empty.match.add(field_id=entry.match[0].field_id)
    assert names.read(empty).match == {"egress_port": 0}
