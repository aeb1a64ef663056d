# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of the whole path: their processes come up, every sum is checked, and they leave nothing behind."""

from __future__ import annotations

import dataclasses
import functools
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanesum.launch.supervisor import ProcessFailedError, Supervisor
from lanesum.protocol import LaneOp
from lanesum.transport import JobTicket, TransportStats
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.fleet import KnownRounds, RoundsDone, RoundsWorker


def bench(*arguments: str) -> dict[str, Any]:
    interfaces = {name for _, name in socket.if_nameindex()}
    command = [sys.executable, "-m", "lanesum.cli", "bench", *arguments, "--quick", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr
    assert {name for _, name in socket.if_nameindex()} == interfaces
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed


def test_loss_costs_only_retransmissions() -> None:
    result = bench("faults")
    assert result["words_wrong"] == 0
    assert result["words_checked"] > 50_000
    assert {(case["op"], case["loss"]) for case in result["loss"]} == {
        ("ADD32", 0.0), ("ADD32", 0.05), ("EXPAND8", 0.0), ("EXPAND8", 0.05),
    }  # fmt: skip
    for case in result["loss"]:
        assert case["payload_mbyte_s"]["min"] > 0
        assert (case["packets_lost"] > 0) == (case["loss"] > 0)
        # A loss is repaired only by a retransmission.
        assert (case["retransmissions"] > 0) >= (case["packets_lost"] > 0)
    assert [case["ratio"]["median"] for case in result["loss"] if case["loss"] == 0] == [1.0, 1.0]


@dataclasses.dataclass
class Completed:
    """A completed round."""

    sums: NDArray[np.uint32]

    def result(self) -> NDArray[np.uint32]:
        return self.sums


class Transport:
    """Sums with one wrong bit in the second round, and an end after the third."""

    def __init__(self, ticket: JobTicket, op: LaneOp, chunks: int) -> None:
        self.ticket, self._stats = ticket, TransportStats()
        self._known = KnownRounds(op, ticket, chunks)
        self._rounds = 0

    @property
    def stats(self) -> TransportStats:
        return self._stats.copy()

    def exchange(self, op: LaneOp, words: NDArray[np.uint32]) -> Completed:
        sums = self._known.sums[self._rounds].copy()
        self._rounds += 1
        self._stats.packets_sent += 5
        sums[7] ^= self._rounds == 2
        sums[-1] = self._rounds == 3
        return Completed(sums)


@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8])
def test_wrong_word_is_counted(op: LaneOp) -> None:
    ticket = JobTicket(job=1, tag=2, worker=1, workers=3, slots=8)
    worker = object.__new__(RoundsWorker)
    worker._transport, worker._known = Transport(ticket, op, 4), {}  # type: ignore[assignment]
    done = worker.run(op, 4, seconds=3600.0)
    assert (done.wrong, len(done.times)) == (1, 3)
    assert done.words == 3 * (4 * ticket.accumulator_words - op.shape.accumulator_words_per_group)
    assert done.stats["packets_sent"] == 15


def test_known_sums_are_sums() -> None:
    tickets = [JobTicket(job=1, tag=2, worker=worker, workers=3, slots=8) for worker in range(3)]
    rounds = [KnownRounds(LaneOp.ADD32, ticket, 2) for ticket in tickets]
    for variant, words in enumerate(zip(*(one.words for one in rounds), strict=True)):
        for one in rounds:
            assert (one.sums[variant] == np.sum(words, axis=0, dtype=np.uint32)).all()
    assert not (rounds[0].sums[0] == rounds[0].sums[1]).all()


def test_rate_leaves_out_the_first_round() -> None:
    assert RoundsDone((10.0, 11.0, 13.0), words=0, wrong=0, stats={}).rate == pytest.approx(2 / 3)


def end(_text: str) -> None:
    sys.exit("it broke")


def test_failed_process_ends_the_benchmark(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        agents = Agents(supervisor, tmp_path)
        agents.start("one", "here")
        agents.make({"one": functools.partial(str, "well")})
        assert agents.ask({"one": str.upper}) == {"one": "WELL"}
        with pytest.raises((ProcessFailedError, BenchError), match="one"):
            agents.ask({"one": end})
        agents.close()


def test_process_that_never_starts_is_named(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.start("one", [sys.executable, "-c", "import sys; sys.exit('no such host')"])
        with pytest.raises(ProcessFailedError, match="no such host"):
            Agents(supervisor, tmp_path).make({"one": str})


class Closed:
    """Object that says in a file that it was closed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def close(self) -> None:
        self._path.touch()


def test_agent_closes_its_object_at_the_end(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        agents = Agents(supervisor, tmp_path)
        child = agents.start("one", "here")
        agents.make({"one": functools.partial(Closed, tmp_path / "closed")})
        agents.close()
        assert child.process.wait(60) == 0
    assert (tmp_path / "closed").exists()
