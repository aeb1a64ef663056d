# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps for expired entries, without their timer."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.entities import write_entity
from lanesum_switch.p4runtime.other_programs import scheduler
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler
from lanesum_switch.p4runtime.pipeline import PipelineManager

from ..client import INSERT, Program, exact
from ..fake_switch import FakeSwitch

HOUR_NS = 3_600_000_000_000


def test_expired_entry_is_reported_at_every_second_sweep(everything: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    manager = PipelineManager(FakeSwitch(), Scheduler(), sent.append, lambda port, frame: None, FakeSwitch)
    manager.set(p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT, everything.config())
    match = [exact(1, b"\x01"), exact(2, b"\x01")]
    entity = everything.entry("exact_table", match, everything.action("nothing"), idle_timeout_ns=HOUR_NS)
    write_entity(manager.current, INSERT, entity)
    monitor, inserted_ns = manager.current.idle, scheduler.time.monotonic_ns()
    for now_ns, expected in ((inserted_ns, [0, 0]), (inserted_ns + HOUR_NS, [1, 1, 2, 2])):
        monkeypatch.setattr(
            scheduler, "time", SimpleNamespace(monotonic=time.monotonic, monotonic_ns=lambda now_ns=now_ns: now_ns)
        )
        counts = []
        for _ in expected:
            monitor.sweep()
            counts.append(len(sent))
        assert counts == expected
