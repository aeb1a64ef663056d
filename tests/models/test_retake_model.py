# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A chunk of a certified round at the server, in every order of packets and flips.

The network is the set of all packets that were ever sent: each may arrive at any later moment, any number of times, or
never. The server's slot table is the code's. Words are one number; the check of a worker is perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from lanesum.aggregation.slots import Owner
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import SCATTERED, Flag
from lanesum.server.partial_sums import PartialSums
from lanesum.server.slot_table import ServerDecision, ServerEntry, ServerSlotTable
from tests.models.exhaustive import Graph, explore

OP = LaneOp.ADD32
WRONG = 1 << 20
LIE = 1 << 10  # a liar's second contribution
HEADER = 0  # a header-only result instead of words
Sums = tuple[tuple[int, int], ...]
Packet = tuple[int, bool, int]  # worker, it refuses the sum, words


class State(NamedTuple):
    """The entry, packets and workers.

    Attributes:
        sums, retaken: set of workers and words of each partial sum; ``retaken`` is None before the first refusal.
        result: words of the kept result.
        sent: contributions on the network.
        results: words of the results on the network.
        accepted: words that each worker uses.
        flips: bits that may still flip.
    """

    sums: Sums
    result: int | None
    retaken: Sums | None
    sent: frozenset[Packet]
    results: frozenset[int]
    accepted: tuple[int | None, ...]
    flips: int


def _sums(held: Sums | None) -> PartialSums:
    sums = PartialSums(OP, single_workers=True)
    for workers, words in held or ():
        sums.add(workers, np.array([words], np.uint32))
    return sums


def _held(sums: PartialSums) -> Sums:
    return tuple(sorted((workers, int(words[0])) for workers, words in sums._sums.items()))


def deliver(state: State, packet: Packet, round_size: int = 0) -> State:
    """Return the state after the server has handled a contribution."""
    worker, refuses, words = packet
    workers = len(state.accepted)
    header = Header(op=OP, flags=Flag.BYPASS | (Flag.OVERFLOW if refuses else 0), words=1, racks=round_size)
    table = ServerSlotTable(workers, workers)
    if state.sums or state.result is not None:
        entry = ServerEntry(Owner(OP, 0, 0, 0, 0, round_size), _sums(state.sums))
        if state.result is not None:
            entry.result = state.result.to_bytes(4, "big")
        entry.retaken = None if state.retaken is None else _sums(state.retaken)
        table._entries[0, 0] = entry
    owner = 0 if round_size & SCATTERED else None
    decision, entry = table.contribute(
        header, 1 << worker, np.array([words], np.uint32), single_workers=True, owner=owner
    )
    if decision in (ServerDecision.CLAIM_AND_COMPLETE, ServerDecision.CONTRIBUTE_AND_COMPLETE):
        assert entry.partial_sums.workers == (1 << workers) - 1
        entry.complete(int(entry.partial_sums.total()[0]).to_bytes(4, "big"))
    result = None if entry.result is None else int.from_bytes(entry.result, "big")
    answered = result is not None and decision is not ServerDecision.REPORT_PENDING
    return state._replace(
        sums=_held(entry.partial_sums),
        result=result,
        retaken=None if entry.retaken is None else _held(entry.retaken),
        results=state.results | ({result} if answered and result is not None else set()),
    )


