# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the compiled program that the control plane requires."""

from __future__ import annotations

import pytest
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2

from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_control.pipelines import bmv2_pipeline


@pytest.mark.parametrize("accumulator_words", BUILT_ACCUMULATOR_WORDS)
def test_every_table_counts_its_packets(accumulator_words: int) -> None:
    """BMv2 serves counters over P4Runtime but no registers: they are the only view of the data plane."""
    text = bmv2_pipeline(accumulator_words).p4info_path.read_text()
    p4info = text_format.Parse(text, p4info_pb2.P4Info())
    counters = {counter.preamble.id: counter.direct_table_id for counter in p4info.direct_counters}
    assert len(p4info.tables) >= 13
    for table in p4info.tables:
        assert table.preamble.id in {counters.get(resource) for resource in table.direct_resource_ids}, table
    registers = {register.preamble.name for register in p4info.registers}
    assert {f"IngressPipeline.lanes.words_{i}" for i in range(accumulator_words)} <= registers
    assert f"IngressPipeline.lanes.words_{accumulator_words}" not in registers
