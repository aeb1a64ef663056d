# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a fault plan, from its seed and the number of a packet."""

from __future__ import annotations

import hashlib

_NUMBER_BYTES = 8


def random_key(seed: int, *parts: object) -> bytes:
    """Return the key of a rule's random numbers."""
    return hashlib.blake2b("/".join(map(str, (seed, *parts))).encode(), digest_size=32).digest()


class RandomNumbers:
    """Random numbers of one packet at one rule: four, at most."""

    def __init__(self, key: bytes, number: int) -> None:
        digest = hashlib.blake2b(number.to_bytes(_NUMBER_BYTES, "big"), key=key, digest_size=4 * _NUMBER_BYTES).digest()
        self._unused = [
            int.from_bytes(digest[at : at + _NUMBER_BYTES], "big") for at in range(0, len(digest), _NUMBER_BYTES)
        ]

    def uniform(self) -> float:
        """Return a uniform float from 0 (included) to 1 (excluded)."""
        return (self._unused.pop() >> 11) / (1 << 53)

    def below(self, limit: int) -> int:
        """Return an int from 0 to ``limit - 1``."""
        return self._unused.pop() % limit
