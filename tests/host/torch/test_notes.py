# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Notes between ranks: their values, and that no rank loads a pickle of another. Two ranks over gloo."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from lanesum.errors import LanesumError
from lanesum.joining import NotReadyError
from lanesum.torch import notes
from lanesum.torch.admission import admitted_job
from lanesum.torch.hierarchy import HostError, HostGroup
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks

WAIT_S = 60.0
#: Of a rank whose awaited note is never written.
SHORT_S = 0.01


@pytest.mark.parametrize("note", [None, "layer.weight", HostError("The leader failed: no sum", "Read its log.")])
def test_note_keeps_its_value(note: notes.Note) -> None:
    copy = notes.decode(notes.encode(note).encode())
    assert type(copy) is type(note) and str(copy) == str(note)


def test_note_of_an_error_keeps_its_attributes() -> None:
    late = AggregationTimeoutError("No progress.", "Look at worker 1.", (1,))
    copy: Any = notes.decode(notes.encode(late).encode())
    assert type(copy) is AggregationTimeoutError
    assert (copy.what, copy.next_step, copy.missing) == (late.what, late.next_step, [1])


def test_note_of_unknown_error_has_base_class() -> None:
    copy = notes.decode(b'{"class": "Path", "what": "No sum.", "next_step": "Look."}')
    assert type(copy) is LanesumError and str(copy) == "No sum. Look."


def test_note_of_error_sets_only_parameters_of_class() -> None:
    note = b'{"class": "AggregationTimeoutError", "what": "Late.", "missing": [1], "exit_code": 0, "args": 3, "x": 1}'
    copy = notes.decode(note)
    assert vars(copy) == {"what": "Late.", "next_step": "", "missing": [1]}


@pytest.mark.parametrize("text", [b"3", b"[]", b"true", b"{}"])
def test_note_of_another_type_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="expected null, a string or an error"):
        notes.decode(text)


def test_note_that_is_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path / "touched").touch, ()

    with pytest.raises(ValueError):
        notes.decode(pickle.dumps(Touch()))
    assert not (tmp_path / "touched").exists()


def exchange_twice(rank: int) -> list[list[notes.Note]]:
    calls = [(None, [0, 1]), (None, [1]), (dist.new_group([0, 1]), [1, 0]), (None, [])]
    return [notes.exchange(f"{number} of {rank}", group, of, WAIT_S) for number, (group, of) in enumerate(calls)]


def test_exchange_returns_notes_of_the_named_ranks(ranks: Ranks) -> None:
    for got in ranks.run(exchange_twice, [0, 1]):
        assert got == [["0 of 0", "0 of 1"], ["1 of 1"], ["2 of 1", "2 of 0"], []]


def join_without_pickles(rank: int, variables: dict[str, str]) -> tuple[str | None, list[int]]:
    def refuse(*_: object) -> None:
        raise AssertionError("a pickle of another rank was loaded")

    variables = {**variables, "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}
    with environment(variables), pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist.distributed_c10d, "_tensor_to_object", refuse)
        return admitted_job(None, "other", "fixed", admit=True), HostGroup(None, 30.0).leaders


def test_ranks_that_join_load_no_pickles(ranks: Ranks) -> None:
    with controlled(1) as (_, variables):
        assert ranks.run(join_without_pickles, [0, 1], variables) == [("other", [0])] * 2


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except NotReadyError as error:
        return str(error)
    return "not refused"


def join_alone(rank: int) -> str:
    """Join without rank 1, which joins after rank 0 has failed."""
    group = dist.new_group([0, 1])
    if rank == 1:
        group.get_group_store().wait(["lanesum.0.3"], timedelta(seconds=WAIT_S))
    wait_s = WAIT_S if rank else SHORT_S
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lanesum.rpc.controller.call", lambda *_, **__: {})
        return refused(lambda: admitted_job("127.0.0.1:9", "other", "fixed", admit=True, group=group, wait_s=wait_s))


def test_rank_that_does_not_join_is_named_everywhere(ranks: Ranks) -> None:
    for text in ranks.run(join_alone, [0, 1]):
        assert text.startswith("No note of rank 1 within 0.01 s") and "Read its log" in text


def follow_alone(rank: int) -> str:
    with environment({"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}):
        host = HostGroup(None, WAIT_S)
    host._wait = timedelta(seconds=SHORT_S)
    return "" if host.leads else refused(host.wait_for_leader)


def test_leader_that_does_not_join_is_named(ranks: Ranks) -> None:
    _, text = ranks.run(follow_alone, [0, 1])
    assert text.startswith("No note of rank 0 within 0.02 s")


def lose_store(rank: int) -> str:
    group = dist.new_group([0, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(group), "get_group_store", lambda _: LostStore())
        return refused(lambda: notes.exchange(None, group, [0, 1], WAIT_S))


class LostStore:
    def add(self, key: str, amount: int) -> int:
        raise dist.DistNetworkError("Connection reset by peer")


def test_lost_store_raises_typed_error(ranks: Ranks) -> None:
    for text in ranks.run(lose_store, [0, 1]):
        assert text.startswith("The store of the process group does not answer: Connection reset by peer")
        assert "Read the log" in text
