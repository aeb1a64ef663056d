# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between a worker and the aggregation point."""

from __future__ import annotations

from typing import Any

from lanesum.errors import LanesumError


class TransportError(LanesumError):
    """Base of the transport's errors."""


class AggregationTimeoutError(TransportError):
    """No progress until the deadline. ``missing``: workers (by number) that the aggregation point still waits for;
    empty when it never answered at all."""

    def __init__(self, what: str, next_step: str, missing: tuple[int, ...]) -> None:
        super().__init__(what, next_step)
        self.missing = missing

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.next_step, self.missing)


class SessionClosedError(TransportError):
    """The session was closed, or an earlier all-reduce failed and left its rounds out of step with the job."""
