# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Openings of sessions under one tag, and a round behind each, in every order of packets, processes and restarts.

Each worker has two processes with the same ticket, one or both of which start. The network is the set of all packets
that were ever sent. The server's slot table is the code's; it is restarted at any moment. A session number is the set
of the random numbers in the opening, and a process contributes its own random number to the round behind it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from lanesum.aggregation.slots import Owner
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import OPENING
from lanesum.server.partial_sums import PartialSums
from lanesum.server.slot_table import ServerDecision, ServerEntry, ServerSlotTable
from tests.models.exhaustive import Graph, explore

WORKERS, LIVES = 2, 2
FIRST_EPOCH = 5
NEW, OPENING_SENT, REFUSED, DONE = -1, -2, -3, -4  # states of a process beside its session number
Packet = tuple[int, int, int]  # session number (0: opening), worker, words
Entry = tuple[int, int, int, int | None]  # session number, workers, words, result


class State(NamedTuple):
    """Entries of the server, packets, and processes by worker and life."""

    opening: Entry | None
    entry: Entry | None
    sent: frozenset[Packet]
    results: frozenset[tuple[int, int]]  # session number, words
    processes: tuple[int, ...]


def nonce(process: int) -> int:
    return 1 << process


def place(worker: int) -> int:
    """Return the bits of the random numbers of a worker's processes."""
    return ((1 << LIVES) - 1) << worker * LIVES


def epoch_of(session: int) -> int:
    return FIRST_EPOCH + session


@functools.cache
def handle(kept: Entry | None, packet: Packet) -> tuple[Entry | None, int | None]:
    """Return the entry after the server has handled a contribution, and the words of its answer."""
    session, worker, words = packet
    op = LaneOp.ADD32 if session else LaneOp.OR
    header = Header(op=op, epoch=epoch_of(session), words=1, spare=0 if session else OPENING)
    table = ServerSlotTable(WORKERS, WORKERS)
    if kept is not None:
        held = _entry(kept, op)
        table._entries[0, 0] = table._openings[0] = held
    decision, entry = table.contribute(header, 1 << worker, np.array([words], np.uint32), single_workers=True)
    if decision is ServerDecision.DROP_LATE:
        return kept, None
    sums = entry.partial_sums
    if decision in (ServerDecision.CLAIM_AND_COMPLETE, ServerDecision.CONTRIBUTE_AND_COMPLETE):
        entry.complete(int(sums.total()[0]).to_bytes(4, "big"))
        sums = entry.partial_sums
    result = None if entry.result is None else int.from_bytes(entry.result, "big")
    return (session, sums.workers, int(sums.total()[0]) if sums.workers else 0, result), result


def _entry(kept: Entry, op: LaneOp) -> ServerEntry:
    session, workers, words, result = kept
    sums = PartialSums(op, single_workers=True)
    if workers:
        sums.add(workers, np.array([words], np.uint32))
    entry = ServerEntry(Owner(op, 0, 0, epoch_of(session), 0, 0), sums)
    entry.result = None if result is None else result.to_bytes(4, "big")
    return entry


def deliver(state: State, packet: Packet) -> State:
    """Return the state after a contribution has arrived."""
    session = packet[0]
    after, words = handle(state.entry if session else state.opening, packet)
    results = state.results if words is None else state.results | {(session, words)}
    return state._replace(results=results, **{"entry" if session else "opening": after})


def is_own(process: int, words: int) -> bool:
    """Return True if the opening's result has a process's random number in its place."""
    return words & place(process // LIVES) == nonce(process)


def steps_of(is_own: Callable[[int, int], bool] = is_own) -> Callable[[State], Iterator[State]]:
    def steps(state: State) -> Iterator[State]:
        for packet in state.sent:
            yield deliver(state, packet)
        yield state._replace(opening=None, entry=None)  # the server restarts
        for process, at in enumerate(state.processes):
            for after, sent in moves(state, process, at):
                processes = (*state.processes[:process], after, *state.processes[process + 1 :])
                yield state._replace(processes=processes, sent=state.sent | sent)

    def moves(state: State, process: int, at: int) -> Iterator[tuple[int, set[Packet]]]:
        worker, own = process // LIVES, nonce(process)
        if at == NEW:
            yield OPENING_SENT, {(0, worker, own)}
        for session, words in state.results:
            if at == OPENING_SENT and session == 0:
                if is_own(process, words):
                    yield words, {(words, worker, own)}
                else:
                    yield REFUSED, set()
            elif at > 0 and session == at:
                assert words == at, f"process {process} of session {at:04b} gets the sum {words:04b}"
                yield DONE, set()

    return steps


def search(lives: tuple[int, ...], own: Callable[[int, int], bool] = is_own) -> Graph[State]:
    """Visit all states in which these processes may start."""
    processes = tuple(NEW if process in lives else REFUSED for process in range(WORKERS * LIVES))
    return explore(State(None, None, frozenset(), frozenset(), processes), steps_of(own))


@pytest.mark.parametrize(("lives", "sessions"), [((0, 1, 2), 2), ((0, 1, 2, 3), 4)])
def test_result_belongs_to_the_processes_of_the_opening(lives: tuple[int, ...], sessions: int) -> None:
    """They start at any moment; a server that has lost the opening opens another session."""
    graph = search(lives)
    assert len(graph.before) > 1000
    assert len({at for state in graph.before for at in state.processes if at > 0}) == sessions


@pytest.mark.parametrize("lives", [(0, 2), (1, 2)])
def test_single_session_can_always_end(lives: tuple[int, ...]) -> None:
    graph = search(lives)
    done = [state for state in graph.before if all(state.processes[one] == DONE for one in lives)]
    stuck = graph.without_way_to(lambda state: all(state.processes[one] == DONE for one in lives))
    assert done and not stuck


def test_search_finds_processes_that_do_not_compare() -> None:
    """As before there were openings: a process goes on with the session that the result names."""
    with pytest.raises(AssertionError, match="gets the sum"):
        search((0, 1, 2, 3), lambda process, words: True)
