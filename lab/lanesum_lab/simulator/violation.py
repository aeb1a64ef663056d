# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What must hold, and what is raised when it does not."""

from __future__ import annotations

import enum


class Invariant(enum.Enum):
    """The promises that are checked on every step."""

    EXACTNESS = "exactness"  # a result is the combination over exactly the workers that it names
    AGREEMENT = "agreement"  # all workers get the same bits
    ALIASING = "aliasing"  # nothing of an older epoch, chunk, tag or job touches a newer one
    ISOLATION = "isolation"  # who is no member, and every other job, changes nothing
    BOUNDED = "bounded"  # windows keep to the slots, and every run ends
    ONCE = "once"  # no worker takes the result of a chunk twice
    ANSWERS = "answers"  # the aggregation point answers as the protocol page says
    SENDING = "sending"  # workers send what the protocol page says
    COUNTERS = "counters"  # what is counted is what happened
    CRASH = "crash"  # nothing in the protocol's code raises


class Violation(Exception):
    """A promise that was not kept, and at what virtual time."""

    def __init__(self, invariant: Invariant, detail: str) -> None:
        super().__init__(f"{invariant.value}: {detail}")
        self.invariant = invariant
        self.detail = detail
        self.at_s = 0.0
