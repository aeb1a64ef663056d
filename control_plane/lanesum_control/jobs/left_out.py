# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons why a switch on the paths of a job has no part in it, so that the server sums."""

from __future__ import annotations

import enum
from typing import Self


class Cause(enum.StrEnum):
    """Kind of a reason."""

    LOST = "lost"
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
