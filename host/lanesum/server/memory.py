# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory a job needs at the aggregation server at most, from its parameters."""

from __future__ import annotations

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES
from lanesum.server.jobs import ServerJob

# Bytes of bookkeeping, rounded up, compiled and in Python: of a job, of a slot, of a worker, of one of the two entries
# of a slot, and of a sum in it; the tests measure less.
_NATIVE = (48 << 10, 32, 512, 512, 384)
_PYTHON = (48 << 10, 32, 1024, 1024, 320)


def job_memory(job: ServerJob, *, native: bool | None = None) -> int:
    """Bytes at most that a job without a quorum needs at a server, whatever its rounds; they are allocated as slots
    come into use, and given back with the job.

    An entry has one sum where workers send to the server itself. Where switches do (``on_switches``), what comes by
    different ways cannot be added before it is certain that nobody is in it twice: so many sums as there are workers at
    most. ``native``: at the compiled server; as it would be chosen when None.

    Raises ConfigurationError for a job with a quorum, whose decisions are kept in a journal besides.
    """
    if job.decides:
        raise ConfigurationError(f"Job {job.job} has a quorum: what it needs also depends on its decisions.")
    if native is None:
        native = availability().core is not None
    of_job, slot, worker, entry, of_sum = _NATIVE if native else _PYTHON
    sums = len(job.members) if job.on_switches else 1
    # Beside the sums, Python keeps the datagram that it makes of them.
    words = (sums + (0 if native else 1)) * job.accumulator_words * WORD_BYTES
    return of_job + len(job.members) * worker + job.slots * (slot + 2 * (entry + sums * of_sum + words))
