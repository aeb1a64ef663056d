# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What processes counted is in the report even when they died."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum import rpc
from lanesum.run.outcome import Lives


class Processes:
    """Answers as a controller does for two switches and a server."""

    def __init__(self, switches: bool = True) -> None:
        self.switches: dict[str, dict[str, int]] = {"s1": {"claim": 5}, "s2": {"claim": 1}} if switches else {}
        self.server: dict[str, Any] | None = {"decisions": {"claim": 2}, "refused": {"malformed": 1}}
        self.events = ["first"]
        self.away = False

    def ask(self, method: str, timeout_s: float) -> dict[str, Any]:
        if self.away:
            raise rpc.UnreachableError(f"not within {timeout_s} s")
        if method == rpc.EVENTS:
            return {"events": [{"whom": "main", "what": what} for what in self.events]}
        packets: dict[str, int] = {}
        for counts in self.switches.values() or [self.server["decisions"] if self.server else {}]:
            for name, count in counts.items():
                packets[name] = packets.get(name, 0) + count
        return {"packets": packets, "switches": self.switches, "server": self.server}


def test_counts_of_all_lives() -> None:
    processes = Processes()
    lives = Lives(processes.ask)
    for process in ("s1", "server", "controller"):
        lives.before_kill(process)
    processes.switches["s1"] = {"claim": 7, "replay": 1}
    processes.server = {"decisions": {"replay": 3}, "refused": {}}
    processes.events = ["second"]
    outcome = lives.outcome(1.0, {})
    assert outcome.counters == {
        "packets": {"claim": 5 + 7 + 1, "replay": 1},
        "switches": {"s1": {"claim": 12, "replay": 1}, "s2": {"claim": 1}},
        "server": {"decisions": {"claim": 2, "replay": 3}, "refused": {"malformed": 1}},
    }
    assert [event["what"] for event in outcome.events] == ["first", "second"]


def test_without_switches_the_servers_counts_are_the_packets() -> None:
    processes = Processes(switches=False)
    lives = Lives(processes.ask)
    lives.before_kill("server")
    assert lives.outcome(1.0, {}).counters["packets"] == {"claim": 4}


def test_nobody_to_ask() -> None:
    processes = Processes()
    lives = Lives(processes.ask)
    processes.away = True
    lives.before_kill("s1")
    with pytest.raises(rpc.UnreachableError):
        lives.outcome(1.0, {})
    processes.away, processes.server = False, None
    lives.before_kill("server")  # dead already
    outcome = lives.outcome(1.0, {"plan": "x"})
    assert outcome.counters["server"] == {"decisions": {}, "refused": {}}
    assert [event["what"] for event in outcome.events] == ["killed; nobody could say what it had counted", "first"]
    assert outcome.faults == {"plan": "x"}
