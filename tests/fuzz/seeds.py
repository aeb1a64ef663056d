# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Write the seed inputs of the fuzzers, a folder for each: ``python seeds.py FOLDER``.

They come from sessions of the Python implementation, with and without loss. Datagrams of its workers to its server
become seeds of ``fuzz_aggregator``, and datagrams to one worker seeds of ``fuzz_rounds``. Jobs as in these two.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from lanesum._internal.udp_socket import Address
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import UDP_PORT, Flag
from lanesum.server.aggregator import Aggregator
from lanesum.server.jobs import ServerJob
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.ticket import JobTicket

WORKERS, RACKS = 4, 2
ACCUMULATOR_WORDS, ROUND_WORDS = 16, 45
SLOTS = 4
CODE_TABLE = bytes(3 * code for code in range(16))
ONE_LEVEL, TWO_LEVELS = 7, 8
# Choices of fuzz_rounds.
CHOICE_OF_LEVELS = {ONE_LEVEL: 0x00, TWO_LEVELS: 0x01}
CHOICE_OF_QUORUM, CHOICE_OF_SLOTS = 0x02, (SLOTS - 1) << 3
STEP_S = 0.0005
MAX_RECORDS = 50
LOSS = (0.0, 0.2)


def address(worker: int) -> Address:
    return f"10.0.0.{worker + 1}", UDP_PORT


def tickets(job: int, quorum: int) -> list[JobTicket]:
    places = tuple((worker // RACKS, worker % RACKS) for worker in range(WORKERS)) if job == TWO_LEVELS else ()
    return [
        JobTicket(
            job=job,
            tag=0xC0FFEE42,
            worker=worker,
            workers=WORKERS,
            slots=SLOTS,
            accumulator_words=ACCUMULATOR_WORDS,
            local=address(worker),
            code_table=CODE_TABLE,
            epoch=0xFFFFFFFE,
            quorum=quorum,
            places=places,
        )
        for worker in range(WORKERS)
    ]


def record(circumstances: int, datagram: bytes | memoryview) -> bytes:
    return bytes([circumstances]) + len(datagram).to_bytes(2, "big") + bytes(datagram)


class Exchange:
    """A session of all workers with the server, over a lossy network."""

    def __init__(self, job: int, quorum: int, loss: float, seed: int) -> None:
        self._server = Aggregator()
        self._server.admit(ServerJob.from_tickets(tickets(job, quorum)))
        self._workers = [RoundSequence(ticket) for ticket in tickets(job, quorum)]
        self._random = random.Random(seed)
        self._loss = loss
        self._now = 1000.0
        self._received_at = self._now
        self.to_server: list[bytes] = []
        self.to_worker: list[bytes] = []

    def run(self) -> None:
        """Run a round of every operation."""
        for op in LaneOp:
            words = np.arange(ROUND_WORDS, dtype=np.uint32) + np.uint32(0x01020304)
            started = [worker.start(op, words) for worker in self._workers]
            while not all(round_.complete for round_ in started):
                self._now += STEP_S
                for number, worker in enumerate(self._workers):
                    for datagram in worker.due(self._now):
                        self._send(number, bytes(datagram))
            for worker, round_ in zip(self._workers, started, strict=True):
                worker.finish(round_)

    def _send(self, worker: int, datagram: bytes) -> None:
        if self._random.random() < self._loss:
            return
        self.to_server.append(record(worker, datagram))
        for receiver, answer in self._server.handle(address(worker), datagram):
            if self._random.random() < self._loss:
                continue
            number = next(number for number in range(WORKERS) if address(number) == receiver)
            if number == 0:
                steps = round((self._now - self._received_at) / STEP_S)
                self.to_worker.append(record(min(steps, 0xFF), answer))
                self._received_at = self._now
            self._workers[number].receive(answer, self._now)


def write(folder: Path) -> None:
    """Write files of at most MAX_RECORDS datagrams each."""
    for job, levels in CHOICE_OF_LEVELS.items():
        for quorum in (0, 2):
            for seed, loss in enumerate(LOSS):
                exchange = Exchange(job, quorum, loss, seed)
                exchange.run()
                name = f"{job}-{quorum}-{seed}"
                choices = levels | CHOICE_OF_SLOTS | (CHOICE_OF_QUORUM if quorum else 0)
                _store(folder / "fuzz_rounds" / name, choices, exchange.to_worker)
                if not quorum:  # the native server does not serve jobs with one
                    _store(folder / "fuzz_aggregator" / name, 0, exchange.to_server)
                    aggregates = [
                        as_aggregate(sent) if turn % 3 else sent for turn, sent in enumerate(exchange.to_server)
                    ]
                    _store(folder / "fuzz_aggregator" / f"{name}-aggregates", 0, aggregates)


def as_aggregate(sent: bytes) -> bytes:
    """Return the aggregate that a switch would make of one contribution."""
    changed = bytearray(sent)
    changed[len(record(0, b"")) + 1] |= Flag.UPPER  # second byte of the header
    return bytes(changed)


def _store(file: Path, choices: int, records: list[bytes]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(records), MAX_RECORDS):
        part = b"".join(records[start : start + MAX_RECORDS])
        file.with_name(f"{file.name}-{start}").write_bytes(bytes([choices]) + part)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
