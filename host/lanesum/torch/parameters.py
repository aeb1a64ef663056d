# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names of parameters in checkpoints: the same with and without wrappers of PyTorch."""

from __future__ import annotations

import collections
from collections.abc import Mapping

import torch

from lanesum.errors import ConfigurationError

# DDP, torch.compile, FSDP1 and activation checkpointing put a module into a wrapper under these names.
_WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
#: First character of the names of parameters that no model names.
NUMBERED = "#"
# Names in the message of an error.
_MAX_NAMED = 5


class ForeignCheckpointError(ConfigurationError):
    """A checkpoint belongs to another model.

    Attributes:
        parameters: names of the parameters that only one of the two has, or that have different sizes.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        named = "; ".join(f"{name!r} {problem}" for name, problem in list(problems.items())[:_MAX_NAMED])
        more = f"; and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
        super().__init__(
            f"This is the lanesum state of another model: {named}{more}.",
            "Load the state of the same model into State(model=...), or start without one.",
        )
        self.parameters = tuple(problems)


def parameter_names(model: torch.nn.Module) -> dict[torch.Tensor, str]:
    """Return the names of the parameters of ``model``, without those of wrappers anywhere in them.

    Parameters whose names would become equal, because a module of the model itself has the name of a wrapper, keep
    their full names.
    """
    full = {parameter: name for name, parameter in model.named_parameters()}
    short = {name: ".".join(part for part in name.split(".") if part not in _WRAPPERS) for name in full.values()}
    uses = collections.Counter(short.values())
    return {parameter: short[name] if uses[short[name]] == 1 else name for parameter, name in full.items()}


def check_same_model(own: Mapping[str, int], saved: object) -> None:
    """Compare the parameters of a model, names and numbers of elements, with those ``saved`` in a checkpoint.

    Numbered parameters are compared only where both have them: the others have not had a gradient yet.

    Raises:
        ForeignCheckpointError: they differ.
        ConfigurationError: the checkpoint has no valid list of parameters.
    """
    if not isinstance(saved, Mapping) or not all(isinstance(size, int) for size in saved.values()):
        raise ConfigurationError(
            "This is not the state of a lanesum hook: it has no 'parameters'.", "Load what state_dict() has returned."
        )
    problems = {}
    for name in {**saved, **own}:
        if name not in own or name not in saved:
            if not str(name).startswith(NUMBERED):
                problems[name] = "is not in the checkpoint" if name in own else "is not in the model"
        elif own[name] != saved[name]:
            problems[name] = f"has {saved[name]:,} elements in the checkpoint and {own[name]:,} in the model"
    if problems:
        raise ForeignCheckpointError(problems)
