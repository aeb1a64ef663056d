# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``auto``: ``sketch``, ``union`` or dense fixed point, whichever is cheapest for each tensor."""

from __future__ import annotations

from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.plan import Method, Placement
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS


class Auto(SparseCodec):
    """Cheapest method for each tensor, by the density of its last sums; :meth:`choice` explains it.

    ``round_trip_bytes``: bandwidth-delay product of the slowest link. A sketch may send so many bytes more than
    ``union``, because it saves one round trip. ``block`` and ``placement``: see ``sketch``.
    """

    name = "auto"
    _methods = (Method.SKETCH, Method.UNION)

    def __init__(
        self,
        *,
        workers: int,
        block: int | None = None,
        placement: Placement = "best",
        round_trip_bytes: int = 1 << 16,
    ) -> None:
        if round_trip_bytes < 0:
            raise ConfigurationError(
                f"Invalid round_trip_bytes={round_trip_bytes} for codec auto: expected an integer from 0."
            )
        words = round_trip_bytes * 8 // WORD_BITS
        super().__init__(workers=workers, block=block, placement=placement, round_trip_words=words)
        self.round_trip_bytes = round_trip_bytes

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{super().describe()} round_trip_bytes={self.round_trip_bytes}"


register("auto", Auto)
