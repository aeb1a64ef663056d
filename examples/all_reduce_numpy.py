# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sum NumPy arrays over the workers of a job; each worker is one process.

The job must be admitted at the controller first; examples/README.md shows the commands.
"""

from __future__ import annotations

import argparse

import numpy as np

import lanesum


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--controller", default="127.0.0.1:19551", help="host:port of the controller")
    parser.add_argument("--job", required=True, help="name of the job")
    parser.add_argument("--worker", type=int, required=True, help="number of this worker, from 0")
    parser.add_argument("--codec", default="fixed", help="name of the codec; fixed sums exactly up to float32")
    parser.add_argument("--values", type=int, default=10_000, help="number of values of each array")
    options = parser.parse_args()

    # The ticket has everything that a worker needs: addresses, slots, and a seed. It is valid for one session.
    ticket = lanesum.join(controller=options.controller, job=options.job, worker=options.worker)
    with lanesum.Session(ticket, codec=options.codec) as session:
        # Refuses workers with other codecs, before the first packet.
        lanesum.wait_for_others(ticket, options.controller, description=session.describe())

        # One all-reduce. Every worker gets the same bits.
        array = np.full(options.values, ticket.worker + 1, np.float32)
        total = session.all_reduce(array)
        print(f"worker {ticket.worker}: the sum of all workers' numbers is {total[0]:g}")

        # Several in flight: all workers submit them in the same order.
        handles = [session.all_reduce_async(array * factor, average=True) for factor in (1, 10, 100)]
        means = [float(handle.result()[0]) for handle in handles]
        print(f"worker {ticket.worker}: the means are {means[0]:g}, {means[1]:g} and {means[2]:g}")
        print(f"worker {ticket.worker}: sent {session.stats.packets_sent} packets")

        # All workers leave together, so that none leaves while another one still lacks a result.
        session.leave()


if __name__ == "__main__":
    main()
