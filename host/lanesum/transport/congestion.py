# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How much a worker may have under way: on the link, and in slots that it shares with other jobs.

The two are kept apart because they say different things. A full queue is this worker's own path's business: the link
window answers to it, and every worker's may differ. A slot that another job holds is the same slot for all workers of
the job, so what follows from it has to be the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lanesum.errors import ConfigurationError

_LONGEST_BYPASS = 16


class CongestionControl(Protocol):
    """The link window. Sends carry a running number, over all rounds of the session."""

    @property
    def packets(self) -> int:
        """Packets under way at most; 1 or more."""

    def result(self, sent: int, following: int, marked: bool) -> None:
        """A chunk that was first sent as number ``sent`` has its result; ``marked``: it tells of a full queue.

        ``following`` is the number of the next packet to be sent.
        """

    def loss(self, sent: int, following: int) -> None:
        """Send number ``sent`` was lost while a queue stood on its path."""

    def silence(self, following: int, under_way: int) -> None:
        """Nothing at all was heard, to several tries, with ``under_way`` packets under way."""


class Fixed:
    """Always the same window of ``packets`` packets."""

    def __init__(self, packets: int) -> None:
        self.packets = packets

    def result(self, sent: int, following: int, marked: bool) -> None:
        """Nothing changes the window."""

    def loss(self, sent: int, following: int) -> None:
        """Nothing changes the window."""

    def silence(self, following: int, under_way: int) -> None:
        """Nothing changes the window."""


class Aimd:
    """One packet more for every window of clean results, half of it when a queue is full; between 1 and ``most``.

    A queue is full when it marks, or when packets are lost while round trips tell that it stands: a wire that drops at
    random is not congested, and what is lost there changes nothing. It begins with ``most``, because the option
    ``window`` says what the path is known to hold.
    """

    def __init__(self, most: int) -> None:
        self.packets = most
        self._most = most
        self._clean = 0  # results since the window last changed
        self._reduced_at = 0  # the first number sent with the halved window

    def result(self, sent: int, following: int, marked: bool) -> None:
        """Grow, or halve: at most once per window, since results of earlier sends tell of the same queue again."""
        if marked:
            self.loss(sent, following)
            return
        self._clean += 1
        if self._clean >= self.packets:
            self._clean = 0
            self.packets = min(self._most, self.packets + 1)

    def loss(self, sent: int, following: int) -> None:
        """Halve: at most once per window, as after a mark."""
        if sent >= self._reduced_at:
            self._halve(following)

    def silence(self, following: int, under_way: int) -> None:
        """Halve, if the window was used: that one packet is lost says nothing about a window of many."""
        if 2 * under_way > self.packets:
            self._halve(following)

    def _halve(self, following: int) -> None:
        self.packets = max(1, self.packets // 2)
        self._clean = 0
        self._reduced_at = following


def congestion_control(name: str, most: int) -> CongestionControl:
    """``"aimd"`` or ``"fixed"``, with at most ``most`` packets. Raises ConfigurationError for another name."""
    if name == "aimd":
        return Aimd(most)
    if name == "fixed":
        return Fixed(most)
    raise ConfigurationError(f"There is no congestion control {name!r}.", 'Use "aimd" or "fixed".')


@dataclass(slots=True)
class _Avoided:
    """A slot whose last contribution through the switch met another job."""

    turns: int  # how long it is avoided this time
    left: int


class SlotWindow:
    """Which slots of a shared pool are worth offering to the switch.

    When the result of a slot says that another job held it, the slot's next 1, 2, 4, up to 16 turns go past the
    switches; a turn through the switch without a collision ends that. A slot's state is a function of the sequence of
    results of that slot alone, and nothing else, no clock and no loss: a slot is used again only with the result of its
    last turn, so all workers have seen the same results before they choose, and choose alike. Were it otherwise, one
    worker's contribution would go to the server and another's to the switch, and the chunk would wait for a timer.
    (After two points have made the same result workers may differ for a while. That costs time, never a sum.)
    """

    def __init__(self) -> None:
        self._avoided: dict[int, _Avoided] = {}

    def bypass(self, slot: int) -> bool:
        """The slot's next contribution goes past the switches."""
        avoided = self._avoided.get(slot)
        return avoided is not None and avoided.left > 0

    def result(self, slot: int, collided: bool) -> None:
        """The slot's turn is over."""
        avoided = self._avoided.get(slot)
        if avoided is None:
            if collided:
                self._avoided[slot] = _Avoided(1, 1)
        elif avoided.left:
            # It did not meet anybody in this turn, whatever the flag says of a contribution that went astray.
            avoided.left -= 1
        elif collided:
            turns = min(2 * avoided.turns, _LONGEST_BYPASS)
            self._avoided[slot] = _Avoided(turns, turns)
        else:
            del self._avoided[slot]
