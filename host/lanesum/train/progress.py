# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How far a training is: a bar on a terminal, one line per epoch anywhere else, nothing on other ranks than 0."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class TrainingProgress:
    """Reports one training of ``steps`` steps on standard error. Use as a context manager."""

    def __init__(self, title: str, steps: int, *, rank: int) -> None:
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

    def step(self, loss: float) -> None:
        """One step is done; ``loss`` of this rank's batch."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, loss=f"{loss:.3f}")

    def epoch(self, number: int, epochs: int, loss: float, accuracy: float) -> None:
        """An epoch is done; ``number`` counts from 1, ``accuracy`` is a share."""
        if self._bar is not None:
            self._bar.update(self._task, accuracy=f"{accuracy:.1%}")
        elif self._lines:
            print(
                f"{self._title}: epoch {number}/{epochs}, loss {loss:.3f}, accuracy {accuracy:.1%}",
                file=sys.stderr,
                flush=True,
            )

    def __enter__(self) -> TrainingProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
