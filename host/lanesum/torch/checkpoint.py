# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of the communication hook in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import Codec, as_stateful
from lanesum.errors import ConfigurationError
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.parameters import check_same_model


class ForeignResidualsError(ConfigurationError):
    """The residuals of a checkpoint are those of another worker, or of a job with another number of workers.

    Attributes:
        worker, workers: the worker that saved them, and the number of workers of its job.
    """

    def __init__(self, saved: tuple[int, int], own: tuple[int, int]) -> None:
        self.worker, self.workers = saved
        super().__init__(
            f"This is the error feedback of worker {saved[0]} of {saved[1]}, and this is worker {own[0]} of {own[1]}.",
            "Load the file of this rank; or pass the states of all workers in a list, for another number of workers.",
        )


def state_dict(
    codec: Codec, error_feedback: ErrorFeedbackState | None, parameters: Mapping[str, int], worker: tuple[int, int]
) -> dict[str, Any]:
    """Return ``{"codec": name, "parameters": {parameter: size}, "memory": {parameter: flat float32 tensor}}``.

    ``"parameters"`` are those of the model: the state fits no other one. ``"memory"`` is the error feedback. It differs
    between workers, so every rank saves its own. ``"worker"`` is this one, and the number of workers. ``"state"`` is
    the codec's own state, for codecs that have one. ``torch.load`` accepts the result with ``weights_only=True``.
    """
    state = {
        "codec": codec.name,
        "parameters": dict(parameters),
        "worker": list(worker),
        "memory": {} if error_feedback is None else error_feedback.state_dict(),
    }
    stateful = as_stateful(codec)
    return state if stateful is None else {**state, "state": _with_tensors(stateful.state_dict())}


def load_state_dict(
    codec: Codec,
    error_feedback: ErrorFeedbackState | None,
    parameters: Mapping[str, int],
    worker: tuple[int, int],
    state: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> None:
    """Replace the states of ``codec`` and ``error_feedback`` by a :func:`state_dict`, or by those of all workers.

    From another number of workers, a codec whose error feedback is not its own starts without its state.

    Raises:
        ForeignCheckpointError: it was saved with other ``parameters``. Nothing is changed.
        ForeignResidualsError: it was saved by another ``worker``. Nothing is changed.
        ConfigurationError: it does not fit for another reason. Nothing is changed.
    """
    states = [state] if isinstance(state, Mapping) else list(state)
    for one in states:
        _check(codec, error_feedback, parameters, one)
    workers: list[tuple[int, int]] = [tuple(one["worker"]) for one in states]
    complete = sorted(workers) == [(number, len(states)) for number in range(len(states))]
    if worker in workers or (error_feedback is None and not codec.traits.stateful):
        own = states[workers.index(worker) if worker in workers else 0]
        residuals = own["memory"]
    elif not isinstance(state, Mapping) and complete:
        # The mean of all residuals is what the steps lack. With it at each worker, their mean is the same.
        own, residuals = states[0], _mean([one["memory"] for one in states])
    else:
        raise ForeignResidualsError(workers[0], worker)
    stateful = as_stateful(codec)
    # Without its memory, the state of a codec is a history of past sums, which helps to plan the next ones.
    if stateful is not None and (worker in workers or codec.traits.keeps_error_feedback):
        if worker not in workers:
            raise ConfigurationError(
                f"The state of codec {codec.name!r} belongs to {len(states)} workers, not to {worker[1]}.",
                "Start without it.",
            )
        if not isinstance(own.get("state"), Mapping):
            raise ConfigurationError(f"This state lacks that of codec {codec.name!r}.", "Start without it.")
        stateful.load_state_dict(own["state"])
    if error_feedback is not None:
        error_feedback.load_state_dict(residuals)


def _check(
    codec: Codec, error_feedback: ErrorFeedbackState | None, parameters: Mapping[str, int], state: Mapping[str, Any]
) -> None:
    residuals = state.get("memory")
    if not isinstance(residuals, Mapping):
        raise ConfigurationError(
            "This is not the state of a lanesum hook: it has no 'memory'.", "Load what state_dict() has returned."
        )
    if state.get("codec") != codec.name:
        raise ConfigurationError(
            f"This state is of codec {state.get('codec')!r}, not {codec.name!r}.",
            "Use the codec it was saved with, or start without it.",
        )
    if error_feedback is None and residuals:
        raise ConfigurationError(
            "This state contains error feedback, but error feedback is off.", "Build State(error_feedback=True)."
        )
    check_same_model(parameters, state.get("parameters"))
    saved = state.get("worker")
    if not isinstance(saved, Sequence) or len(saved) != 2 or not all(isinstance(one, int) for one in saved):
        raise ConfigurationError(
            "This state does not say which worker has saved it.",
            "Start without it: it lacks the residuals of one step.",
        )


def _mean(memories: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
    """Return the mean of the residuals of all workers; a parameter that one lacks has none there."""
    keys = dict.fromkeys(key for memory in memories for key in memory)
    found = {key: [torch.as_tensor(memory[key]) for memory in memories if key in memory] for key in keys}
    return {key: torch.stack(ones).double().sum(0).div(len(memories)).float() for key, ones in found.items()}


def _with_tensors(state: Any) -> Any:
    """Return ``state`` with tensors instead of arrays, so that ``torch.load`` accepts it."""
    if isinstance(state, dict):
        return {key: _with_tensors(one) for key, one in state.items()}
    return torch.from_numpy(state) if isinstance(state, np.ndarray) else state


class CopiedState:
    """Copy of a ``State`` by ``copy.deepcopy``, ``pickle`` or ``torch.save``, which copy the hook of a model with it.

    A membership in a job cannot be copied. DistributedDataParallel does not register the hook in a copy, so the process
    group averages its gradients. Any other use raises ConfigurationError.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # optional methods that copy and pickle look for
            raise AttributeError(name)
        raise ConfigurationError(
            f"State.{name} is not available: this State was copied or loaded, and is no member of a job.",
            "Call attach for the copy of the model; save state_dict() of a State instead of the State.",
        )
