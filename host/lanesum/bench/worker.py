# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum.bench.worker SOCKET CONTROLLER JOB WORKER CONGESTION``: one worker of a benchmark's job."""

from __future__ import annotations

import sys

from lanesum.bench.agents import serve
from lanesum.bench.rounds import RoundsWorker
from lanesum.errors import LanesumError
from lanesum.join import join
from lanesum.transport import UdpTransport


def main(arguments: list[str]) -> int:
    path, controller, job, worker, congestion = arguments
    try:
        ticket = join(controller=controller, job=job, worker=int(worker), wait=True)
        transport = UdpTransport(ticket, congestion=congestion)
        try:
            serve(path, RoundsWorker(transport).work)
        finally:
            transport.close()
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
