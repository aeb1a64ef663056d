# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of the protocol, and the exception for a violated one."""

from __future__ import annotations

import enum


class Invariant(enum.Enum):
    """Invariants that are checked in every step."""

    EXACTNESS = "exactness"  # INV-1: a result is the combination over exactly the workers that it names
    AGREEMENT = "agreement"  # INV-2: all workers get the same bits
    ALIASING = "aliasing"  # INV-3: no packet of an older epoch, chunk, tag or job touches a newer one
    ISOLATION = "isolation"  # INV-5: non-members, and all other jobs, change nothing
    BOUNDED = "bounded"  # windows respect the slots, and every run ends
    ONCE = "once"  # no worker accepts the result of a chunk twice
    ANSWERS = "answers"  # the aggregation point answers as docs/protocol.md specifies (INV-4)
    SENDING = "sending"  # workers send what docs/protocol.md specifies
    COUNTERS = "counters"  # counters equal the events
    CRASH = "crash"  # the protocol code raises no unexpected exception


class Violation(Exception):
    """A violated invariant, with the virtual time."""

    def __init__(self, invariant: Invariant, detail: str) -> None:
        super().__init__(f"{invariant.value}: {detail}")
        self.invariant = invariant
        self.detail = detail
        self.at_s = 0.0
