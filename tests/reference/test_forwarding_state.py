# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of the reference switch, which leave its tables as they are."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from lanesum.protocol import LaneOp
from lanesum_fabric.errors import SwitchWriteError
from lanesum_fabric.program.switch_job import HostPort, Member, SwitchJob
from tests.reference.forwarding_state import ForwardingState

HOSTS = tuple(HostPort(port, 0x0A130000 + port, bytes([2, 0, 0, 0, 0, port])) for port in (1, 2))
JOB = SwitchJob(3, 7, 0, 8, 1, tuple(Member(worker, (host,), 4000) for worker, host in enumerate(HOSTS)), (LaneOp.OR,))


@pytest.fixture
def state() -> ForwardingState:
    made = ForwardingState()
    for host in HOSTS:
        made.add_host(host)
    made.admit(JOB)
    return made


def test_second_route_to_an_address_is_refused(state: ForwardingState) -> None:
    before = deepcopy(vars(state))
    with pytest.raises(SwitchWriteError, match="Address 0x0a130001 has a route already"):
        state.add_host(replace(HOSTS[0], port=9))
    assert vars(state) == before


def test_job_with_the_keys_of_another_is_refused(state: ForwardingState) -> None:
    before = deepcopy(vars(state))
    with pytest.raises(SwitchWriteError, match="Job 3 has a key that another job of the switch uses"):
        state.admit(replace(JOB, group=2))
    assert vars(state) == before


@pytest.mark.parametrize("changes", [{"members": JOB.members[:1]}, {"group": 2}])
def test_modification_to_other_members_is_refused(state: ForwardingState, changes: dict[str, object]) -> None:
    before = deepcopy(vars(state))
    with pytest.raises(
        SwitchWriteError, match="Cannot modify job 3: it is not admitted with these members in this group"
    ):
        state.modify(JOB, replace(JOB, **changes))  # type: ignore[arg-type]
    assert vars(state) == before
