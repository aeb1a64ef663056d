# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Short trainings of torchft's algorithms over lanesum: the replicas end with the same bits."""

from __future__ import annotations

import pytest

from tests.host.torchft.replicas import replicas, train_ddp, train_hsdp, train_locally


def check(results: list[tuple[int, float, float, str]]) -> None:
    numbers, before, after, digests = zip(*results, strict=True)
    assert numbers == (0, 1) and len(set(digests)) == 1, "replicas end with other parameters"
    assert max(after) < 0.5 * min(before), "the training does not learn"


def test_ddp_with_a_killed_replica_ends_identical() -> None:
    with replicas(min_replicas=2) as started:
        for number in range(3):
            started.start(number, train_ddp, 40, 5 if number == 2 else -1)
        assert started.next(2)[0][0] == "dies"
        check(started.next(0, 1))


def test_hsdp_of_two_replicas_ends_identical() -> None:
    with replicas(min_replicas=2) as started:
        for number in range(2):
            started.start(number, train_hsdp, 40)
        check(started.next(0, 1))


@pytest.mark.parametrize("algorithm", ["LocalSGD", "DiLoCo"])
def test_local_training_ends_identical(algorithm: str) -> None:
    with replicas(min_replicas=2) as started:
        for number in range(2):
            started.start(number, train_locally, algorithm, 20)
        check(started.next(0, 1))
