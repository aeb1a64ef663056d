# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of hosts in a forecast, and the costs of a reference machine."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCosts:
    """Times of one thread of a host.

    Attributes:
        source: machine and conditions, for the output.
        codec_s: seconds to encode, and to decode, a value; by codec. Others cost as much as ``thc``.
        chunk_s: seconds of a worker to send a contribution and receive its result.
        contribution_s: seconds of a server to add a contribution, and to send its part of the results.
        gloo_s, nccl_s: seconds for a byte that a peer sends and receives.
        message_s: seconds until a peer's message arrives, besides the delay of the network.
        round_s: seconds of a round of one packet, besides the delay of the network.
        gloo_link: share of a link's rate that gloo uses.
    """

    source: str
    codec_s: dict[str, tuple[float, float]]
    chunk_s: float
    contribution_s: float
    gloo_s: float
    nccl_s: float
    message_s: float = 15e-6
    round_s: float = 0.0
    gloo_link: float = 1.0

    def codec(self, name: str) -> tuple[float, float]:
        """Return the seconds to encode and to decode a value; ``name`` may have parameters."""
        return self.codec_s.get(name) or self.codec_s.get(name.split()[0], self.codec_s["thc"])


_CPU = HostCosts(
    source="reference: one thread of an Intel Xeon with AVX-512",
    codec_s={"thc": (1.74e-9, 1.09e-9)},
    chunk_s=1.16e-6,
    contribution_s=0.73e-6,
    gloo_s=0.5e-9,
    nccl_s=1.05e-9,
)
#: 4 ranks on one NVIDIA H200, 16 virtual processors of an Intel Xeon with AVX-512; docs/forecast.md has the derivation.
REFERENCE = {
    "cpu": _CPU,
    "cuda": replace(
        _CPU,
        source="reference: NVIDIA H200, one thread of an Intel Xeon with AVX-512",
        codec_s={"thc": (0.29e-9, 0.29e-9)},
    ),
}
