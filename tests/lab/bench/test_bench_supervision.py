# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the supervision, with a controller, a server and fake switches as processes."""

from __future__ import annotations

import dataclasses

from lanesum_lab.bench import supervision


def test_every_damage_with_an_event_is_repaired() -> None:
    result = supervision.run(dataclasses.replace(supervision.QUICK, switches=(2,), limit_s=200.0, damages=_FAST))
    assert [one["whole"] for one in result["repairs"]] == [True] * len(_FAST)
    (cpu,) = result["cpu"]
    assert 0 <= cpu["percent"] < 100
    assert len(list(supervision.cpu_rows(result))) == 1
    assert len(list(supervision.repair_rows(result))) == len(_FAST)


_FAST = tuple(kind for kind in supervision.DAMAGES if kind != "entry deleted with the same election id")
