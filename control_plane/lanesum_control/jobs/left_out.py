# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons why a switch on the paths of a job has no part in it, so that the server sums."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Self


class Cause(enum.StrEnum):
    """Kind of a reason."""

    LOST = "lost"
    DRAINED = "drained"
    NOT_CONTROLLED = "not controlled"
    REFUSED = "refused"
    FULL = "full"
    PROGRAM = "program"
    PORTS = "ports"
    OWNER = "owner"
    BITMAP = "bitmap"
    SAME_HOST = "same host"
    QUORUM = "quorum"
    BYPASSED = "bypassed"
    INCOMPLETE = "incomplete"


class Reason(str):
    """A reason in words, with its ``cause``."""

    __slots__ = ("cause",)
    cause: Cause

    def __new__(cls, cause: Cause, text: str) -> Self:
        self = super().__new__(cls, text)
        self.cause = cause
        return self


@dataclass(frozen=True, slots=True)
class Drain:
    """Decision that a switch sums for no job, or not for one job, until it is returned.

    Attributes:
        switch: name of the switch.
        job: number of the job; None for all jobs, those of the future included.
        why: reason in words.
        since: seconds since 1970.
    """

    switch: str
    job: int | None
    why: str
    since: float

    @property
    def reason(self) -> Reason:
        """Reason why the switch has no part in the job."""
        return Reason(Cause.DRAINED, f"it is drained: {self.why}")
