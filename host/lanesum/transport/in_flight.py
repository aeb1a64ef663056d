# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A round that has been started: what can be done for it now, and what it waits for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.pieces import RoundPieces
from lanesum.transport.choose import AnyWindow
from lanesum.transport.loop import Wanted
from lanesum.transport.native_rounds import NativeWindow


class RoundInFlight:
    """Made by ``UdpTransport.begin_round``, which is the only one to call anything of it but ``encoding``, ``ready``
    and ``finished``.

    Attributes:
        window: the round.
    """

    def __init__(self, window: AnyWindow, pieces: RoundPieces | None) -> None:
        self.window = window
        self._pieces = pieces

    @property
    def encoding(self) -> bool:
        """Some of its words are still to be made."""
        return self._pieces is not None and self._pieces.encoded < len(self._pieces)

    @property
    def finished(self) -> bool:
        """Every packet has its result, and every piece was used."""
        return self.window.finished and not self._decoding

    @property
    def ready(self) -> bool:
        """A piece is there that was not used yet."""
        if not self._decoding:
            return False
        window, chunks = self.wanted
        return window.done_chunks >= chunks

    @property
    def wanted(self) -> Wanted:
        """What it waits for: the end of the next piece, or of the round."""
        if self._pieces is not None and self._decoding:
            assert isinstance(self.window, NativeWindow)
            return self.window, self.window.chunks_of(self._pieces.needed)
        return self.window, self.window.chunks

    @property
    def _decoding(self) -> bool:
        return self._pieces is not None and self._pieces.decoded < len(self._pieces)

    def encode(self) -> None:
        """Make the next piece, which may be sent then."""
        assert self._pieces is not None and isinstance(self.window, NativeWindow)
        self.window.offer(self._pieces.encode_next())

    def decode(self) -> None:
        """Use the next piece."""
        assert self._pieces is not None and isinstance(self.window, NativeWindow)
        self._pieces.decode_up_to(self._pieces.needed, self.window.arriving())

    def result(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Accumulator words and bitmaps of contributors; only when the window is finished."""
        return self.window.result(), self.window.contributors()
