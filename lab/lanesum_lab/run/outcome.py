# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counters and events of a run, also of processes that were killed during it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanesum.rpc import controller as rpc
from lanesum.server.jobs import ServerStatus
from lanesum_control.servers.controlled_server import packets_as_of_a_switch
from lanesum_control.servers.remote_server import ServerError
from lanesum_switch.faults.topology_names import CONTROLLER

FINAL_STATUS_TIMEOUT_S = 2.0  # a kill waits for no longer


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Counters and events of the processes of a run.

    Attributes:
        counters: in the form of the controller's answer to COUNTERS, summed over all restarts of every process:
            ``packets`` by decision at all switches together, ``switches`` at each of them, ``servers`` with
            ``decisions`` and ``refused`` of each, ``server`` with those of all together.
        events: events of the controller, oldest first.
        faults: rules with their counts, and faults of processes; empty without a fault plan.
    """

    counters: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, Any] = field(default_factory=dict)


class CounterTotals:
    """Sum of the counters of all processes, including those that are lost when a process is killed.

    Args:
        ask: calls a method of the controller, with a time limit in seconds. May raise ControllerError.
        servers: by the name of each server, a function that returns its status. May raise ServerError. Works without
            a controller.
    """

    def __init__(
        self, ask: Callable[[str, float], dict[str, Any]], servers: Mapping[str, Callable[[], ServerStatus]]
    ) -> None:
        self._ask = ask
        self._server_status = servers
        self._packets: collections.Counter[str] = collections.Counter()
        self._switches: dict[str, collections.Counter[str]] = {}
        self._servers: dict[str, dict[str, collections.Counter[str]]] = {
            name: {"decisions": collections.Counter(), "refused": collections.Counter()} for name in servers
        }
        self._server_before: collections.Counter[str] = collections.Counter()
        self._events: list[dict[str, Any]] = []

    def before_kill(self, process: str) -> None:
        """Read the counters of a process that is about to be killed; add an event if it does not answer."""
        try:
            if process == CONTROLLER:
                return  # its events are in its state file
            if process in self._servers:
                status = self._server_status[process]()
                self._servers[process]["decisions"].update(status.decisions)
                self._servers[process]["refused"].update(status.refused)
                self._server_before.update(packets_as_of_a_switch(status))
            else:
                counted = self._ask(rpc.COUNTERS, FINAL_STATUS_TIMEOUT_S)["switches"].get(process, {})
                self._switches.setdefault(process, collections.Counter()).update(counted)
                self._packets.update(counted)
        except (rpc.ControllerError, ServerError):
            self._events.append({"whom": process, "what": "killed; its counters could not be read"})

    def outcome(self, timeout_s: float, faults: dict[str, Any]) -> RunOutcome:
        """Return the totals, including the counters of the running processes. Raises ControllerError."""
        counters = self._ask(rpc.COUNTERS, timeout_s)
        if not counters["switches"]:
            self._packets.update(self._server_before)
        self._packets.update(counters["packets"])
        for name, counted in counters["switches"].items():
            self._switches.setdefault(name, collections.Counter()).update(counted)
        together: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for name, server in self._servers.items():
            for kind, counted in server.items():
                counted.update((counters["servers"].get(name) or {}).get(kind, {}))
                together[kind].update(counted)
        total = {
            "packets": dict(self._packets),
            "switches": {name: dict(counted) for name, counted in self._switches.items()},
            "servers": {
                name: {kind: dict(counted) for kind, counted in server.items()}
                for name, server in self._servers.items()
            },
            "server": {kind: dict(counted) for kind, counted in together.items()},
        }
        return RunOutcome(total, self._events + self._ask(rpc.EVENTS, timeout_s)["events"], faults)
