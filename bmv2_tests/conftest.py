# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets as fixtures. BMv2 is skipped, with the reason, where it cannot run.

Tests of what a program does not have, as its P4Info says, are left out for it; see mark ``offered``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS

from . import bmv2
from .star import Star
from .targets import TOFINO_PROFILES, ReferenceTarget, Target, embedded_target, tofino_is_built, tofino_target
from .tree import RACKS, Tree

TARGETS = ("reference", "embedded", "bmv2", *filter(tofino_is_built, TOFINO_PROFILES))

# What the program decides is tested with its first build; of the others, what differs between builds is: how words are
# parsed, widened and summed. The rest of the suite takes long for what it may find there.
OTHER_BUILDS = tuple(TOFINO_PROFILES)[1:]
SHORT_FOR_OTHER_BUILDS = ("test_lane_operations.py", "test_aggregation.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_long(item):
            item.add_marker(pytest.mark.long)


def _is_long(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return (
        callspec is not None
        and not {"running_star", "running_tree"}.isdisjoint(callspec.params)
        and not set(OTHER_BUILDS).isdisjoint(map(str, callspec.params.values()))
        and item.path.name not in SHORT_FOR_OTHER_BUILDS
    )


@contextlib.contextmanager
def open_target(name: str, accumulator_words: int) -> Iterator[Target]:
    if name == "reference":
        yield ReferenceTarget(accumulator_words)
    elif name == "embedded":
        with embedded_target(accumulator_words) as embedded:
            yield embedded
    elif name in TOFINO_PROFILES:
        with tofino_target(name) as tofino:
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


def _check_offered(request: pytest.FixtureRequest, target: Target) -> None:
    """Skip what the target's program does not have, as its P4Info says: operations that a test is parametrized with or
    marked with, and other capabilities that it is marked with."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    wanted = [op for op in [params.get("op")] if isinstance(op, LaneOp)]
    capabilities = target.control.capabilities
    for marker in request.node.iter_markers("offered"):
        for what in marker.args:
            if isinstance(what, LaneOp):
                wanted.append(what)
            elif not getattr(capabilities, what):
                pytest.skip(f"not on this pipeline: {target.name} has no {what}")
    for op in wanted:
        if op not in capabilities.ops:
            pytest.skip(f"not on this pipeline: {target.name} has no {op.name}")


@pytest.fixture
def star(request: pytest.FixtureRequest, running_star: Star) -> Iterator[Star]:
    _check_offered(request, running_star.target)
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
def tree(request: pytest.FixtureRequest, running_tree: Tree) -> Iterator[Tree]:
    _check_offered(request, running_tree.nodes[0].target)
    for _ in running_tree.scope():
        yield running_tree
