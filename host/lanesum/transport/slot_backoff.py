# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Exponential back-off of slots that collide with other jobs' in a shared pool."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum.transport.constants import MAX_BYPASS_TURNS


@dataclass(slots=True)
class _Backoff:
    """A slot whose last contribution through the switch met another job.

    Attributes:
        turns: turns of this back-off.
        remaining: of them, turns still to come.
    """

    turns: int
    remaining: int


class SlotBackoff:
    """Slots of a shared pool that bypass the switches for a while.

    When the result of a slot says that another job held it, the slot's next 1, 2, 4, up to 16 turns bypass the
    switches. A turn through the switch without a collision ends that.

    A slot's state depends on the sequence of results of that slot alone: on no clock and no loss. A slot is used again
    only with the result of its last turn, so all workers have seen the same results before they choose, and choose
    alike. Otherwise one worker's contribution would go to the server and another's to the switch, and the chunk would
    wait for a timer. After two aggregation points have made the same result, workers may differ for a while. That costs
    time, never a sum.
    """

    def __init__(self) -> None:
        self._backoffs: dict[int, _Backoff] = {}

    def bypasses(self, slot: int) -> bool:
        """Return True if the slot's next contribution bypasses the switches."""
        backoff = self._backoffs.get(slot)
        return backoff is not None and backoff.remaining > 0

    def on_result(self, slot: int, collided: bool) -> None:
        """End the slot's turn; ``collided``: its result says that another job held the slot."""
        backoff = self._backoffs.get(slot)
        if backoff is None:
            if collided:
                self._backoffs[slot] = _Backoff(1, 1)
        elif backoff.remaining:
            # This turn bypassed the switch, so the flag belongs to a contribution that went astray.
            backoff.remaining -= 1
        elif collided:
            turns = min(2 * backoff.turns, MAX_BYPASS_TURNS)
            self._backoffs[slot] = _Backoff(turns, turns)
        else:
            del self._backoffs[slot]
