# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a training: weights, optimizer, schedule, error feedback and results so far, one file per rank.

Every rank keeps its last two. Ranks that were killed at different steps continue from the last step that all of them
have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from lanesum._internal.output_file import OutputFile
from lanesum.errors import ConfigurationError
from lanesum_lab.train.curve import Curve, Evaluation

_KEPT = 2


class Checkpoints:
    """The checkpoints of this rank in ``folder``.

    Args:
        folder: folder of all ranks on this machine.
        every: steps from one checkpoint to the next.
        resume: continue from the last one; otherwise those of an earlier training are deleted.
        identity: settings of the training. A checkpoint of another one is refused.
    """

    def __init__(self, folder: Path, *, every: int, resume: bool, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self._every = every
        self._resume = resume
        self._identity = dict(identity)

    def due(self, step: int) -> bool:
        """Return True if a checkpoint follows this step."""
        return step % self._every == 0

    def _path(self, step: int) -> Path:
        return self._folder / f"checkpoint-{dist.get_rank()}-{step}.pt"

    def _steps(self) -> list[int]:
        found = self._folder.glob(f"checkpoint-{dist.get_rank()}-*.pt")
        return sorted(int(path.stem.rpartition("-")[2]) for path in found)

    def save(self, step: int, stateful: Mapping[str, Any], curve: Curve) -> None:
        """Write a checkpoint and delete old ones."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {name: one.state_dict() for name, one in stateful.items()}
        with OutputFile(self._path(step)) as output:
            torch.save({**content, "identity": self._identity, "curve": dataclasses.asdict(curve)}, output.file)
            output.commit()
        for old in self._steps()[:-_KEPT]:
            self._path(old).unlink()

    def restore(self, stateful: Mapping[str, Any], curve: Curve) -> int:
        """Restore the last checkpoint that all ranks have; return its step, or 0 if there is none.

        Raises ConfigurationError if it is of another training.
        """
        if not self._resume:
            for step in self._steps():
                self._path(step).unlink()
            return 0
        steps: list[list[int]] = [[]] * dist.get_world_size()
        dist.all_gather_object(steps, self._steps())
        common = set(steps[0]).intersection(*steps[1:])
        if not common:
            return 0
        path = self._path(max(common))
        content = torch.load(path, weights_only=True)
        other = {key for key in self._identity if content["identity"].get(key) != self._identity[key]}
        if other:
            raise ConfigurationError(
                f"{path} is of a training with other settings: {', '.join(sorted(other))}.",
                "Train with the same options, or without --resume.",
            )
        for name, one in stateful.items():
            one.load_state_dict(content[name])
        saved = content["curve"]
        for name, value in {**saved, "tests": [Evaluation(**one) for one in saved["tests"]]}.items():
            setattr(curve, name, value)
        return max(common)
