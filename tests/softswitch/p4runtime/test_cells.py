# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Indirect and direct counters and meters."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from .client import Client, Program, exact, ternary


def cell(program: Program, name: str, index: int | None = None, packets: int = 0, octets: int = 0) -> Any:
    entity = p4rt.Entity(counter_entry=p4rt.CounterEntry(counter_id=program.ids[name] if name else 0))
    if index is not None:
        entity.counter_entry.index.index = index
    if packets or octets:
        entity.counter_entry.data.packet_count = packets
        entity.counter_entry.data.byte_count = octets
    return entity


def counts(entities: list[Any]) -> list[tuple[int, int, int]]:
    entries = [e.counter_entry for e in entities]
    assert all(e.HasField("data") for e in entries)
    return [(e.index.index, e.data.packet_count, e.data.byte_count) for e in entries]


def test_counter_cells(client: Client, everything: Program) -> None:
    assert counts(client.read_ok(cell(everything, "cells", 3))) == [(3, 0, 0)]
    assert client.modify(cell(everything, "cells", 3, 7, 900)) == "OK"
    assert counts(client.read_ok(cell(everything, "cells", 3))) == [(3, 7, 900)]
    assert counts(client.read_ok(cell(everything, "cells"))) == [
        (i, 7 if i == 3 else 0, 900 if i == 3 else 0) for i in range(8)
    ]
    # Undocumented, but BMv2 accepts DELETE as a reset.
    assert client.delete(cell(everything, "cells", 3, 5, 5)) == "OK"
    assert counts(client.read_ok(cell(everything, "cells", 3))) == [(3, 0, 0)]
    assert client.modify(cell(everything, "cells", 3, -1, 2**62)) == "OK"
    assert counts(client.read_ok(cell(everything, "cells", 3))) == [(3, -1, 2**62)]


def test_units(client: Client, everything: Program) -> None:
    assert client.modify(cell(everything, "packet_cells", 1, 7, 900)) == "OK"
    assert counts(client.read_ok(cell(everything, "packet_cells", 1))) == [(1, 7, 0)]
    assert client.modify(cell(everything, "byte_cells", 1, 7, 900)) == "OK"
    assert counts(client.read_ok(cell(everything, "byte_cells", 1))) == [(1, 0, 900)]


def test_all_counters(client: Client, everything: Program) -> None:
    found = client.read_ok(cell(everything, ""))
    ids = [e.counter_entry.counter_id for e in found]
    names = {v: k for k, v in everything.ids.items()}
    assert [names[i] for i in ids] == ["cells"] * 8 + ["packet_cells"] * 4 + ["byte_cells"] * 4
    some = client.read_ok(cell(everything, "", 1))
    assert [e.counter_entry.counter_id for e in some] == [0, 0, 0]


def test_wrong_counter_requests(client: Client, everything: Program) -> None:
    assert client.insert(cell(everything, "cells", 1)) == "INVALID_ARGUMENT"
    assert client.update(0, cell(everything, "cells", 1)) == "INVALID_ARGUMENT"
    assert client.modify(cell(everything, "cells")) == "UNIMPLEMENTED"
    assert client.modify(cell(everything, "cells", -1)) == "INVALID_ARGUMENT"
    assert client.modify(cell(everything, "cells", 8)) == "UNKNOWN"
    assert client.delete(cell(everything, "cells", 8)) == "UNKNOWN"
    assert client.modify(cell(everything, "packet_cells", 4)) == "UNKNOWN"
    assert client.modify(cell(everything, "exact_counter", 1)) == "INVALID_ARGUMENT"
    assert client.modify(cell(everything, "packet_meter", 1)) == "INVALID_ARGUMENT"
    assert client.read(cell(everything, "cells", -1)) == ([], "INVALID_ARGUMENT")
    found, code = client.read(cell(everything, "cells", 8))
    assert (found, code) == ([cell(everything, "cells", 8)], "UNKNOWN")
    assert client.read(cell(everything, "exact_counter")) == ([], "INVALID_ARGUMENT")


def entry(program: Program, key: int) -> Any:
    match = [exact(1, bytes([key])), exact(2, b"\x01")]
    return program.entry("exact_table", match, program.action("set_choice", b"\x01"))


def direct(entity: Any, packets: int | None = None, octets: int | None = None) -> Any:
    result = p4rt.Entity()
    result.direct_counter_entry.table_entry.CopyFrom(entity.table_entry)
    if packets is not None:
        result.direct_counter_entry.data.packet_count = packets
        result.direct_counter_entry.data.byte_count = octets or 0
    return result


