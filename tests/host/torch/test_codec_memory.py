# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memories of codecs that keep error feedback themselves, for gradients that no step takes: beside gloo, two ranks."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum import codecs
from lanesum.codecs import Codec, Policy, Rule
from lanesum.session import Session
from lanesum.transport import JobTicket
from tests.host.torch.ranks import Ranks, served_job
from tests.host.torch.test_error_feedback import (
    Batches,
    Data,
    Training,
    change_scale_and_skip,
    closures,
    discard_by_none,
    train_critic_and_generator,
    update_by_hand,
)

CASES = [
    *(("dgc", one) for one in (discard_by_none, train_critic_and_generator, change_scale_and_skip, closures)),
    *(("policy", one) for one in (update_by_hand, change_scale_and_skip)),
    ("policy of dgc", discard_by_none),
]


def build(name: str) -> Codec:
    if name == "dgc":
        return codecs.get("dgc", workers=2, density=0.1, momentum=0.0)
    inner = codecs.get("dgc", workers=2, density=0.1, momentum=0.0) if name == "policy of dgc" else "thc"
    return Policy(workers=2, rules=(Rule(inner),), lookup=False)


def differences(ticket: JobTicket, name: str, training: Training) -> tuple[float, float]:
    """Return the largest difference of lanesum's weights and gloo's that the memory does not explain; and of it."""
    torch.manual_seed(0)
    expected, model = (DistributedDataParallel(Batches(), bucket_cap_mb=0.0015) for _ in range(2))
    training(expected, Data())
    with lanesum.torch.State(Session(ticket, codec="fixed"), codec=build(name), model=model) as state:
        model.register_comm_hook(state, lanesum.torch.hook)
        training(model, Data())
        kept = state.state_dict()["state"]
        again = build(name)
        with lanesum.torch.State(state.session, codec=again, model=model) as later:
            later.load_state_dict(state.state_dict())
            assert repr(later.state_dict()["state"]) == repr(kept)
    kept = kept["codecs"]["0"] if name == "policy of dgc" else kept
    unexplained, explained = 0.0, 0.0
    for (key, own), right in zip(model.module.named_parameters(), expected.parameters(), strict=True):
        mean = kept["memory" if name == "policy" else "unsent"][key].clone()
        dist.all_reduce(mean)
        mean /= 2
        unexplained = max(unexplained, (own.detach() - right.detach() - mean).abs().max().item())
        explained = max(explained, mean.abs().max().item())
    return unexplained, explained


@pytest.mark.parametrize(("name", "training"), CASES)
def test_memory_of_gradients_without_step_is_dropped(ranks: Ranks, name: str, training: Training) -> None:
    with served_job(2, "fixed") as tickets:
        for unexplained, explained in ranks.run(differences, tickets, name, training):
            assert unexplained < 1e-4 < 1e-2 < explained
