# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The agent without a server: requests that name no table entry, and restarts without room for two programs."""

from __future__ import annotations

import pytest

from lanesum_fabric.bfruntime import messages
from lanesum_switch.bfruntime.agent import Agent
from lanesum_switch.p4runtime.status import StatusError
from lanesum_switch.tna.switch import TofinoSwitch


@pytest.fixture
def agent() -> Agent:
    return Agent(TofinoSwitch(), spare=None)


def test_agent_refuses_entities_that_are_no_table_entries(agent: Agent) -> None:
    with pytest.raises(StatusError, match="UNIMPLEMENTED: Only table entries are supported"):
        agent.write(messages.Update())
    with pytest.raises(StatusError, match="UNIMPLEMENTED: Only table entries are supported"):
        agent.read([messages.Entity()], messages.ReadResponse())


def test_agent_without_spare_refuses_warm_restart(agent: Agent) -> None:
    with pytest.raises(StatusError, match="UNIMPLEMENTED: This switch cannot hold two programs: push in one step"):
        agent.begin(messages.ForwardingPipelineConfig())
