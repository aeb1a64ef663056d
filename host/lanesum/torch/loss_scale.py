# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Factor of the loss: the scale of the ``GradScaler`` that makes the steps of a model."""

from __future__ import annotations

import gc
import sys
import traceback
import warnings

import torch


class LossScale:
    """Scale of the loss of one model.

    Args:
        scaler: multiplies the loss. None: the ``GradScaler`` that makes the first step, if one does.

    Attributes:
        loaded: residuals were loaded, so the scale must be known before the first step.
    """

    def __init__(self, scaler: torch.amp.GradScaler | None = None) -> None:
        self._told, self._scaler = scaler is not None, scaler
        self.loaded = False

    def meet(self, optimizer: torch.optim.Optimizer) -> bool:
        """Find the scaler that makes the first step of ``optimizer``; return True if it is another one than before.

        It is also found under Lightning and Accelerate.
        """
        found = _running() or next((one for one in _scalers() if id(optimizer) in one._per_optimizer_states), None)
        if self._told or found is self._scaler:
            return False
        if found is not None and self._scaler is not None and not self.loaded:
            warnings.warn(
                "Several gradient scalers make steps of one model, so error feedback follows the scale of the last "
                "one. Use one scaler for the model, or error_feedback=False.",
                stacklevel=2,
            )
        self._scaler = found
        return True

    def value(self) -> float:
        """Return the factor of the loss."""
        if self.loaded:
            self.loaded, self._scaler = False, self._scaler or _only_scaler()
        return 1.0 if self._scaler is None else float(self._scaler.get_scale())


def _only_scaler() -> torch.amp.GradScaler | None:
    """Return the one ``GradScaler`` of this process that scales a loss; None if there is none, or more."""
    gc.collect()  # those of earlier trainings
    found = _scalers()
    if len(found) > 1:
        warnings.warn(
            f"This process has {len(found)} gradient scalers, so the scale of the loaded error feedback is not known. "
            "Pass attach(..., scaler=) the scaler of the model.",
            stacklevel=2,
        )
    elif not found and gc.get_freeze_count():
        # A search of all objects in reach would find it, but reads objects that other threads are making.
        warnings.warn(
            "The memory of this process is frozen (gc.freeze), so a gradient scaler from before is not found. If one "
            "scales the loss, pass attach(..., scaler=) it, so that loaded error feedback has its scale.",
            stacklevel=2,
        )
    return found[0] if len(found) == 1 else None


def _running() -> torch.amp.GradScaler | None:
    """Return the enabled scaler whose ``step`` is running in this thread."""
    for frame, _ in traceback.walk_stack(sys._getframe()):
        own = frame.f_locals.get("self")
        if isinstance(own, torch.amp.GradScaler) and own.is_enabled():
            return own
    return None


def _scalers() -> list[torch.amp.GradScaler]:
    """Return the gradient scalers of this process that scale a loss."""
    kinds = {torch.amp.GradScaler}
    for _ in range(4):  # subclasses, such as that of torch.cuda.amp
        kinds |= {one for kind in kinds for one in kind.__subclasses__()}
    return [one for one in gc.get_objects() if type(one) in kinds and one.is_enabled() and one._scale is not None]
