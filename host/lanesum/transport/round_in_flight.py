# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Handle of a round that a caller has begun."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.pieces import RoundPieces
from lanesum.transport.native_rounds import AnyRoundState, NativeRoundState
from lanesum.transport.worker_loop import Target


class RoundInFlight:
    """A round with the pieces in which its words are encoded and its result is decoded.

    Made by ``UdpTransport.begin_round``. Callers read ``encoding``, ``ready`` and ``complete``; the transport calls the
    rest.

    Attributes:
        state: the round.
    """

    def __init__(self, state: AnyRoundState, pieces: RoundPieces | None) -> None:
        self.state = state
        self._pieces = pieces

    @property
    def encoding(self) -> bool:
        """Some of its words are still to be encoded."""
        return self._pieces is not None and self._pieces.encoded < len(self._pieces)

    @property
    def complete(self) -> bool:
        """Every packet has its result, and every piece is decoded."""
        return self.state.complete and not self._decoding

    @property
    def ready(self) -> bool:
        """The result of a piece has arrived, and the piece is not decoded yet."""
        if not self._decoding:
            return False
        state, chunks = self.target
        return state.done_chunks >= chunks

    @property
    def target(self) -> Target:
        """The leading chunks that it waits for: up to the end of the next piece, or of the round."""
        if self._pieces is not None and self._decoding:
            assert isinstance(self.state, NativeRoundState)
            return self.state, self.state.chunks_of(self._pieces.needed)
        return self.state, self.state.chunks

    @property
    def _decoding(self) -> bool:
        return self._pieces is not None and self._pieces.decoded < len(self._pieces)

    def encode(self) -> None:
        """Encode the next piece, which may be sent then."""
        assert self._pieces is not None and isinstance(self.state, NativeRoundState)
        self.state.release(self._pieces.encode_next())

    def decode(self) -> None:
        """Decode the next piece."""
        assert self._pieces is not None and isinstance(self.state, NativeRoundState)
        self._pieces.decode_up_to(self._pieces.needed, self.state.arriving())

    def result(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return accumulator words and bitmaps of contributors; only when the round is complete."""
        return self.state.result(), self.state.contributors()
