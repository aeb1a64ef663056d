# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Events of sums that move to the server and back, and what tells the programs of switches apart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lanesum_control.controller.moved_sums import MovedSums
from lanesum_control.planner.left_out import Cause, Reason
from lanesum_control.state.events import EventLog
from lanesum_control.state.store import Store
from lanesum_fabric.program.pipelines import CompiledPipeline


def test_sums_are_back_only_at_summing_switch() -> None:
    events = EventLog(Store())
    moved, jobs = MovedSums(events), {"a": SimpleNamespace(number=1)}

    def update(summing: list[str], **left_out: str) -> list[str]:
        placement = SimpleNamespace(
            assignments=[SimpleNamespace(switch=one) for one in summing],
            left_out={at: Reason(Cause.FULL, why) for at, why in left_out.items()},
        )
        plan: Any = SimpleNamespace(placements={1: placement})
        moved.update(jobs, plan, {})  # type: ignore[arg-type]
        return [event.what for event in events.latest()]

    assert update([], s0="it is full", s1="it is full") == []
    assert update(["s1"]) == ["sums of s1 are back from the server"]


def test_cookie_tells_programs_with_another_p4info_apart(tmp_path: Path) -> None:
    cookies = set()
    for number, text in enumerate(("tables {}", "actions {}", "tables {}")):
        path = tmp_path / f"{number}.p4info.txtpb"
        path.write_text(text)
        cookies.add(CompiledPipeline(64, tmp_path / "program.json", path, contents=b"program").cookie)
    assert len(cookies) == 2
