# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a training, for loggers and for the PyTorch profiler."""

from __future__ import annotations

import importlib.metadata
import logging
from dataclasses import dataclass

from lanesum._internal.processors import thread_choice, transport_thread_choice
from lanesum.transport import TransportStats

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HookStats:
    """Counts of one worker since its state was made.

    Attributes:
        buckets: number of buckets averaged.
        elements: number of gradient elements in them; 4 bytes each as float32.
        busy_s: seconds in which at least one bucket was in flight: encode, send, wait, decode.
        encode_s, network_s, decode_s: the shares of the phases in it, see ``lanesum.session.all_reduce``.
        transport: packets, bytes and retransmissions.
        group_steps: number of steps that the process group averaged.
        chosen: the choice between lanesum and the process group, in words; empty without one.
        error_bound: largest NMSE that the codec has planned for a bucket, for workers whose gradients have nothing in
            common; 0 for codecs without an ``error``.
        error_estimate: mean over all elements of the NMSE relative to the decoded mean; on a GPU, of that planned.
    """

    buckets: int
    elements: int
    busy_s: float
    encode_s: float
    network_s: float
    decode_s: float
    transport: TransportStats
    group_steps: int = 0
    chosen: str = ""
    error_bound: float = 0.0
    error_estimate: float = 0.0

    @property
    def version(self) -> str:
        """Version of lanesum."""
        return importlib.metadata.version("lanesum")

    @property
    def codec_threads(self) -> str:
        """Number of threads of the codec loops, and why."""
        chosen = thread_choice()
        return f"{chosen.number} ({chosen.reason})"

    @property
    def transport_threads(self) -> str:
        """Number of threads that send and receive, at most, and why."""
        chosen = transport_thread_choice()
        return f"{chosen.number} ({chosen.reason})"

    def as_dict(self) -> dict[str, float]:
        """Return the figures that a training logs, flat and as numbers only.

        ``ratio`` is the size of the gradients as bare float32, sent and received once, over all bytes sent and received
        (UDP payloads, headers and retransmissions included); 0 before the first packet. ``chunks_by_server`` counts
        results of an aggregation server, ``chunks_by_switch`` those of a switch.
        """
        transport = self.transport
        moved = transport.bytes_sent + transport.bytes_received
        return {
            "buckets": self.buckets,
            "bytes_up": transport.bytes_sent,
            "bytes_down": transport.bytes_received,
            "bytes_fp32": 4 * self.elements,
            "ratio": 8 * self.elements / moved if moved else 0.0,
            "busy_s": self.busy_s,
            "encode_s": self.encode_s,
            "network_s": self.network_s,
            "decode_s": self.decode_s,
            "retransmissions": transport.retransmissions,
            "chunks_by_switch": transport.chunks - transport.server_results,
            "chunks_by_server": transport.server_results,
            "group_steps": self.group_steps,
            "error_bound": self.error_bound,
            "error_estimate": self.error_estimate,
            "codec_threads": thread_choice().number,
            "transport_threads": transport_thread_choice().number,
        }


def warn_unused(worker: int, job: str) -> None:
    """Log that a state has averaged nothing, and the reasons that this may have."""
    logger.warning(
        "Worker %d of job %s ends after 0 buckets: no gradient went through lanesum. Either backward() was never "
        "called, or only under no_sync(), or the hook is not registered at the wrapper that runs. PyTorch Lightning "
        "ignores ddp_comm_hook on CPU: register the hook in a callback.",
        worker,
        job,
    )
