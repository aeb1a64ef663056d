# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compression of a Manager's sums: names of tensors, and error feedback over steps, failures and changes of members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist

from lanesum.errors import ConfigurationError, LanesumError
from lanesum.torchft import ProcessGroup
from lanesum.torchft.gradients import Gradients
from tests.host.torchft.threads import Ranks, seconds

CODEC = "thc bits=3"
SHAPE = (64, 64)  # not flat, as DiLoCo's tensors


class Steps:
    """Stands in for a Manager: counts steps."""

    def __init__(self) -> None:
        self.step, self.participates = 0, True

    def current_step(self) -> int:
        return self.step

    def is_participating(self) -> bool:
        return self.participates


def gradients(steps: Steps, **options: Any) -> Gradients:
    given = {"codec": CODEC, "fragments": 1, "error_feedback": True, **options}
    return Gradients(cast(Any, steps), **given)


def store(one: Gradients, value: float, tensor: torch.Tensor | None = None) -> str:
    """Leave a residual of the next tensor, and return its name."""
    part = one.part(torch.zeros(4) if tensor is None else tensor)
    one._feedback.store(torch.full((4,), value), [part])
    return part.key


def kept(one: Gradients) -> dict[str, float]:
    return {key: float(tensor[0]) for key, tensor in one._feedback.state_dict().items()}


def test_residuals_count_once_step_is_committed() -> None:
    steps = Steps()
    one = gradients(steps)
    one.begin_quorum()
    assert [store(one, 1.0), store(one, 2.0)] == ["0.0", "0.1"]
    one.end_step()
    assert kept(one) == {}
    steps.step = 1
    assert store(one, 3.0) == "0.0"
    assert kept(one) == {"0.0": 1.0, "0.1": 2.0}
    one.end_step()  # this step fails, and is repeated
    assert store(one, 4.0) == "0.0"
    assert kept(one) == {"0.0": 1.0, "0.1": 2.0}
    one.end_step()
    steps.step = 2
    one.begin_quorum()
    assert kept(one) == {"0.0": 4.0, "0.1": 2.0}


def test_residuals_after_recovery_are_those_before() -> None:
    steps = Steps()
    one = gradients(steps)
    store(one, 1.0)
    one.end_step()
    steps.step = 7
    assert one.begin_quorum() is not None
    assert kept(one) == {}


def test_fragments_have_residuals_of_their_own() -> None:
    steps = Steps()
    one = gradients(steps, fragments=2)
    names = []
    for step in range(4):
        steps.step = step
        names.append(store(one, float(step)))
        one.end_step()
    steps.step = 4
    one.begin_quorum()
    assert names == ["0.0", "1.0"] * 2 and kept(one) == {"0.0": 2.0, "1.0": 3.0}


def test_spare_replica_keeps_no_residuals() -> None:
    steps = Steps()
    one = gradients(steps)
    steps.participates = False
    assert store(one, 1.0) == "spare"
    steps.step, steps.participates = 1, True
    one.end_step()
    one.part(torch.zeros(4))
    assert kept(one) == {}


def test_late_thread_of_last_quorum_changes_nothing() -> None:
    one = gradients(Steps())
    last, part = one.begin_quorum(), one.part(torch.zeros(4))
    one.begin_quorum()
    assert last is not None
    last.store(torch.ones(4), [part])
    last.settle(committed=True)
    assert kept(one) == {} and last.state_dict().keys() == {"0.0"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"codec": "unknown"}, "unknown"),
        ({"codec": "policy"}, "Codec policy keeps error feedback itself, for one quorum alone. Use thc"),
        ({"fragments": 0}, "fragments = 0: expected the number of fragments of DiLoCo, or 1"),
        ({"fragments": True}, "fragments = True"),
    ],
)
def test_invalid_compression_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(LanesumError, match=says):
        ProcessGroup().compress(cast(Any, Steps()), **options)


class Sums:
    """Threads of replicas that sum compressed vectors, with Managers that count steps."""

    def __init__(self, error_feedback: bool) -> None:
        self.steps = [Steps() for _ in range(3)]
        self.ranks = Ranks([ProcessGroup(seconds(20)) for _ in range(3)])
        for group, steps in zip(self.ranks.groups, self.steps, strict=True):
            group.compress(steps, codec=CODEC, error_feedback=error_feedback)
        self.given, self.summed = torch.zeros(SHAPE), torch.zeros(SHAPE)
        self._vectors = torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(1))

    def begin(self, members: Sequence[int]) -> None:
        self.ranks.begin(members)

    def step(self, members: Sequence[int]) -> None:
        """Sum the same vectors once more, and commit the step."""

        def add(_: int, number: int) -> torch.Tensor:
            tensor = self._vectors[number].clone()
            group = self.ranks.groups[number]
            group.allreduce([tensor], dist.ReduceOp.SUM).wait()
            assert group.errored() is None
            self.steps[number].step += 1
            return tensor

        first, *others = self.ranks.run(add, members)
        assert all(torch.equal(first, other) for other in others), "replicas drift apart"
        self.summed += first
        self.given += self._vectors[list(members)].sum(0)

    @property
    def error(self) -> float:
        """Return the squared error of the total of all sums, relative to that of one sum."""
        return float((self.summed - self.given).square().sum() / self._vectors.square().sum())


def test_error_feedback_survives_changes_of_members() -> None:
    errors = []
    for error_feedback in (True, False):
        sums = Sums(error_feedback)
        for members in ([0, 1, 2], [0, 2], [2, 1, 0]):
            sums.begin(members)
            for _ in range(8):
                sums.step(members)
        errors.append(sums.error)
        sums.ranks.close()
    assert errors[0] < errors[1] / 4, errors


def test_parameters_are_refused_where_gradients_are_compressed() -> None:
    sums = Sums(True)
    sums.begin([0, 1])
    parameter = torch.nn.Linear(3, 3).weight.clone()  # as LocalSGD passes it
    with pytest.raises(ConfigurationError, match="LocalSGD averages parameters"):
        sums.ranks.groups[0].allreduce([parameter], dist.ReduceOp.SUM)
    with pytest.raises(ConfigurationError, match="Call compress before the first step"):
        sums.ranks.groups[0].compress(cast(Any, Steps()))
    sums.ranks.close()