def steps_of(workers: int, liar: int | None, restarts: bool, round_size: int = 0) -> Callable[[State], Iterator[State]]:
    """Return the steps of a job.

    The ``liar`` also has a second contribution, and refuses as it likes. ``restarts``: the server may lose its state.
    In a scattered round the chunk is worker 0's.
    """
    own = [1 << worker for worker in range(workers)]
    right = {sum(own)} | ({sum(own) + LIE} if liar is not None else set())

    def steps(state: State) -> Iterator[State]:
        for packet in state.sent:
            yield deliver(state, packet, round_size)
        for worker, accepted in enumerate(state.accepted):
            for words in state.results if accepted is None and worker != liar else ():
                if round_size & SCATTERED and worker:
                    yield state._replace(accepted=(*state.accepted[:worker], HEADER, *state.accepted[worker + 1 :]))
                elif words in right:
                    after = (*state.accepted[:worker], words, *state.accepted[worker + 1 :])
                    used = {one for one in after if one not in (None, HEADER)}
                    assert len(used) == 1, f"workers use {used}"
                    yield state._replace(accepted=after)
                else:
                    yield state._replace(sent=state.sent | {(worker, True, own[worker])})
        if state.flips:
            yield from flips(state)
        if restarts:
            yield state._replace(sums=(), result=None, retaken=None)

    def flips(state: State) -> Iterator[State]:
        less = state._replace(flips=state.flips - 1)
        if state.result is not None:
            yield less._replace(result=state.result ^ WRONG)
        for number, (who, words) in enumerate(state.sums):
            yield less._replace(sums=(*state.sums[:number], (who, words ^ WRONG), *state.sums[number + 1 :]))
        for number, (who, words) in enumerate(state.retaken or ()):
            held = state.retaken or ()
            yield less._replace(retaken=(*held[:number], (who, words ^ WRONG), *held[number + 1 :]))
        for who, refuses, words in state.sent:
            yield deliver(less, (who, refuses, words ^ WRONG), round_size)

    return steps


def first_state(workers: int, flips: int, liar: int | None = None) -> State:
    sent: set[Packet] = {(worker, False, 1 << worker) for worker in range(workers)}
    if liar is not None:
        sent |= {(liar, refuses, (1 << liar) + lie) for refuses in (False, True) for lie in (0, LIE)}
    return State((), None, None, frozenset(sent), frozenset(), (None,) * workers, flips)


def search(
    workers: int, flips: int, liar: int | None = None, *, restarts: bool = False, round_size: int = 0
) -> Graph[State]:
    return explore(first_state(workers, flips, liar), steps_of(workers, liar, restarts, round_size))


@pytest.mark.parametrize(("workers", "flips"), [(1, 3), (2, 2), (3, 1), (3, 2)])
def test_every_state_of_retaking_ends_exact(workers: int, flips: int) -> None:
    graph = search(workers, flips)
    assert len(graph.before) > 20
    exact = (1 << workers) - 1
    assert not graph.without_way_to(lambda state: state.accepted == (exact,) * workers)


@pytest.mark.parametrize(("workers", "flips"), [(1, 3), (2, 2), (3, 1)])
def test_owner_of_a_scattered_chunk_ends_exact(workers: int, flips: int) -> None:
    """The others have the header of a sum that the owner refuses, and contribute again."""
    graph = search(workers, flips, round_size=SCATTERED)
    assert len(graph.before) > 20
    end = ((1 << workers) - 1, *[HEADER] * (workers - 1))
    assert not graph.without_way_to(lambda state: state.accepted == end)


def test_search_finds_server_that_ignores_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerEntry, "reopen", lambda *_arguments: False)
    graph = search(2, 1, round_size=SCATTERED)
    assert graph.without_way_to(lambda state: state.accepted == (3, HEADER))


def test_restarts_leave_every_used_sum_exact() -> None:
    graph = search(3, 1, restarts=True)
    assert {used for state in graph.before for used in state.accepted} == {None, 7}


def test_liar_never_makes_two_workers_differ() -> None:
    """Without a wrong bit: a worker that has refused a sum may use an earlier, right copy of it."""
    assert len(search(3, 0, liar=2).before) > 30


def test_liar_and_flip_make_workers_differ() -> None:
    """The limit that the threat model states."""
    with pytest.raises(AssertionError, match="workers use"):
        search(3, 1, liar=2)


def test_search_finds_a_server_that_never_sums_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerEntry, "retake", lambda *_arguments: False)
    stuck = search(2, 1).without_way_to(lambda state: state.accepted == (3, 3))
    assert stuck


def test_search_finds_a_server_that_one_worker_persuades(monkeypatch: pytest.MonkeyPatch) -> None:
    retake = ServerEntry.retake

    def persuaded(entry: ServerEntry, header: Header, workers: int, *others: Any) -> bool:
        held = retake(entry, header, workers, *others[:-1], 1)
        if held:
            entry.partial_sums.add(~workers & 7, np.array([7 & ~workers], np.uint32))
        return held

    monkeypatch.setattr(ServerEntry, "retake", persuaded)
    with pytest.raises(AssertionError, match="workers use"):
        search(3, 0, liar=2)