def test_direct_counters(client: Client, everything: Program) -> None:
    for key in (1, 2):
        assert client.insert(entry(everything, key)) == "OK"
    (read,) = client.read_ok(direct(entry(everything, 1)))
    assert read == direct(entry(everything, 1), 0, 0)
    assert read.direct_counter_entry.HasField("data")
    assert client.modify(direct(entry(everything, 1), 5, 600)) == "OK"
    found = client.read_ok(direct(everything.entry("exact_table")))
    shown = [(e.direct_counter_entry.data.packet_count, e.direct_counter_entry.data.byte_count) for e in found]
    assert shown == [(5, 600), (0, 0)]
    assert not found[0].direct_counter_entry.table_entry.HasField("action")
    assert len(found[0].direct_counter_entry.table_entry.match) == 2
    request = everything.entry("exact_table")
    request.table_entry.counter_data.SetInParent()
    tables = client.read_ok(request)
    assert [e.table_entry.counter_data.packet_count for e in tables] == [5, 0]
    # A new action keeps the counts; counts given with the entry replace them.
    assert client.modify(entry(everything, 1)) == "OK"
    assert client.read_ok(direct(entry(everything, 1))) == [direct(entry(everything, 1), 5, 600)]
    changed = entry(everything, 1)
    changed.table_entry.counter_data.packet_count = 9
    assert client.modify(changed) == "OK"
    (read,) = client.read_ok(direct(entry(everything, 1)))
    assert (read.direct_counter_entry.data.packet_count, read.direct_counter_entry.data.byte_count) == (9, 0)
    new = entry(everything, 3)
    new.table_entry.counter_data.byte_count = 77
    assert client.insert(new) == "OK"
    (read,) = client.read_ok(direct(entry(everything, 3)))
    assert (read.direct_counter_entry.data.packet_count, read.direct_counter_entry.data.byte_count) == (0, 77)
    assert client.delete(direct(entry(everything, 3))) == "OK"
    assert client.read_ok(direct(entry(everything, 3))) == [direct(entry(everything, 3), 0, 0)]


def test_direct_counter_units(client: Client, everything: Program) -> None:
    match = [ternary(1, b"\x01", b"\xff")]
    entity = everything.entry("ternary_table", match, everything.action("nothing"), priority=4)
    entity.table_entry.counter_data.packet_count = 3
    entity.table_entry.counter_data.byte_count = 4
    assert client.insert(entity) == "OK"
    request = everything.entry("ternary_table")
    request.table_entry.counter_data.SetInParent()
    (read,) = client.read_ok(request)
    assert (read.table_entry.counter_data.packet_count, read.table_entry.counter_data.byte_count) == (3, 0)
    assert client.modify(direct(entity, 5, 6)) == "OK"
    (read,) = client.read_ok(request)
    assert (read.table_entry.counter_data.packet_count, read.table_entry.counter_data.byte_count) == (5, 0)


def test_wrong_direct_counter_requests(client: Client, everything: Program) -> None:
    assert client.insert(entry(everything, 1)) == "OK"
    assert client.insert(direct(entry(everything, 1), 1)) == "INVALID_ARGUMENT"
    assert client.update(0, direct(entry(everything, 1), 1)) == "INVALID_ARGUMENT"
    assert client.modify(direct(entry(everything, 2), 1)) == "INVALID_ARGUMENT"
    assert client.read(direct(entry(everything, 2))) == ([], "INVALID_ARGUMENT")
    assert client.modify(p4rt.Entity(direct_counter_entry=p4rt.DirectCounterEntry())) == "INVALID_ARGUMENT"
    assert client.read(p4rt.Entity(direct_counter_entry=p4rt.DirectCounterEntry())) == ([], "INVALID_ARGUMENT")
    everywhere = p4rt.Entity()
    everywhere.direct_counter_entry.table_entry.SetInParent()
    assert client.read(everywhere) == ([], "UNIMPLEMENTED")
    assert client.modify(everywhere) == "INVALID_ARGUMENT"
    assert client.read(direct(everything.entry("lpm_table"))) == ([], "INVALID_ARGUMENT")
    default = everything.entry("exact_table", is_default_action=True)
    assert client.read(direct(default)) == ([], "UNKNOWN")
    assert client.modify(direct(default, 1)) == "UNKNOWN"
    plain = everything.entry("lpm_table", (), everything.action("nothing"))
    plain.table_entry.counter_data.packet_count = 1
    assert client.insert(plain) == "INVALID_ARGUMENT"


