# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches as the controller manages them, through outages and repairs."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence

from lanesum.errors import ConfigurationError, LanesumError
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.switches.bfruntime.connection import BfRuntimeConnection
from lanesum_control.switches.client import DEFAULT_CONNECT_TIMEOUT_S, SwitchConnection
from lanesum_control.switches.protocols import protocol_of
from lanesum_control.switches.recirculation import check_ports, recirculation_ports
from lanesum_control.switches.reconcile import differs, everything, reconcile
from lanesum_control.switches.session import DEFAULT_PRIORITY, SwitchSession, new_election_id
from lanesum_control.switches.switch import P4RuntimeSwitch
from lanesum_control.threads import event_loop, run
from lanesum_fabric.bfruntime.ports import PortSettings
from lanesum_fabric.errors import ControlError
from lanesum_fabric.program.capabilities import Capabilities, ControlledSwitch
from lanesum_fabric.program.p4info import EntryRead
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.program.switch_job import PLAIN_STATION, HostPort, Station, SwitchJob

# Pauses between two attempts. The first ones are short, for a switch that is only restarted.
_SHORTEST_S, _LONGEST_S = 0.05, 0.25


class SessionSearch:
    """Search for a session with a switch that is away, or has another primary.

    It runs in the event loop, where an address without an answer keeps no thread.

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


class ManagedSwitch:
    """A switch and its connection: here ``device`` in this process, without outages; see ``RemoteSwitch``.

    ``device`` raises SwitchUnreachableError while there is no connection. So does every other method after an outage.

    Attributes:
        altered: numbers of the jobs whose sums can be wrong by what the last ``reconcile`` repaired.
    """

    altered: frozenset[int] = frozenset()

    def __init__(self, device: ControlledSwitch) -> None:
        self._in_process = device
        self._routed: list[HostPort] = []

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""
        return self._in_process.slots

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of its program."""
        return self._in_process.capabilities

    @property
    def description(self) -> tuple[str, str]:
        """Address and program, in words."""
        return "in this process", type(self._in_process).__name__

    @property
    def has_answered(self) -> bool:
        """True if the present or last ``connect`` has a session."""
        return True

    @property
    def device(self) -> ControlledSwitch:
        """The switch itself."""
        return self._in_process

    def check_ports(self, used: Collection[int]) -> None:
        """Check that hosts and switches can be attached to these ports. Raises ConfigurationError."""

    def connect(self, timeout_s: float) -> list[str]:
        """Take control; return the repairs in words.

        Raises SwitchUnreachableError, NotPrimaryError, PipelineError.
        """
        return []

    def check(self) -> None:
        """Check that it is there, is the one that ``connect`` found, and had no other primary since.

        Raises SwitchUnreachableError, NotPrimaryError.
        """

    async def unchanged(self) -> bool:
        """Return False if ``check`` may raise an error. In the event loop, where it costs less."""
        return True

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob], *, is_settled: bool = False) -> list[str]:
        """Make it hold exactly these jobs; return the differences in words.

        ``is_settled``: it held exactly these before, so that differences are of other clients.
        """
        for host in hosts:  # no other client changes its jobs
            if host not in self._routed:
                self.device.add_host(host)
                self._routed.append(host)
        return []

    def agrees(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> bool:
        """Return True if it holds exactly these jobs. Reads only; another thread may write meanwhile."""
        return True

    def entries(self, table: str) -> list[EntryRead]:
        """Return all entries of a table, with their direct counters; a device in this process shows none."""
        return []

    def news(self) -> list[str]:
        """Return the changes that the switch has reported since the last call, in words. One thread at a time."""
        return []

    def watch(self, changed: Callable[[], None]) -> None:
        """From now on call ``changed``, from any thread, when ``check``, ``connect`` or ``news`` has another outcome.

        ``connect`` does not wait from then on.
        """

    def close(self) -> None:
        """Disconnect; its entries remain."""


class RemoteSwitch(ManagedSwitch):
    """Switch at ``address`` that runs ``pipeline``, see ``protocols``.

    ``mark_above``: the switch sets ECN on packets to a port while this many packets wait there. ``recirculation``:
    recirculation ports of a chip; None for its default ones. ``station``: its own address and the class of its answers.
    ``priority``: of two controllers the one with the higher priority has the switch. ``ports``: settings of the ports
    in use, over BF Runtime only. Raises ConfigurationError for any other port.
    """

    def __init__(
        self,
        address: str,
        pipeline: CompiledPipeline,
        mark_above: int | None = None,
        recirculation: Iterable[int] | None = None,
        station: Station = PLAIN_STATION,
        priority: int = DEFAULT_PRIORITY,
        ports: PortSettings | None = None,
    ) -> None:
        self._election_id = new_election_id(priority)
        self._kind, self.address = protocol_of(address, pipeline)
        if ports is not None and not issubclass(self._kind, BfRuntimeConnection):
            raise ConfigurationError(
                f"P4Runtime does not configure the ports of the switch at {address}.",
                "Configure them with the agent's tools, or give the address of an agent with BF Runtime.",
            )
        self._port_settings = ports
        self._ports: frozenset[int] = frozenset()  # in use
        self._recirculation = recirculation_ports(pipeline, recirculation)
        self._mark_above = mark_above
        self._station = station
        self._pipeline = pipeline
        self._connection: SwitchConnection | None = None
        self._device: P4RuntimeSwitch | None = None
        self._changed: Callable[[], None] | None = None
        self._search: SessionSearch | None = None
        self._has_answered = False
        self._agreed: object = None  # the state that the switch held at the last audit, and what it answered

    @property
    def slots(self) -> int:
        return self._pipeline.slots

    @functools.cached_property
    def capabilities(self) -> Capabilities:
        return self._pipeline.capabilities.recirculating_at(self._recirculation)

    def check_ports(self, used: Collection[int]) -> None:
        check_ports(self._pipeline, used)
        self._ports = frozenset(used)

    @property
    def description(self) -> tuple[str, str]:
        pipeline = self._pipeline
        program = f"{pipeline.json_path.name} for {pipeline.target}, {pipeline.accumulator_words} words"
        return self.address, f"{program}, build {pipeline.cookie:016x}"

    @property
    def has_answered(self) -> bool:
        return self._has_answered

    @property
    def device(self) -> P4RuntimeSwitch:
        if self._device is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        return self._device

    def connect(self, timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S) -> list[str]:
        """Connect; push the program only if the switch runs another one, so that running jobs are not disturbed.

        Packets pass through that one until ``reconcile`` has written the entries, where the protocol can do so.
        """
        self._disconnect()
        self._has_answered = False
        connection = self._kind.of(self._session(timeout_s))
        self._has_answered = True
        try:
            if connection.runs(self._pipeline):
                names, done = connection.use_names(self._pipeline), []
            else:
                names, done = connection.begin_push(self._pipeline), ["program pushed"]
            if self._port_settings is not None and isinstance(connection, BfRuntimeConnection):
                count = connection.set_ports(self._ports, self._port_settings)
                done += [f"{count} ports configured"] if count else []
        except BaseException:
            connection.close()
            raise
        self._connection, self._device = (
            connection,
            P4RuntimeSwitch(connection, names, self._recirculation, self._station),
        )
        return done

    def _session(self, timeout_s: float) -> SwitchSession:
        """Return a new session. Raises ControlError."""
        kind = self._kind.SESSION
        who = (self.address, kind.DEVICE_ID, self._election_id)
        if self._changed is None:
            return run(kind.open(*who, timeout_s=timeout_s, changed=self._tell))
        if self._search is None:
            self._search = SessionSearch(kind, *who, self._tell)
        session, self._search = self._search.take(), None
        return session

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed()

    def check(self) -> None:
        connection = self._connection  # another thread may disconnect meanwhile
        if connection is None:
            raise SwitchUnreachableError(f"The switch at {self.address} is not connected.", "Start it.")
        connection.check_primary()
        if not connection.runs(self._pipeline):
            raise SwitchUnreachableError(f"The switch at {self.address} has restarted without its program.")

    async def unchanged(self) -> bool:
        connection = self._connection
        return connection is not None and await connection.unchanged()

    def reconcile(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob], *, is_settled: bool = False) -> list[str]:
        device = self.device
        done = reconcile(device, hosts, jobs, self._mark_above, is_settled=is_settled)
        device.connection.end_push()
        self.altered = done.altered
        return done.words

    def agrees(self, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob]) -> bool:
        """Compare the answers of the switch with those of the last audit, and their contents only if they differ."""
        device = self.device
        answers = device.connection.read_answers(everything(device))
        now = (list(hosts), list(jobs), hashlib.sha256(b"".join(answers)).digest())
        if now != self._agreed and not differs(device, hosts, jobs, self._mark_above, answers):
            self._agreed = now
        return now == self._agreed

    def entries(self, table: str) -> list[EntryRead]:
        return self.device.entries(table)

    def news(self) -> list[str]:
        connection = self._connection
        return [] if connection is None else connection.news()

    def close(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            search.close()
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection, self._device = self._connection, None, None
        if connection is not None:
            connection.close()
