# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of trainings, in one process in place of a rank."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed as dist

from lanesum.errors import ConfigurationError
from lanesum_lab.train import jobs, loop, rank, source_text, sum_check
from lanesum_lab.train.sum_check import SumCheckError


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "get_rank", lambda: 1)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)


@pytest.mark.usefixtures("second_of_two")
def test_epochs_of_text_are_refused(tmp_path: Path) -> None:
    options = rank.parser().parse_args(["bytes", "--epochs=1", "--limit=40000", f"--out={tmp_path}"])
    with pytest.raises(ConfigurationError, match=r"The data of job bytes has no epochs\. Pass --steps instead"):
        rank.run_rank(options)


def test_training_without_steps_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"steps=0, batch=8, test_every=1 and lr=0\.1 must be positive"):
        loop.TrainingSettings(steps=0, batch=8, lr=0.1, seed=1, test_every=1)


@pytest.mark.usefixtures("second_of_two")
def test_rank_with_other_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def gather(identities: list[str], own: str) -> None:
        identities[:] = ["of rank 0", own]

    monkeypatch.setattr(dist, "all_gather_object", gather)
    task: Any = SimpleNamespace(identity="of rank 1")
    with pytest.raises(ConfigurationError, match=r"Rank 1 has other training data than rank 0\. Use the same version"):
        loop._compare_data(task, 1, 2)


@pytest.mark.parametrize(
    ("name", "sizes"), [("bytes", "12 .* two samples need 66"), ("words", "6 .* two samples need 10")]
)
def test_text_of_fewer_than_two_samples_is_refused(name: str, sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_text, "library_files", lambda _limit: (["long = 1\n" * 40], ["b = 2\nc = 3\n"]))
    with pytest.raises(ConfigurationError, match=f"The text has {sizes}.*Raise --limit"):
        jobs.find(name).load(1)
    monkeypatch.setattr(source_text, "library_files", lambda _limit: (["b = 2\nc = 3\n"], ["long = 1\n" * 40]))
    task = jobs.find(name).load(1)
    with pytest.raises(ConfigurationError, match="bytes or words: two samples need"):
        task.batch(0, 0, 2, 8, 1)


def test_record_that_ends_within_round_raises() -> None:
    with pytest.raises(SumCheckError, match="The record of a round ends after 1 of 2 words"):
        sum_check._words(io.BytesIO(bytes(4)), 2)


def test_check_without_the_other_ranks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def barrier(group: object) -> None:
        raise RuntimeError("connection closed by peer")

    monkeypatch.setattr(dist, "barrier", barrier)
    check = object.__new__(sum_check.RecordedSumCheck)
    check._group = None
    with pytest.raises(SumCheckError, match="The check of sums failed: connection closed by peer"):
        check._meet()