# -- meters


def meter(program: Program, name: str, index: int | None = None, *rates: int) -> Any:
    entity = p4rt.Entity(meter_entry=p4rt.MeterEntry(meter_id=program.ids[name] if name else 0))
    if index is not None:
        entity.meter_entry.index.index = index
    if rates:
        entity.meter_entry.config.CopyFrom(config(*rates))
    return entity


def config(cir: int, cburst: int, pir: int, pburst: int) -> Any:
    return p4rt.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


@pytest.mark.parametrize("name", ["packet_meter", "byte_meter"])
def test_meter_cells(client: Client, everything: Program, name: str) -> None:
    (read,) = client.read_ok(meter(everything, name, 2))
    assert not read.meter_entry.HasField("config")
    assert client.modify(meter(everything, name, 2, 10, 20, 30, 40)) == "OK"
    assert client.read_ok(meter(everything, name, 2)) == [meter(everything, name, 2, 10, 20, 30, 40)]
    found = client.read_ok(meter(everything, name))
    assert [(e.meter_entry.index.index, e.meter_entry.HasField("config")) for e in found] == [
        (i, i == 2) for i in range(4)
    ]
    assert client.modify(meter(everything, name, 2)) == "OK"
    (read,) = client.read_ok(meter(everything, name, 2))
    assert not read.meter_entry.HasField("config")
    assert client.modify(meter(everything, name, 2, -1, -1, -1, -1)) == "OK"
    (read,) = client.read_ok(meter(everything, name, 2))
    assert not read.meter_entry.HasField("config")


def test_rates_are_kept_as_doubles(client: Client, everything: Program) -> None:
    rates = [1, 3, 7, 1_000_001, 123_456_789, 999_999_999_999, 2**53 + 1, 2**62 + 1]
    for rate in rates:
        assert client.modify(meter(everything, "packet_meter", 0, rate, 1, rate, 1)) == "OK"
        (read,) = client.read_ok(meter(everything, "packet_meter", 0))
        assert read.meter_entry.config.cir == int(rate / 1000000.0 * 1000000.0)


def test_wrong_meter_requests(client: Client, everything: Program) -> None:
    def modify(*rates: int) -> str:
        return client.modify(meter(everything, "packet_meter", 1, *rates))

    assert modify(-2, 1, 1, 1) == "INVALID_ARGUMENT"
    assert modify(1, -2, 1, 1) == "INVALID_ARGUMENT"
    assert modify(1, 1, -2, 1) == "INVALID_ARGUMENT"
    assert modify(1, 1, 1, -2) == "INVALID_ARGUMENT"
    assert modify(1, 2**32, 1, 1) == "UNIMPLEMENTED"
    assert modify(1, 1, 1, 2**32) == "UNIMPLEMENTED"
    assert modify(1, 2**32 - 1, 1, 2**32 - 1) == "OK"
    (read,) = client.read_ok(meter(everything, "packet_meter", 1))
    assert (read.meter_entry.config.cburst, read.meter_entry.config.pburst) == (-1, -1)
    assert client.insert(meter(everything, "packet_meter", 1, 1, 1, 1, 1)) == "INVALID_ARGUMENT"
    assert client.delete(meter(everything, "packet_meter", 1)) == "INVALID_ARGUMENT"
    assert client.update(0, meter(everything, "packet_meter", 1)) == "INVALID_ARGUMENT"
    assert client.modify(meter(everything, "packet_meter")) == "UNIMPLEMENTED"
    assert client.modify(meter(everything, "packet_meter", -1)) == "INVALID_ARGUMENT"
    assert client.modify(meter(everything, "packet_meter", 4, 1, 1, 1, 1)) == "UNKNOWN"
    assert client.modify(meter(everything, "direct_rates", 0)) == "INVALID_ARGUMENT"
    assert client.read(meter(everything, "packet_meter", -1)) == ([], "INVALID_ARGUMENT")
    assert client.read(meter(everything, "packet_meter", 4))[1] == "UNKNOWN"
    assert client.read(meter(everything, "direct_rates")) == ([], "INVALID_ARGUMENT")
    assert len(client.read_ok(meter(everything, ""))) == 8


def test_committed_rate_above_peak_rate(client: Client, everything: Program) -> None:
    assert client.modify(meter(everything, "packet_meter", 1, 10, 1, 5, 1)) == "UNKNOWN"


