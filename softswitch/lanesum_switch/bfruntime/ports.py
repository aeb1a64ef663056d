# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of ports (table ``$PORT``). They are kept and read back, and change nothing in the embedded switch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import BfRuntimeTable, Description
from lanesum_fabric.bfruntime.ports import CORRECTIONS, PORTS, SPEEDS
from lanesum_fabric.tofino.chips import PIPES, PORTS_PER_PIPE
from lanesum_switch.api import AlreadyExistsError, NotFoundError
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION
from lanesum_switch.bfruntime.values import decode, fields_by_id, only_key, wanted
from lanesum_switch.p4runtime.status import UNIMPLEMENTED, StatusError, invalid

_Update = messages.Update


def port_key(port: int) -> Any:
    """Return an entry of ``$PORT`` with its key alone."""
    table = Description(DESCRIPTION).named(PORTS)
    return table.entry(table.key("$DEV_PORT"), port)


def _check_name(given: Any, what: str, known: Collection[str]) -> None:
    if given is None or given.str_val not in known:
        name = "none" if given is None else repr(given.str_val[:64])
        raise invalid(f"The {what} of a port is one of {', '.join(known)}, not {name}")


class Ports:
    """Ports that were added."""

    def __init__(self, described: BfRuntimeTable) -> None:
        self._described, self._key = described, described.key("$DEV_PORT")
        self._speed, self._correction = described.datum("$SPEED"), described.datum("$FEC")
        self._lanes, self._enabled = described.datum("$N_LANES"), described.datum("$PORT_ENABLE")
        self._by_port: dict[int, dict[int, Any]] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Handle an update. Raises StatusError, SwitchError."""
        port = decode(only_key(entry, self._described), self._key)
        if port >= PIPES * PORTS_PER_PIPE:
            raise invalid(f"There is no port {port}: ports are less than {PIPES * PORTS_PER_PIPE}")
        if kind == _Update.INSERT:
            if port in self._by_port:
                raise AlreadyExistsError(f"Port {port} is there already.")
            self._by_port[port] = self._settings(entry)
        elif kind == _Update.DELETE:
            if port not in self._by_port:
                raise NotFoundError(f"Port {port} was not added.")
            del self._by_port[port]
        else:
            raise StatusError(UNIMPLEMENTED, "Ports take INSERT and DELETE")

    def _settings(self, entry: Any) -> dict[int, Any]:
        given = fields_by_id(entry.data.fields, self._described.data, "The port")
        speed, correction = given.get(self._speed.id), given.get(self._correction.id)
        _check_name(speed, "speed", [f"BF_SPEED_{one}" for one in SPEEDS])
        _check_name(correction, "error correction", CORRECTIONS.values())
        if self._lanes.id in given:
            decode(given[self._lanes.id].stream, self._lanes)
        return given

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield one port, or all. Raises StatusError, SwitchError."""
        for port in wanted(entry, self._described, self._key, self._by_port, "port"):
            found = self._described.entry(self._key, port)
            found.data.fields.extend(self._by_port[port].values())
            yield found
