# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cells of indirect counters and meters that a request names (specification, sections 9.3 and 9.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from lanesum_switch.p4runtime.p4info import CounterInfo, MeterInfo
from lanesum_switch.p4runtime.status import invalid, invalid_id

Info = TypeVar("Info", CounterInfo, MeterInfo)


def cell_index(message: Any) -> int:
    """Return the cell of a counter or meter entry. Raises StatusError INVALID_ARGUMENT for a negative one."""
    index: int = message.index.index
    if index < 0:
        raise invalid(f"{index} is not an index: it is negative")
    return index


def asked_cells(known: Mapping[int, Info], request: Any, response: Any, what: str) -> Iterator[tuple[Info, int, Any]]:
    """Yield the cells that a request names, each with its message in the response; ``what``: ``counter`` or ``meter``.

    Raises:
        StatusError: INVALID_ARGUMENT for an unknown id or a negative index.
    """
    wanted = getattr(request, f"{what}_id")
    if wanted and wanted not in known:
        raise invalid_id(wanted, f"an indirect {what}")
    for info in [known[wanted]] if wanted else known.values():
        single = request.HasField("index")
        for index in [cell_index(request)] if single else range(info.size):
            message = getattr(response.entities.add(), f"{what}_entry")
            if single:
                message.CopyFrom(request)  # with its id, also if that is the wildcard
            else:
                setattr(message, f"{what}_id", info.id)
                message.index.index = index
            yield info, index, message
