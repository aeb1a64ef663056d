# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a worker's session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lanesum.session.observer import RoundObserver
from lanesum.transport.options import TransportOptions

NonFinite: TypeAlias = Literal["mean", "raise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions(TransportOptions):
    """Options of a session: options of its transport, and these.

    Attributes:
        busy_s: as ``deadline_s``, where only workers are missing that live, as the controller says. The default is the
            timeout of PyTorch's process groups with NCCL.
        observer: called after every round, in the calling thread.
        non_finite: reaction to a NaN, an infinity or a value beyond the codec's range in the vector of some worker:
            ``"mean"`` returns NaN on all workers, ``"raise"`` raises NotFiniteError on all of them.

    Values are checked by ``Session``.
    """

    busy_s: float = 600.0
    observer: RoundObserver | None = None
    non_finite: NonFinite = "mean"
