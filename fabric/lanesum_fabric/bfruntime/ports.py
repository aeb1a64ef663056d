# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a chip, as its agent's table ``$PORT`` configures them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from lanesum.errors import ConfigurationError
from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import Description

PORTS = "$PORT"
SPEEDS = ("10G", "25G", "40G", "50G", "100G", "200G", "400G")
#: Names of error corrections at the agent, by those of Ethernet.
CORRECTIONS = {"none": "BF_FEC_TYP_NONE", "fc": "BF_FEC_TYP_FC", "rs": "BF_FEC_TYP_RS"}
_AGENT_SPEED = "BF_SPEED_"
# Older names that an agent may return.
_SAME = {"BF_FEC_TYP_FIRECODE": "BF_FEC_TYP_FC", "BF_FEC_TYP_REED_SOLOMON": "BF_FEC_TYP_RS"}
_MAX_LANES = 8


@dataclass(frozen=True, slots=True)
class PortSettings:
    """Settings of all ports of a switch.

    Attributes:
        speed: one of ``SPEEDS``.
        correction: one of ``CORRECTIONS``.
        lanes: SerDes lanes; None for those that the agent chooses.
    """

    speed: str
    correction: str
    lanes: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``SPEED:FEC`` or ``SPEED:FEC:LANES``. Raises ConfigurationError."""
        speed, correction, lanes = (text.split(":") + [""] * 3)[:3]
        if (
            speed not in SPEEDS
            or correction not in CORRECTIONS
            or text.count(":") > 2
            or (text.count(":") == 2 and not (lanes.isdecimal() and 0 < int(lanes) <= _MAX_LANES))
        ):
            raise ConfigurationError(
                f"Invalid port settings {text[:64]!r}: expected SPEED:FEC or SPEED:FEC:LANES.",
                f"SPEED is one of {', '.join(SPEEDS)}, FEC one of {', '.join(CORRECTIONS)}; for example 100G:rs.",
            )
        return cls(speed, correction, int(lanes) if lanes else None)


class PortTable:
    """Translation for the agent whose own tables are ``fixed``. Raises PipelineError if it lacks the table."""

    def __init__(self, fixed: Description) -> None:
        self._table = table = fixed.named(PORTS)
        self.id = table.id
        self._key = table.key("$DEV_PORT")
        self._speed, self._correction = table.datum("$SPEED"), table.datum("$FEC")
        self._lanes, self._enabled = table.datum("$N_LANES"), table.datum("$PORT_ENABLE")

    def updates(self, settings: PortSettings, wanted: Iterable[int], entries: Iterable[Any]) -> Iterator[Any]:
        """Yield the updates that give the ports ``wanted`` their settings, where the ``entries`` of a read differ.

        A port with other settings is removed and added: its link is down in between.
        """
        there = {
            int.from_bytes(entry.key.fields[0].exact.value, "big"): {d.field_id: d for d in entry.data.fields}
            for entry in entries
            if entry.key.fields
        }
        right = (_AGENT_SPEED + settings.speed, CORRECTIONS[settings.correction], True)
        for port in sorted(wanted):
            found = there.get(port)
            if found is not None and self._found(found, settings) == right:
                continue
            if found is not None:
                yield self._update(messages.Update.DELETE, port)
            update = self._update(messages.Update.INSERT, port)
            fields = update.entity.table_entry.data.fields
            fields.add(field_id=self._speed.id, str_val=right[0])
            fields.add(field_id=self._correction.id, str_val=right[1])
            if settings.lanes is not None:
                fields.add(field_id=self._lanes.id, stream=self._lanes.encode(settings.lanes))
            fields.add(field_id=self._enabled.id, bool_val=True)
            yield update

    def _found(self, data: dict[int, Any], settings: PortSettings) -> tuple[str, str, bool]:
        speed, correction, enabled, lanes = (
            data.get(field.id, messages.DataField())
            for field in (self._speed, self._correction, self._enabled, self._lanes)
        )
        same_lanes = settings.lanes in (None, int.from_bytes(lanes.stream, "big"))
        return (
            speed.str_val if same_lanes else "",
            _SAME.get(correction.str_val, correction.str_val),
            enabled.bool_val,
        )

    def _update(self, kind: int, port: int) -> Any:
        update = messages.Update(type=kind)
        update.entity.table_entry.CopyFrom(self._table.entry(self._key, port))
        return update
