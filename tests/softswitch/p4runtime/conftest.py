# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every test of this folder with ``address`` or ``client`` runs against each target."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler
from lanesum_switch.p4runtime.pipeline import PipelineManager
from lanesum_switch.p4runtime.program import ServedProgram

from .client import OK, Client, Program, Stream
from .fake_switch import FakeSwitch
from .targets import BMV2, running

TARGETS = ("fake", "embedded", BMV2)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def address(target: str) -> Iterator[str]:
    with running(target) as found:
        yield found


@pytest.fixture
def fresh(address: str) -> Iterator[Client]:
    """A client of a server that has no pipeline yet."""
    client = Client(address)
    yield client
    client.close()


@pytest.fixture(scope="session")
def everything() -> Program:
    return Program("everything")


@pytest.fixture(scope="session")
def small() -> Program:
    return Program("small")


@pytest.fixture(scope="session")
def initial() -> Program:
    return Program("initial")


@pytest.fixture
def client(fresh: Client, everything: Program) -> Client:
    """A client of a server that runs ``everything``."""
    assert fresh.push(everything.config()) == OK
    return fresh


@pytest.fixture
def primary(client: Client) -> Stream:
    """The stream of ``client``, which is primary."""
    stream = client.stream()
    stream.arbitrate(1)
    assert stream.role() == ("OK", 1)
    client.election_id = 1
    return stream


@pytest.fixture
def manager() -> PipelineManager:
    return PipelineManager(FakeSwitch(), Scheduler(), lambda message: None, lambda port, frame: None, FakeSwitch)


@pytest.fixture
def pipeline(manager: PipelineManager, everything: Program) -> ServedProgram:
    """``everything`` with groups of at most 4 members, without a server."""
    config = everything.config()
    config.p4info.action_profiles[0].max_group_size = 4
    manager.set(p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT, config)
    return manager.current
