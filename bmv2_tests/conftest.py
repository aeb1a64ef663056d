# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures: every target in two topologies. A target that cannot run on this machine is skipped, with the reason.

A test that needs something which a program does not offer, by its P4Info, is skipped for it; see mark ``offered``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from lanesum.protocol import LaneOp
from lanesum_fabric.tofino.chips import PROFILES
from lanesum_switch.tna.switch import TofinoSwitch

from .chip_model import MODEL_PROFILES
from .star import Star
from .target import Target
from .targets import RECORDS, REFERENCE, TARGETS, open_target
from .tree import RACKS, Tree

# The first profile of Tofino's program runs the whole suite in `make test`. The others differ from it only in how they
# parse, widen and sum words, and are long; one with several passes runs the tests of passes, too. On the chip's model
# a packet takes about 10 ms.
_OTHER_PROFILES = [name for name, record in RECORDS.items() if record.device is TofinoSwitch][1:]
_SEVERAL_PASSES = next(profile.name for profile in PROFILES if profile.passes > 1)
_ABOUT_PASSES = ("test_passes.py", "test_pipe_recirculation.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        values = {*map(str, params.values())}
        if not values.isdisjoint(MODEL_PROFILES):
            item.add_marker(pytest.mark.long)
            # The first test of a profile compiles it, which takes minutes; the model has a limit of its own.
            item.add_marker(pytest.mark.timeout(0))
        elif not values.isdisjoint(_OTHER_PROFILES) and not (
            _SEVERAL_PASSES in values and item.path.name in _ABOUT_PASSES
        ):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", params=TARGETS)
def running_star(request: pytest.FixtureRequest) -> Iterator[Star]:
    """One switch for all tests. Its registers keep the state of earlier tests, because a switch never clears them."""
    with open_target(request.param) as target:
        yield Star(target)


def _check_offered(request: pytest.FixtureRequest, target: Target) -> None:
    """Skip a test that needs a lane operation or capability which the target's program does not offer."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    wanted = [op for op in [params.get("op")] if isinstance(op, LaneOp)]
    capabilities = target.control.capabilities
    for marker in request.node.iter_markers("offered"):
        for what in marker.args:
            if isinstance(what, LaneOp):
                wanted.append(what)
            elif not getattr(capabilities, what):
                pytest.skip(f"the program of {target.name} does not offer {what}")
    for op in wanted:
        if op not in capabilities.ops:
            pytest.skip(f"the program of {target.name} does not offer {op.name}")


@pytest.fixture
def star(request: pytest.FixtureRequest, running_star: Star) -> Iterator[Star]:
    _check_offered(request, running_star.target)
    for _ in running_star.scope():
        yield running_star


@pytest.fixture(
    scope="session",
    params=[(name, accumulator_words) for accumulator_words in (32, 128) for name in (REFERENCE, "embedded", "bmv2")],
    ids=lambda param: f"{param[0]}-w{param[1]}",
)
def running_other_size(request: pytest.FixtureRequest) -> Iterator[Star]:
    """The builds of BMv2's program for other packet sizes."""
    with open_target(*request.param) as target:
        yield Star(target)


@pytest.fixture
def other_size(running_other_size: Star) -> Iterator[Star]:
    for _ in running_other_size.scope():
        yield running_other_size


@pytest.fixture(scope="session", params=TARGETS)
def running_tree(request: pytest.FixtureRequest) -> Iterator[Tree]:
    """Three switches of one target."""
    with contextlib.ExitStack() as cleanup:
        yield Tree([cleanup.enter_context(open_target(request.param)) for _ in range(RACKS + 1)])


@pytest.fixture
def tree(request: pytest.FixtureRequest, running_tree: Tree) -> Iterator[Tree]:
    _check_offered(request, running_tree.nodes[0].target)
    for _ in running_tree.scope():
        yield running_tree
