# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The registry of training jobs, its data, and one training of each over two ranks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from lanesum.errors import ConfigurationError
from lanesum_lab.train import jobs, rank, source_text
from lanesum_lab.train.loop import evaluate
from lanesum_lab.train.two_shot import GROUP, TwoShot
from tests.host.torch.ranks import Ranks, served_job
from tests.lab.train.test_task_digits import write_tickets

SMALL = {"digits": 640, "bytes": 40_000, "words": 40_000, "words-sparse": 40_000}


def run_rank(arguments: list[str]) -> None:
    rank.run_rank(rank.parser().parse_args(arguments))


def train(ranks: Ranks, folder: Path, *arguments: str, codec: str | None = None) -> list[dict[str, object]]:
    """Train over two ranks, through a server if a codec is given; return the records of the ranks."""
    options = [*arguments, f"--out={folder}"]
    folder.mkdir(exist_ok=True)
    if codec is None:
        ranks.run(run_rank, [options, options])
    else:
        with served_job(2, codec) as tickets:
            options += [f"--by={codec}", f"--ticket={write_tickets(tickets, folder)}"]
            ranks.run(run_rank, [options, options])
    return [json.loads((folder / f"rank-{number}.json").read_text()) for number in range(2)]


@pytest.mark.parametrize("name", jobs.JOBS)
def test_job_data_is_deterministic_and_excludes_test_data(name: str) -> None:
    first, second = (jobs.JOBS[name].load(SMALL[name]) for _ in range(2))
    assert first.identity == second.identity
    for step in range(2):
        for one, other in zip(first.batch(step, 1, 4, 8, 3), second.batch(step, 1, 4, 8, 3), strict=True):
            assert torch.equal(one, other)
    assert not torch.equal(first.batch(0, 0, 4, 8, 3)[0], first.batch(0, 1, 4, 8, 3)[0]), "ranks have other samples"
    assert not torch.equal(first.batch(0, 0, 4, 8, 3)[0], first.batch(1, 0, 4, 8, 3)[0]), "steps have other samples"
    assert not torch.equal(first.batch(0, 0, 4, 8, 3)[0], first.batch(0, 0, 4, 8, 4)[0]), "seeds have other samples"


@pytest.mark.parametrize("name", jobs.JOBS)
def test_job_model_has_stated_size_and_fits_data(name: str) -> None:
    job = jobs.JOBS[name]
    task = job.load(SMALL[name])
    torch.manual_seed(1)  # some initial weights of digits are worse than guessing by more than half
    model = task.model()
    (stated,) = re.findall(r"([\d,]+) parameters", job.what)
    assert sum(parameter.numel() for parameter in model.parameters()) == int(stated.replace(",", ""))
    loss, accuracy = evaluate(model, task.test)
    outputs = model(task.test[0][:1]).shape[-1]
    guessing = torch.log(torch.tensor(float(outputs))).item()
    assert 0 <= accuracy <= 1 and loss < 1.5 * guessing


def test_word_models_have_ten_million_parameters() -> None:
    for name in ("words", "words-sparse"):
        model = jobs.JOBS[name].load(40_000).model()
        assert sum(parameter.numel() for parameter in model.parameters()) >= 10_000_000


def test_sequence_task_gradient_is_row_sparse() -> None:
    task = jobs.JOBS["words-sparse"].load(40_000)
    model = task.model()
    inputs, targets = task.batch(0, 0, 4, 64, 1)
    nn.functional.cross_entropy(model(inputs), targets).backward()
    assert isinstance(model, source_text.WordModel) and model.embedding.weight.grad is not None
    rows = model.embedding.weight.grad.abs().sum(dim=1)
    assert 0 < torch.count_nonzero(rows) <= 4 * 64


def test_library_text_is_split_by_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    train_files, test_files = source_text.library_files(200_000)
    assert sum(map(len, train_files)) >= 200_000 <= sum(map(len, test_files))
    assert not set(train_files) & set(test_files) - {""}
    monkeypatch.setattr(source_text.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(ConfigurationError, match="no source files"):
        source_text.library_files()


def test_unknown_job_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no training job 'word'.*digits, bytes, words"):
        jobs.find("word")


@pytest.mark.parametrize("name", jobs.JOBS)
def test_job_trains_through_lanesum_with_equal_replicas(ranks: Ranks, tmp_path: Path, name: str) -> None:
    arguments = [name, "--steps=2", "--batch=4", f"--limit={SMALL[name]}"]
    through = train(ranks, tmp_path, *arguments, codec="thc")
    assert through[0]["weights_sha256"] == through[1]["weights_sha256"]
    assert len(through[0]["losses"]) == 2 and through[0]["tests"][-1]["step"] == 2  # type: ignore[arg-type,index]
    assert through[0]["transport"]["packets_sent"] > 0  # type: ignore[index]


@pytest.mark.parametrize("by", ["gloo", "gloo-fp16", "gloo-powersgd", "two-shot-8", "two-shot-4"])
def test_peer_trains_with_equal_replicas(ranks: Ranks, tmp_path: Path, by: str) -> None:
    records = train(ranks, tmp_path, "bytes", f"--by={by}", "--steps=4", "--batch=2", "--limit=40000")
    assert records[0]["weights_sha256"] == records[1]["weights_sha256"]


def test_workers_without_communication_differ(ranks: Ranks, tmp_path: Path) -> None:
    records = train(ranks, tmp_path, "digits", "--by=alone", "--steps=2", "--batch=4", "--limit=64")
    assert records[0]["weights_sha256"] != records[1]["weights_sha256"]


@pytest.mark.parametrize(("bits", "error"), [(8, 1e-4), (4, 0.03)])
def test_two_shot_codes_are_near_the_values(bits: int, error: float) -> None:
    codes = TwoShot(bits)
    rows = torch.randn(3, 4 * GROUP, generator=torch.Generator().manual_seed(1))
    rows[1, :GROUP] = 0
    packed = codes.quantize(rows)
    assert packed.shape == (3, 4 * (GROUP * bits // 8 + 4))
    back = codes.dequantize(packed)
    assert torch.count_nonzero(back[1, :GROUP]) == 0
    assert (back - rows).square().sum() < error * rows.square().sum()


@pytest.mark.parametrize(("values", "workers"), [(1, 2), (5000, 3), (4096, 4)])
def test_two_shot_bytes_are_those_of_exchanged_rows(values: int, workers: int) -> None:
    method = TwoShot.named("two-shot-4")
    sent = method.shares(torch.ones(values), workers)
    own = method.reduced(sent[:1].expand(workers, -1))
    first, second = (len(sent) - 1) * sent.shape[1], (workers - 1) * own.shape[1]
    assert method.bytes_each_way(values, workers) == first + second
    assert method.dequantize(own).flatten()[0] == pytest.approx(1, rel=1e-5)


def test_two_shot_with_other_bits_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not 3"):
        TwoShot(3)
