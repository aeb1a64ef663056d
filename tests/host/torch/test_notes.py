# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Notes between ranks: their values, and that no rank loads a pickle of another. Two ranks over gloo."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from lanesum.errors import LanesumError
from lanesum.torch import notes
from lanesum.torch.admission import admitted_job
from lanesum.torch.hierarchy import HostError, HostGroup
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ranks import Ranks


@pytest.mark.parametrize("note", [None, "layer.weight", HostError("The leader failed: no sum", "Read its log.")])
def test_note_keeps_its_value(note: notes.Note) -> None:
    copy = notes.decode(notes.encode(note).encode())
    assert type(copy) is type(note) and str(copy) == str(note)


def test_note_of_an_error_keeps_its_attributes() -> None:
    late = AggregationTimeoutError("No progress.", "Look at worker 1.", (1,))
    copy: Any = notes.decode(notes.encode(late).encode())
    assert type(copy) is AggregationTimeoutError
    assert (copy.what, copy.next_step, copy.missing) == (late.what, late.next_step, [1])


def test_note_of_an_unknown_error_is_of_the_base_class() -> None:
    copy = notes.decode(b'{"class": "Path", "what": "No sum.", "next_step": "Look."}')
    assert type(copy) is LanesumError and str(copy) == "No sum. Look."


def test_note_that_is_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path / "touched").touch, ()

    with pytest.raises(ValueError):
        notes.decode(pickle.dumps(Touch()))
    assert not (tmp_path / "touched").exists()


def exchange_twice(rank: int) -> list[list[notes.Note]]:
    calls = [(None, [0, 1]), (None, [1]), (dist.new_group([0, 1]), [1, 0]), (None, [])]
    return [notes.exchange(f"{number} of {rank}", group, of) for number, (group, of) in enumerate(calls)]


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
