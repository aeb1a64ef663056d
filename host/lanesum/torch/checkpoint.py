# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of the communication hook in checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import Codec, as_stateful
from lanesum.errors import ConfigurationError
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.parameters import check_same_model


def state_dict(
    codec: Codec, error_feedback: ErrorFeedbackState | None, parameters: Mapping[str, int]
) -> dict[str, Any]:
    """Return ``{"codec": name, "parameters": {parameter: size}, "memory": {parameter: flat float32 tensor}}``.

    ``"parameters"`` are those of the model: the state fits no other one. ``"memory"`` is the error feedback. It differs
    between workers, so every rank saves its own. ``"state"`` is the codec's own state, for codecs that have one.
    ``torch.load`` accepts the result with ``weights_only=True``.
    """
    state = {
        "codec": codec.name,
        "parameters": dict(parameters),
        "memory": {} if error_feedback is None else error_feedback.state_dict(),
    }
    stateful = as_stateful(codec)
    return state if stateful is None else {**state, "state": _with_tensors(stateful.state_dict())}


def load_state_dict(
    codec: Codec, error_feedback: ErrorFeedbackState | None, parameters: Mapping[str, int], state: Mapping[str, Any]
) -> None:
    """Replace the states of ``codec`` and ``error_feedback`` by a :func:`state_dict`.

    Raises:
        ForeignCheckpointError: it was saved with other ``parameters``. Nothing is changed.
        ConfigurationError: it does not fit for another reason. Nothing is changed.
    """
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
    stateful = as_stateful(codec)
    if stateful is not None:
        if not isinstance(state.get("state"), Mapping):
            raise ConfigurationError(f"This state lacks that of codec {codec.name!r}.", "Start without it.")
        stateful.load_state_dict(state["state"])
    if error_feedback is not None:
        error_feedback.load_state_dict(residuals)


def _with_tensors(state: Any) -> Any:
    """Return ``state`` with tensors instead of arrays, so that ``torch.load`` accepts it."""
    if isinstance(state, dict):
        return {key: _with_tensors(one) for key, one in state.items()}
    return torch.from_numpy(state) if isinstance(state, np.ndarray) else state
