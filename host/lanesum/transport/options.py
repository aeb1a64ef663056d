# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a worker's session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lanesum._internal.offload import Offload, check_offload
from lanesum.errors import ConfigurationError
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.constants import DEFAULT_DEADLINE_S
from lanesum.transport.sockets import WrapSocket

NonFinite: TypeAlias = Literal["mean", "raise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Options of a worker's session.

    Attributes:
        window: maximum number of packets in flight, also limited by the job's slots; None for these slots, or fewer if
            the kernel's socket buffers do not hold as many packets.
        congestion: congestion control below that maximum: ``"aimd"``, ``"fixed"`` or a ``CongestionControl``, which
            selects the Python implementation.
        pacing: spread the packets of a window over a round trip instead of sending them at once.
        deadline_s: longest time without progress before AggregationTimeoutError, in seconds.
        busy_s: as ``deadline_s``, where only workers are missing that live, as the controller says. The default is the
            timeout of PyTorch's process groups with NCCL.
        observer: called with an ``ObservedRound`` after every round, in the calling thread.
        non_finite: reaction to a NaN, an infinity or a value beyond the codec's range in the vector of some worker:
            ``"mean"`` returns NaN on all workers, ``"raise"`` raises NotFiniteError on all of them.
        offload: UDP GSO and GRO, with which the kernel takes many packets as one and splits them late: ``"on"``,
            ``"off"`` or ``"auto"``. With ``"auto"`` it is on where the ticket says that no software switch is on the
            path, which would have to see every packet, or where no device could have one behind it. The Python
            implementation sends packets one by one with any value.
        wrap_socket: for tests: takes each of the sockets, and returns the object to use in its place. The native
            extension uses no wrapped sockets.

    ``Session`` and ``UdpTransport`` check the values, at a time when other workers can be told.
    """

    window: int | None = None
    congestion: str | CongestionControl = "aimd"
    pacing: bool = False
    deadline_s: float = DEFAULT_DEADLINE_S
    busy_s: float = 600.0
    observer: Callable[[Any], None] | None = None
    non_finite: NonFinite = "mean"
    offload: Offload = "auto"
    wrap_socket: WrapSocket | None = None

    def check(self) -> None:
        """Raise ConfigurationError for a value of another type, or out of range."""
        for name, valid, wanted in (
            ("window", self.window is None or (isinstance(self.window, int) and self.window > 0), "a positive integer"),
            ("deadline_s", isinstance(self.deadline_s, int | float) and self.deadline_s > 0, "a positive number"),
            ("busy_s", isinstance(self.busy_s, int | float) and self.busy_s >= 0, "a number of at least 0"),
            ("pacing", self.pacing in (True, False), "True or False"),
            ("observer", self.observer is None or callable(self.observer), "a function"),
        ):
            if not valid:
                raise ConfigurationError(f"Invalid {name}={getattr(self, name)!r}: expected {wanted}.")
        check_offload(self.offload)
