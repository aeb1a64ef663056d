# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker's session: all-reduces of arrays and tensors over the workers of a job."""

from lanesum.session.all_reduce import AllReduce, ObservedRound, RoundObserver
from lanesum.session.session import Session
from lanesum.transport.options import SessionOptions

__all__ = ["AllReduce", "ObservedRound", "RoundObserver", "Session", "SessionOptions"]
