# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Features of DDP with the hook and with the backend, beside gloo; the first table of docs/support.md.

Each feature is trained by plain DDP over gloo, with the hook and codec ``fixed``, and with backend ``lanesum``. The
weights must be the same but for rounding, and the gradients must have gone through lanesum.

``LANESUM_WRITE_TABLES=1`` writes the table instead of comparing it.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist
from torch import nn

import lanesum.torch
from lanesum.session import Session
from lanesum.torch.process_group import LanesumProcessGroup
from lanesum.transport import JobTicket
from lanesum_lab.markdown import markdown_table, replace_generated
from tests.host.torch.controllers import controlled, environment
from tests.host.torch.ddp_features import FEATURES, Way
from tests.host.torch.ranks import Ranks, served_job
from tests.paths import ROOT

PAGE = ROOT / "docs" / "support.md"


def compared(plain: nn.Module, other: nn.Module) -> tuple[float, str]:
    """Return the largest difference of a weight, in parts of what its type permits, and a digest of the weights."""
    worst, data = 0.0, b""
    for one, two in zip(plain.parameters(), other.parameters(), strict=True):
        if one.numel():
            limit = 2e-2 if one.dtype is torch.bfloat16 else 1e-5
            worst = max(worst, float((one - two).detach().abs().max()) / limit)
        data += two.detach().float().numpy().tobytes()
    return worst, hashlib.sha256(data).hexdigest()


def by_hook(ticket: JobTicket, name: str) -> tuple[int, float, str]:
    """Return the number of buckets, and the comparison with gloo."""
    plain = FEATURES[name].train(Way())
    with lanesum.torch.State(Session(ticket, codec="fixed")) as state:
        hooked = FEATURES[name].train(Way(state))
        return state.stats.buckets, *compared(plain, hooked)


def by_backend(rank: int, variables: dict[str, str], name: str) -> tuple[int, float, str]:
    plain = FEATURES[name].train(Way())
    with environment(variables):
        group = cast(Any, dist.new_group(backend="lanesum"))
        assert isinstance(group, LanesumProcessGroup)
        trained = FEATURES[name].train(Way(group=group))
        buckets = 0 if group.state is None else group.state.stats.buckets
        dist.destroy_process_group(group)
    return buckets, *compared(plain, trained)


def check(results: list[Any], by_gloo: bool = False) -> None:
    (buckets, worst, first), (others, other_worst, second) = results
    assert buckets == others
    assert (buckets == 0) == by_gloo
    assert max(worst, other_worst) < 1
    assert first == second


@pytest.mark.parametrize("name", FEATURES)
def test_feature_with_hook_trains_as_gloo_does(ranks: Ranks, name: str) -> None:
    with served_job(2, "fixed") as tickets:
        check(ranks.run(by_hook, tickets, name))


@pytest.mark.parametrize("name", FEATURES)
def test_feature_with_backend_trains_as_gloo_does(ranks: Ranks, name: str) -> None:
    with controlled(2) as (_, variables):
        check(ranks.run(by_backend, [0, 1], variables, name), FEATURES[name].by_gloo)


def test_table_of_page_has_every_feature() -> None:
    rows = [[name, "yes", "by gloo" if one.by_gloo else "yes", one.how] for name, one in FEATURES.items()]
    table = markdown_table(("feature", "hook", "backend", "how"), rows)
    text = replace_generated(PAGE.read_text(), "features", table)
    if os.environ.get("LANESUM_WRITE_TABLES"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "Run this test with LANESUM_WRITE_TABLES=1, which writes the table."
