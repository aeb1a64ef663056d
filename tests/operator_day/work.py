# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process with both workers of some jobs: ``python -m tests.operator_day.work LOG CONTROLLERS PAUSE_S JOB ...``.

It appends a line to LOG for each round and session of worker 0 of a job: seconds of the monotonic clock, job, what.
SIGTERM ends it after a round of each job.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from lanesum.cli.signals import wait_for_signal
from lanesum.errors import LanesumError
from lanesum.joining import join
from lanesum.session import Session

SIZE, BOUND = 300, 1000
RETRY_S = 0.5
ROUND, WRONG, SESSION = "round", "wrong", "session"


class Workers:
    """Workers of jobs, in a thread each, with pauses between rounds. A session that fails is begun again.

    The vectors have integers, so a contribution that is missing, old or counted twice changes a sum by 1 or more.
    """

    def __init__(self, log: Path, controllers: str, pause_s: float, jobs: list[str]) -> None:
        self._log = log.open("a", buffering=1)
        self._controllers, self._pause_s = controllers, pause_s
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(job, one)) for job in jobs for one in (0, 1)]

    def run(self) -> None:
        """Work until SIGTERM."""
        for thread in self._threads:
            thread.start()
        wait_for_signal()
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, job: str, worker: int) -> None:
        is_over = False
        while not is_over:
            try:
                ticket = join(controller=self._controllers, job=job, worker=worker, wait=True, take_over=True)
                with Session(ticket, codec="fixed") as session:
                    if worker == 0:
                        self._note(job, SESSION)
                    is_over = self._rounds(session, job)
            except LanesumError as error:
                self._note(job, f"error {' '.join(str(error).split())}")
                is_over = self._stopping.is_set()
                time.sleep(RETRY_S)

    def _rounds(self, session: Session, job: str) -> bool:
        """Run rounds until one of both workers has to stop; return True then."""
        ticket, number, is_over = session.ticket, 0, False
        while not is_over:
            # The tag is that of an incarnation: no sum of an earlier one is right.
            vectors = [
                np.random.default_rng((ticket.tag, worker, number)).integers(-BOUND, BOUND, SIZE).astype(np.float32)
                for worker in (0, 1)
            ]
            mine = np.append(vectors[ticket.worker], np.float32(self._stopping.is_set()))
            total = session.all_reduce(mine)
            is_over = bool(total[-1] > 0.5)
            is_right = bool(np.array_equal(np.rint(total[:-1]), vectors[0] + vectors[1]))
            if ticket.worker == 0 or not is_right:
                self._note(job, ROUND if is_right else WRONG)
            number += 1
            if not is_over:
                time.sleep(self._pause_s)
        return is_over

    def _note(self, job: str, what: str) -> None:
        with self._lock:
            self._log.write(f"{time.monotonic():.3f} {job} {what}\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
    Workers(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:]).run()