def test_single_minus_one_is_the_largest_number(client: Client, everything: Program) -> None:
    assert client.modify(meter(everything, "packet_meter", 1, -1, 1, 5, 1)) == "UNKNOWN"
    assert client.modify(meter(everything, "packet_meter", 1, 1, 1, -1, 1)) == "OK"
    assert client.read_ok(meter(everything, "packet_meter", 1)) == [meter(everything, "packet_meter", 1, 1, 1, 0, 1)]


def metered(program: Program, key: int, *rates: int) -> Any:
    entity = program.entry("meter_table", [exact(1, bytes([key]))], program.action("metered", b"\x01"))
    if rates:
        entity.table_entry.meter_config.CopyFrom(config(*rates))
    return entity


def direct_meter(entity: Any, *rates: int) -> Any:
    result = p4rt.Entity()
    result.direct_meter_entry.table_entry.CopyFrom(entity.table_entry)
    if rates:
        result.direct_meter_entry.config.CopyFrom(config(*rates))
    return result


def test_direct_meters(client: Client, everything: Program) -> None:
    assert client.insert(metered(everything, 1)) == "OK"
    assert client.insert(metered(everything, 2, 1, 2, 3, 4)) == "OK"
    found = client.read_ok(direct_meter(everything.entry("meter_table")))
    assert [e.direct_meter_entry.HasField("config") for e in found] == [False, True]
    assert found[1].direct_meter_entry.config == config(1, 2, 3, 4)
    assert client.modify(direct_meter(metered(everything, 1), 5, 6, 7, 8)) == "OK"
    assert client.read_ok(direct_meter(metered(everything, 1))) == [direct_meter(metered(everything, 1), 5, 6, 7, 8)]
    request = everything.entry("meter_table")
    request.table_entry.meter_config.SetInParent()
    configs = [e.table_entry.meter_config for e in client.read_ok(request)]
    assert configs == [config(5, 6, 7, 8), config(1, 2, 3, 4)]
    assert client.modify(direct_meter(metered(everything, 1))) == "OK"
    assert not client.read_ok(direct_meter(metered(everything, 1)))[0].direct_meter_entry.HasField("config")
    # Modifying the entry keeps the rates unless it brings its own.
    assert client.modify(metered(everything, 2)) == "OK"
    (read,) = client.read_ok(direct_meter(metered(everything, 2)))
    assert read.direct_meter_entry.config == config(1, 2, 3, 4)
    assert client.modify(metered(everything, 2, 9, 9, 9, 9)) == "OK"
    (read,) = client.read_ok(direct_meter(metered(everything, 2)))
    assert read.direct_meter_entry.config == config(9, 9, 9, 9)


def test_wrong_direct_meter_requests(client: Client, everything: Program) -> None:
    assert client.insert(metered(everything, 1)) == "OK"
    assert client.insert(direct_meter(metered(everything, 1), 1, 1, 1, 1)) == "INVALID_ARGUMENT"
    assert client.delete(direct_meter(metered(everything, 1))) == "INVALID_ARGUMENT"
    assert client.modify(direct_meter(metered(everything, 1), 1, 2**32, 1, 1)) == "UNIMPLEMENTED"
    assert client.modify(direct_meter(metered(everything, 2), 1, 1, 1, 1)) == "INVALID_ARGUMENT"
    assert client.read(direct_meter(metered(everything, 2))) == ([], "INVALID_ARGUMENT")
    assert client.modify(p4rt.Entity(direct_meter_entry=p4rt.DirectMeterEntry())) == "INVALID_ARGUMENT"
    everywhere = p4rt.Entity()
    everywhere.direct_meter_entry.table_entry.SetInParent()
    assert client.read(everywhere) == ([], "UNIMPLEMENTED")
    assert client.read(direct_meter(everything.entry("lpm_table"))) == ([], "INVALID_ARGUMENT")
    default = everything.entry("meter_table", is_default_action=True)
    assert client.read(direct_meter(default)) == ([], "UNKNOWN")
    assert client.modify(direct_meter(default, 1, 1, 1, 1)) == "UNKNOWN"
    plain = everything.entry("lpm_table", (), everything.action("nothing"))
    plain.table_entry.meter_config.cir = 1
    assert client.insert(plain) == "INVALID_ARGUMENT"
    negative = metered(everything, 3, -2, 1, 1, 1)
    assert client.insert(negative) == "INVALID_ARGUMENT"
