# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Upper bound of the memory that a job needs at the aggregation server."""

from __future__ import annotations

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES
from lanesum.server.jobs import ServerJob

# Bytes of bookkeeping, rounded up: per job, per slot, per worker, per entry (two for each slot), per partial sum.
# Tests measure less.
_NATIVE = (48 << 10, 32, 512, 512, 384)
_PYTHON = (48 << 10, 32, 1024, 1024, 320)


def max_job_memory_bytes(job: ServerJob, *, native: bool | None = None) -> int:
    """Return the bytes that a job without a quorum needs at most, whatever its rounds.

    The server allocates them when slots come into use, and frees them with the job. An entry has one sum if workers
    send to the server directly. With aggregates of switches (``on_switches``) it has at most one sum for each worker,
    because sums of different paths can only be added once their sets are known to be disjoint.

    Args:
        job: a job without a quorum.
        native: bound for the native server; None selects the implementation as ``make_aggregator`` does.

    Raises:
        ConfigurationError: the job has a quorum; its kept results and journal need memory besides.
    """
    if job.has_quorum:
        raise ConfigurationError(
            f"Job {job.job} has a quorum of {job.quorum}: its memory also depends on the results that are kept."
        )
    if native is None:
        native = availability().core is not None
    per_job, per_slot, per_worker, per_entry, per_sum = _NATIVE if native else _PYTHON
    sums = len(job.members) if job.on_switches else 1
    # Python also keeps the datagram of the result.
    words = (sums + (0 if native else 1)) * job.accumulator_words * WORD_BYTES
    return per_job + len(job.members) * per_worker + job.slots * (per_slot + 2 * (per_entry + sums * per_sum + words))
