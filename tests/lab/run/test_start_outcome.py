# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counters of killed processes are in the report."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest

from lanesum.rpc import controller as rpc
from lanesum.server.jobs import ServerStatus
from lanesum_control.servers.controlled_server import packets_as_of_a_switch
from lanesum_control.servers.remote_server import ServerError
from lanesum_lab.run.start import CounterTotals


class Processes:
    """Controller of two switches and two servers; the second server is idle."""

    def __init__(self, switches: bool = True) -> None:
        self.switches: dict[str, dict[str, int]] = {"s1": {"claim": 5}, "s2": {"claim": 1}} if switches else {}
        self.decisions, self.refused = {"claim": 2}, {"malformed": 1}
        self.events = ["first"]
        self.away = False
        self.totals = CounterTotals(self.ask, {"server": self.status, "server2": self.status2})

    def ask(self, method: str, timeout_s: float) -> dict[str, Any]:
        if self.away:
            raise rpc.UnreachableError(f"not within {timeout_s} s")
        if method == rpc.EVENTS:
            return {"events": [{"whom": "main", "what": what} for what in self.events]}
        packets: collections.Counter[str] = collections.Counter()
        for counts in self.switches.values():
            packets.update(counts)
        if not self.switches:
            packets.update(packets_as_of_a_switch(self.status()))
        server = {"decisions": self.decisions, "refused": self.refused}
        servers = {"server": server, "server2": None}
        return {"packets": dict(packets), "switches": self.switches, "servers": servers, "server": server}

    def status(self) -> ServerStatus:
        if self.away:
            raise ServerError("away")
        return ServerStatus(
            instance="1",
            address=("127.0.0.1", 1),
            durable=False,
            jobs={},
            decisions=self.decisions,
            refused=self.refused,
            broken=0,
        )

    def status2(self) -> ServerStatus:
        return dataclasses.replace(self.status(), decisions={"claim": 10}, refused={})


def test_counts_of_all_lives() -> None:
    processes = Processes()
    for process in ("s1", "server", "server2", "controller"):
        processes.totals.before_kill(process)
    processes.switches["s1"] = {"claim": 7, "replay": 1}
    processes.decisions, processes.refused = {"replay": 3}, {}
    processes.events = ["first", "second"]  # the controller's state file keeps the first
    outcome = processes.totals.outcome(1.0, {})
    assert outcome.counters == {
        "packets": {"claim": 5 + 7 + 1, "replay": 1},
        "switches": {"s1": {"claim": 12, "replay": 1}, "s2": {"claim": 1}},
        "servers": {
            "server": {"decisions": {"claim": 2, "replay": 3}, "refused": {"malformed": 1}},
            "server2": {"decisions": {"claim": 10}, "refused": {}},
        },
        "server": {"decisions": {"claim": 12, "replay": 3}, "refused": {"malformed": 1}},
    }
    assert [event["what"] for event in outcome.events] == ["first", "second"]


def test_without_switches_the_servers_counts_are_the_packets() -> None:
    processes = Processes(switches=False)
    processes.totals.before_kill("server")
    packets = processes.totals.outcome(1.0, {}).counters["packets"]
    assert (packets["claim"], packets["accept"]) == (4, 4)


def test_totals_without_answer_add_an_event() -> None:
    processes = Processes()
    processes.away = True
    processes.totals.before_kill("s1")
    processes.totals.before_kill("server")
    with pytest.raises(rpc.UnreachableError):
        processes.totals.outcome(1.0, {})
    processes.away = False
    outcome = processes.totals.outcome(1.0, {"plan": "x"})
    assert outcome.counters["server"] == {"decisions": {"claim": 2}, "refused": {"malformed": 1}}
    assert [(event["whom"], event["what"]) for event in outcome.events] == [
        ("s1", "killed; its counters could not be read"),
        ("server", "killed; its counters could not be read"),
        ("main", "first"),
    ]
    assert outcome.faults == {"plan": "x"}
