# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Certified sums: words of a packet that let a worker detect a wrong result (docs/certified-sums.md).

A packet of a sum gives up its last group of words for a *check word*. A worker multiplies the accumulator words of its
contribution by secret factors, and adds the products and a secret term for itself, the epoch and the chunk. Aggregation
points add check words like other words. Addition is linear, so the sum of the check words is the check word of the sum.
That also holds where the operation splits the check word into codes: their lanes, each shifted back, add up to the sum
of the check words modulo 2^32, whether or not a lane overflows.

Where no lane of a sum can overflow, its words are exact integers below 2^32, and check words are modulo a prime. The
prime is so small that the check words of all workers add up to less than 2^32. Elsewhere words wrap, and check words
are modulo 2^32 with odd factors: wrong high bits of several words may cancel.

``OR`` and ``MAX`` are not linear. Their packets carry all words twice, and one secret word of each contributor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words, expand
from lanesum.protocol.lanes import Combine, LaneOp
from lanesum.transport.membership import Bitmaps
from lanesum.transport.ticket import JobTicket

_MASK64 = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_WRAP = 1 << 32
#: Differences between powers of two and the largest primes below them: 2^32, 2^31 and so on.
PRIME_GAPS = (5, 1, 35, 3, 57, 39, 5, 39, 3, 15, 3)


def _random_bits(key: int, counter: int) -> int:
    """Return output ``counter`` of SplitMix64 (Steele, Lea and Flood, 2014) for a key of 64 bits."""
    bits = (key + (counter + 1) * _GOLDEN) & _MASK64
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK64
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK64
    return bits ^ bits >> 31


def check_modulus(op: LaneOp, workers: int) -> int:
    """Return the modulus of a sum's check words: a prime if no lane can overflow, 2^32 otherwise."""
    if workers > op.shape.max_exact_contributions:
        return _WRAP
    bits = (workers - 1).bit_length()
    return (_WRAP >> bits) - PRIME_GAPS[bits]


class Certification:
    """Check words of a job, for one of its workers.

    Args:
        ticket: ticket of a certified job.
    """

    def __init__(self, ticket: JobTicket) -> None:
        self._ticket = ticket
        key = _random_bits(ticket.seed, ticket.job << 32 | ticket.tag)
        factors, workers, self._chunks_key = (_random_bits(key, stream) for stream in range(3))
        words = range(ticket.accumulator_words)
        drawn = [_random_bits(factors, word) >> 32 for word in words]
        self._odd_factors = np.array([bits | 1 for bits in drawn], np.uint32)
        self._prime_factors = {
            modulus: np.array([bits % (modulus - 1) + 1 for bits in drawn], np.uint64)
            for modulus in {check_modulus(op, ticket.workers) for op in LaneOp} - {_WRAP}
        }
        self._secrets = [_random_bits(workers, worker) >> 32 | 1 for worker in range(ticket.workers)]
        if ticket.workers % 2 == 0:
            # The sum of all is odd, so a result of another chunk fails even if both chunks have the same words.
            self._secrets[0] = self._secrets[0] & ~1 | 2

    def uplink_packets(self, op: LaneOp, words: Words, epoch: int) -> Words:
        """Return the uplink words of whole packets.

        Args:
            op: lane operation.
            words: uplink words of data, shape ``(chunks, data words)``.
            epoch: epoch of the round.
        """
        ticket, shape = self._ticket, op.shape
        packets = np.zeros((len(words), shape.uplink_words(ticket.accumulator_words)), np.uint32)
        size = words.shape[1]
        packets[:, :size] = words
        chunk_bits = [self._chunk_bits(epoch, chunk) for chunk in range(len(words))]
        if shape.combine is Combine.ADD:
            secret, modulus = self._secrets[ticket.worker], check_modulus(op, ticket.workers)
            terms = np.array([secret * (bits >> 32) % modulus for bits in chunk_bits], np.uint64)
            packets[:, size] = (self._products(expand(op, words), modulus) + terms) % np.uint64(modulus)
        else:
            packets[:, size : 2 * size] = words
            own = ticket.accumulator_words - ticket.workers + ticket.worker
            packets[:, own] = [self._contributor_word(bits, ticket.worker) for bits in chunk_bits]
        return packets

    def is_right(self, op: LaneOp, epoch: int, chunk: int, words: Words, contributors: Bitmaps) -> bool:
        """Return True if a result passes its check.

        Args:
            op: lane operation.
            epoch: epoch of the round.
            chunk: number of the packet in the round.
            words: all accumulator words of the result.
            contributors: bitmap of the workers of every rack.
        """
        ticket, shape = self._ticket, op.shape
        size = ticket.data_words(op)
        workers = self._workers(contributors)
        bits = self._chunk_bits(epoch, chunk)
        if shape.combine is Combine.ADD:
            term = sum(self._secrets[worker] for worker in workers) * (bits >> 32)
            modulus = check_modulus(op, ticket.workers)
            shifted = (int(word) << shape.shift * index for index, word in enumerate(words[size:]))
            return (int(self._products(words[:size], modulus)) + term - sum(shifted) % _WRAP) % modulus == 0
        rest = np.zeros(words.size - 2 * size, np.uint32)
        for worker in workers:
            rest[worker - ticket.workers] = self._contributor_word(bits, worker)
        return np.array_equal(words[size : 2 * size], words[:size]) and np.array_equal(words[2 * size :], rest)

    def _products(self, words: Words, modulus: int) -> NDArray[np.uint64]:
        """Return the sum of words times factors, along the last axis."""
        size = words.shape[-1]
        if modulus == _WRAP:
            return np.asarray((words * self._odd_factors[:size]).sum(axis=-1, dtype=np.uint32), np.uint64)
        products = words * self._prime_factors[modulus][:size]
        # Sums of halves of products do not overflow.
        low, high = (products & np.uint64(_WRAP - 1)).sum(axis=-1), (products >> np.uint64(32)).sum(axis=-1)
        prime = np.uint64(modulus)
        return np.asarray((low + (high % prime << np.uint64(32)) % prime) % prime, np.uint64)

    def _chunk_bits(self, epoch: int, chunk: int) -> int:
        return _random_bits(self._chunks_key, epoch << 32 | chunk)

    def _contributor_word(self, chunk_bits: int, worker: int) -> int:
        """Return the word, never 0, that shows the contribution of a worker to a chunk."""
        return _random_bits(chunk_bits, self._secrets[worker]) >> 32 | 1

    def _workers(self, contributors: Bitmaps) -> Sequence[int]:
        """Return the numbers of the contributors."""
        ticket = self._ticket
        places = ticket.places or tuple((0, worker) for worker in range(ticket.workers))
        return [worker for worker, (rack, bit) in enumerate(places) if contributors[rack] >> bit & 1]
