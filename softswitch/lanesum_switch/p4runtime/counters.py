# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Indirect counters, and the counter data that direct counters share (specification, section 9.3)."""

from __future__ import annotations

from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import CounterValue
from lanesum_switch.p4runtime.cells import asked_cells, cell_index
from lanesum_switch.p4runtime.p4info import CounterInfo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import UNIMPLEMENTED, StatusError, invalid, invalid_id, invalid_type, on_target

_Update = p4rt.Update


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
    """Apply one update of a ``p4.v1.CounterEntry``.

    Raises:
        StatusError: UNIMPLEMENTED without an index, as in BMv2.
    """
    info = program.index.counters.get(message.counter_id)
    if info is None:
        raise invalid_id(message.counter_id, "an indirect counter")
    if not message.HasField("index"):
        raise StatusError(UNIMPLEMENTED, "Writing all cells of a counter in one update is not supported: give an index")
    index = cell_index(message)
    check_counter_update(kind)
    counter = program.target_counter(info)
    with on_target(f"a write to cell {index} of {info.name}"):
        counter.write(index, merge_counter(info, message.data, counter.read(index), kind))


def read_counters(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.CounterEntry``: id 0 reads all indirect counters, no index all cells.

    Raises:
        StatusError: UNKNOWN for an index beyond the counter.
    """
    for info, index, entry in asked_cells(program.index.counters, request, response, "counter"):
        with on_target(f"reading cell {index} of {info.name}"):
            write_counter_data(program.target_counter(info).read(index), entry.data)
