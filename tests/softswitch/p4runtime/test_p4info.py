# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""P4Info messages that cannot be imported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from lanesum_fabric.protobufs import p4info_pb2
from lanesum_switch.p4runtime.p4info import build_index
from lanesum_switch.p4runtime.status import StatusError

from .client import Program


def untyped(digest: Any) -> None:
    digest.type_spec.Clear()


def of_headers(digest: Any) -> None:
    member = digest.type_spec.tuple.members.add()
    member.header.name = "ethernet_t"


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("counter IngressImpl.cells has an unknown unit, 9", lambda p: setattr(p.counters[0].spec, "unit", 9)),
        ("meter IngressImpl.packet_meter has an unknown unit, 0", lambda p: setattr(p.meters[0].spec, "unit", 0)),
        (
            "field key of table IngressImpl.exact_table has an unknown match type, 0",
            lambda p: setattr(p.tables[0].match_fields[0], "match_type", 0),
        ),
        (
            "action 0x11b778a of table IngressImpl.exact_table has an unknown scope, 7",
            lambda p: setattr(p.tables[0].action_refs[0], "scope", 7),
        ),
        (
            "the type of digest sample_t is not a bit string, a struct or a tuple",
            lambda p: untyped(p.digests[0]),
        ),
        ("member 0 of digest sample_t is not bit<W>", lambda p: of_headers(p.digests[0])),
        (
            "table IngressImpl.exact_table has direct counter 0x13e45687, which is not described",
            lambda p: p.direct_counters.pop(0),
        ),
        (
            "table IngressImpl.meter_table has direct meter 0x15260d8a, which is not described",
            lambda p: p.direct_meters.pop(),
        ),
        (
            "parameter choice of action IngressImpl.set_choice has -1 bits, not 0 to 2048",
            lambda p: setattr(p.actions[1].params[0], "bitwidth", -1),
        ),
        (
            "field key of table IngressImpl.exact_table has 2147483647 bits, not 0 to 2048",
            lambda p: setattr(p.tables[0].match_fields[0], "bitwidth", 2**31 - 1),
        ),
        (
            "field tag of header packet_in has -12 bits, not 0 to 2048",
            lambda p: setattr(p.controller_packet_metadata[0].metadata[2], "bitwidth", -12),
        ),
        (
            "member 0 of digest sample_t has -8 bits, not 0 to 2048",
            lambda p: setattr(p.type_info.structs["sample_t"].members[0].type_spec.bitstring.bit, "bitwidth", -8),
        ),
    ],
)
def test_build_index_of_wrong_p4info_names_the_object(
    everything: Program, message: str, change: Callable[[Any], None]
) -> None:
    info = p4info_pb2.P4Info()
    info.CopyFrom(everything.p4info)
    change(info)
    with pytest.raises(StatusError, match=f"^UNKNOWN: Cannot import the P4Info: {re.escape(message)}$"):
        build_index(info)
