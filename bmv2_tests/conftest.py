# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets as fixtures. BMv2 is skipped, with the reason, where it cannot run; the other targets never are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS

from . import bmv2
from .star import Star
from .targets import ReferenceTarget, Target, embedded_target, tofino_is_built, tofino_target
from .tree import RACKS, Tree

TARGETS = ("reference", "embedded", "bmv2", *(("tofino",) if tofino_is_built() else ()))


@contextlib.contextmanager
def open_target(name: str, accumulator_words: int) -> Iterator[Target]:
    if name == "reference":
        yield ReferenceTarget(accumulator_words)
    elif name == "embedded":
        with embedded_target(accumulator_words) as embedded:
            yield embedded
    elif name == "tofino":
        with tofino_target() as tofino:
            yield tofino
    else:
        reason = bmv2.missing()
        if reason is not None:
            pytest.skip(reason)
        with bmv2.bmv2_target(accumulator_words) as process:
            yield process


@pytest.fixture(scope="session", params=TARGETS)
def running_star(request: pytest.FixtureRequest) -> Iterator[Star]:
    """One switch for all tests: registers keep what earlier tests left in them, as in a switch that nobody resets."""
    with open_target(request.param, DEFAULT_ACCUMULATOR_WORDS) as target:
        yield Star(target)


@pytest.fixture
def star(request: pytest.FixtureRequest, running_star: Star) -> Iterator[Star]:
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    op = params.get("op")
    if isinstance(op, LaneOp) and op not in running_star.target.ops:
        pytest.skip(f"{running_star.target.name} has no {op.name}")
    for _ in running_star.scope():
        yield running_star


@pytest.fixture(
    scope="session",
    params=[("reference", 32), ("embedded", 32), ("reference", 128), ("embedded", 128)],
    ids=lambda param: f"{param[0]}-w{param[1]}",
)
def running_other_size(request: pytest.FixtureRequest) -> Iterator[Star]:
    """The builds with other packet sizes."""
    name, accumulator_words = request.param
    with open_target(name, accumulator_words) as target:
        yield Star(target)


@pytest.fixture
def other_size(running_other_size: Star) -> Iterator[Star]:
    for _ in running_other_size.scope():
        yield running_other_size


@pytest.fixture(scope="session", params=TARGETS)
def running_tree(request: pytest.FixtureRequest) -> Iterator[Tree]:
    """Three switches of one kind."""
    with contextlib.ExitStack() as cleanup:
        names = [request.param] * (RACKS + 1)
        yield Tree([cleanup.enter_context(open_target(name, DEFAULT_ACCUMULATOR_WORDS)) for name in names])


@pytest.fixture
def tree(running_tree: Tree) -> Iterator[Tree]:
    for _ in running_tree.scope():
        yield running_tree
