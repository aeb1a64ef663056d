# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Search for a session with a switch that is away, or has another primary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lanesum.errors import LanesumError
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.event_loop import event_loop, run
from lanesum_control.switches.session import SwitchSession
from lanesum_fabric.errors import ControlError

# Pauses between two attempts. The first ones are short, for a switch that is only restarted.
_SHORTEST_S, _LONGEST_S = 0.05, 0.25


class SessionSearch:
    """Search in the event loop, where an address without an answer keeps no thread.

    A session as backup is kept until its client becomes primary. Arguments as for ``Session.open``, of the class
    ``kind``; ``changed`` is called when ``take`` may have another outcome.
    """

    def __init__(
        self,
        kind: type[SwitchSession],
        address: str,
        device_id: int,
        election_id: tuple[int, int],
        changed: Callable[[], None],
    ) -> None:
        self._kind = kind
        self._who = (address, device_id, election_id)
        self._changed = changed
        self._problem: ControlError = SwitchUnreachableError(f"The switch at {address} is not connected.")
        self._found: SwitchSession | None = None
        self._task = asyncio.run_coroutine_threadsafe(self._search(), event_loop())

    def take(self) -> SwitchSession:
        """Return the session, of which the caller is the owner then. Raises the reason why there is none yet."""
        if self._found is None:
            raise self._problem.with_traceback(None)
        return self._found

    async def _search(self) -> None:
        pause_s = _SHORTEST_S
        while self._found is None:
            try:
                session = await self._kind.open(*self._who, timeout_s=0.0, changed=self._changed)
                if not session.is_primary:
                    self._report(session.not_primary())
                await self._become_primary(session)
            except LanesumError as error:
                self._report(error if isinstance(error, ControlError) else _unusable(error))
                await asyncio.sleep(pause_s)
                pause_s = min(_LONGEST_S, 1.5 * pause_s)
        self._changed()

    async def _become_primary(self, session: SwitchSession) -> None:
        try:
            if await session.promotion():
                self._found = session
        finally:
            if self._found is None:
                await session.close()

    def _report(self, problem: ControlError) -> None:
        if str(problem) != str(self._problem):
            self._problem = problem
            self._changed()

    def close(self) -> None:
        """End the search, and a session that was not taken."""
        self._task.cancel()
        if self._found is not None:
            run(self._found.close())


def _unusable(error: LanesumError) -> SwitchUnreachableError:
    return SwitchUnreachableError(error.what, error.next_step)
