# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of a training on rank 0: a bar on a terminal, one line per test otherwise.

The runner can request a file with the number of completed steps.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

ENV_STEP_FILE = "LANESUM_STEP_FILE"


class StepFile:
    """File with the number of completed steps of the training through lanesum, for the runner of a fault plan."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        self._steps = 0
        self._write()

    def step(self) -> None:
        """Count a completed step."""
        self._steps += 1
        self._write()

    def _write(self) -> None:
        # Numbers never get shorter, so each write replaces the previous one.
        os.pwrite(self._descriptor, str(self._steps).encode(), 0)

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @staticmethod
    def read(path: Path) -> int | None:
        """Return the number of completed steps; None before the training begins."""
        try:
            return int(path.read_text() or 0)
        except FileNotFoundError:
            return None


class TrainingProgress:
    """Progress of one training on standard error. Use as a context manager.

    With ``counted`` rank 0 also writes its steps to the file that LANESUM_STEP_FILE names.
    """

    def __init__(self, title: str, steps: int, *, rank: int, counted: bool = False) -> None:
        self._title = title
        self._bar: Progress | None = None
        self._lines = rank == 0 and not sys.stderr.isatty()
        if rank == 0 and sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("loss {task.fields[loss]}  accuracy {task.fields[accuracy]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(title, total=steps, loss="-", accuracy="-")
        path = os.environ.get(ENV_STEP_FILE)
        self._file = StepFile(Path(path)) if counted and rank == 0 and path else None

    def step(self, loss: float) -> None:
        """Report a completed step with the loss of this rank's batch."""
        if self._file is not None:
            self._file.step()
        if self._bar is not None:
            self._bar.update(self._task, advance=1, loss=f"{loss:.3f}")

    def tested(self, step: int, steps: int, loss: float, test_loss: float, accuracy: float) -> None:
        """Report a test after ``step`` steps.

        ``loss`` is that of training since the test before; ``accuracy`` is from 0 to 1.
        """
        if self._bar is not None:
            self._bar.update(self._task, accuracy=f"{accuracy:.1%}")
        elif self._lines:
            losses = f"loss {loss:.3f}, test loss {test_loss:.3f}, accuracy {accuracy:.1%}"
            print(f"{self._title}: step {step}/{steps}, {losses}", file=sys.stderr, flush=True)

    def __enter__(self) -> TrainingProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self._bar is not None:
            self._bar.stop()
