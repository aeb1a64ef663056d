# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Folder in which the ranks of a machine leave their counts and their first failure for the launcher."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum import environment


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one launch."""

    path: Path

    @classmethod
    def of_environment(cls) -> RunFolder | None:
        """Return the folder of the launch of this process; None without one."""
        path = os.environ.get(environment.RUN_FOLDER)
        return None if not path else cls(Path(path))

    def write_stats(self, worker: int, stats: Mapping[str, float], job: int = 0) -> None:
        """Replace the counts of a worker of a job; a worker without counts has joined it."""
        file = self.path / f"worker-{worker}-{job}.json"
        # A run is not ended because its launcher has gone.
        with contextlib.suppress(OSError):
            file.with_suffix(".new").write_text(json.dumps(stats))
            file.with_suffix(".new").replace(file)

    def stats(self) -> dict[str, dict[str, float]]:
        """Return the counts of all workers that have joined a job, by file, without values that are no counts."""
        return {
            file.stem: {
                name: value for name, value in _read(file).items() if type(value) in (int, float) and 0 <= value < 1e300
            }
            for file in sorted(self.path.glob("worker-*.json"))
        }

    def begin_attempt(self, number: int) -> None:
        """Keep the failures of a restart of all ranks apart from earlier ones."""
        (self.path / f"attempt-{number:06}").mkdir(exist_ok=True)

    def record_failure(self, rank: int, what: str) -> None:
        """Record the failure of a rank, unless another rank of the same attempt failed earlier."""
        with contextlib.suppress(OSError), (self._attempt() / "failure.json").open("x") as file:
            json.dump({"rank": rank, "what": what}, file)

    def first_failure(self) -> dict[str, Any] | None:
        """Return ``rank`` and ``what`` of the first failure of the last attempt."""
        failure = _read(self._attempt() / "failure.json")
        return failure if failure.keys() >= {"rank", "what"} else None

    def _attempt(self) -> Path:
        return max(self.path.glob("attempt-*"), default=self.path)


def _read(file: Path) -> dict[str, Any]:
    """Return the object of a file; empty if the file is missing, or a rank was killed while it wrote."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
