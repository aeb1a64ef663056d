# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Indirect counters and meters, whose cells a request names (specification, sections 9.3 and 9.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import CounterValue
from lanesum_switch.p4runtime.other_programs import (
    check_meter_update,
    check_rates,
    parse_meter_config,
    write_meter_config,
)
from lanesum_switch.p4runtime.p4info import CounterInfo, MeterInfo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, invalid_id, invalid_type, on_target

_Update = p4rt.Update
Info = TypeVar("Info", CounterInfo, MeterInfo)


def _cell_index(message: Any) -> int:
    """Return the cell of a counter or meter entry. Raises StatusError INVALID_ARGUMENT for a negative one."""
    index: int = message.index.index
    if index < 0:
        raise invalid(f"{index} is not an index: it is negative")
    return index


def _named_cell(known: Mapping[int, Info], message: Any, what: str) -> tuple[Info, int]:
    """Return the one cell that an update names; ``what``: ``counter`` or ``meter``. Raises StatusError."""
    wanted = getattr(message, f"{what}_id")
    info = known.get(wanted)
    if info is None:
        raise invalid_id(wanted, f"an indirect {what}")
    if not message.HasField("index"):
        raise StatusError(
            Code.UNIMPLEMENTED, f"Writing all cells of a {what} in one update is not supported: give an index"
        )
    return info, _cell_index(message)


def _asked_cells(known: Mapping[int, Info], request: Any, response: Any, what: str) -> Iterator[tuple[Info, int, Any]]:
    """Yield the cells that a request names, each with its message in the response; ``what``: ``counter`` or ``meter``.

    Raises StatusError: INVALID_ARGUMENT for an unknown id or a negative index.
    """
    wanted = getattr(request, f"{what}_id")
    if wanted and wanted not in known:
        raise invalid_id(wanted, f"an indirect {what}")
    for info in [known[wanted]] if wanted else known.values():
        single = request.HasField("index")
        for index in [_cell_index(request)] if single else range(info.size):
            message = getattr(response.entities.add(), f"{what}_entry")
            if single:
                message.CopyFrom(request)  # with its id, also if that is the wildcard
            else:
                setattr(message, f"{what}_id", info.id)
                message.index.index = index
            yield info, index, message


def merge_counter(info: CounterInfo, data: Any, current: CounterValue, kind: int = _Update.MODIFY) -> CounterValue:
    """Return the value after a write: MODIFY sets the counts of the counter's unit, DELETE resets both."""
    if kind == _Update.DELETE:
        return CounterValue()
    return CounterValue(
        packets=data.packet_count if info.counts_packets else current.packets,
        bytes=data.byte_count if info.counts_bytes else current.bytes,
    )


def write_counter_data(value: CounterValue, message: Any) -> None:
    """Write both counts in any unit: BMv2 always keeps both."""
    message.SetInParent()
    message.packet_count = value.packets
    message.byte_count = value.bytes


def check_counter_update(kind: int) -> None:
    """Raise StatusError INVALID_ARGUMENT for any type but MODIFY and DELETE."""
    # PI documents MODIFY only, but accepts DELETE as a reset to zero.
    if kind == _Update.INSERT:
        raise invalid("A counter cannot be inserted: use MODIFY")
    if kind not in (_Update.MODIFY, _Update.DELETE):
        raise invalid_type(kind)


def write_counter(program: ServedProgram, kind: int, message: Any) -> None:
    """Apply one update of a ``p4.v1.CounterEntry``. Raises StatusError: UNIMPLEMENTED without an index, as in BMv2."""
    info, index = _named_cell(program.index.counters, message, "counter")
    check_counter_update(kind)
    counter = program.target_counter(info)
    with on_target(f"a write to cell {index} of {info.name}"):
        counter.write(index, merge_counter(info, message.data, counter.read(index), kind))


def read_counters(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.CounterEntry``: id 0 reads all indirect counters, no index all cells.

    Raises StatusError: UNKNOWN for an index beyond the counter.
    """
    for info, index, entry in _asked_cells(program.index.counters, request, response, "counter"):
        with on_target(f"reading cell {index} of {info.name}"):
            write_counter_data(program.target_counter(info).read(index), entry.data)


def write_meter(program: ServedProgram, kind: int, message: Any) -> None:
    """Apply one update of a ``p4.v1.MeterEntry``. Raises StatusError: UNIMPLEMENTED without an index, as in BMv2."""
    info, index = _named_cell(program.index.meters, message, "meter")
    check_meter_update(kind)
    rates = parse_meter_config(message.config) if message.HasField("config") else None
    check_rates(rates)
    with on_target(f"a write to cell {index} of {info.name}"):
        program.target_meter(info).write(index, rates)


def read_meters(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.MeterEntry``: id 0 reads all indirect meters, no index all cells.

    Raises StatusError: UNKNOWN for an index beyond the meter.
    """
    for info, index, entry in _asked_cells(program.index.meters, request, response, "meter"):
        with on_target(f"reading cell {index} of {info.name}"):
            rates = program.target_meter(info).read(index)
        if rates is not None:
            write_meter_config(rates, entry.config)
