# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for the ``State`` in a copy of a model."""

from __future__ import annotations

from typing import Any

from lanesum.errors import ConfigurationError


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
