# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fates of gradients: taken by an optimizer's step, or dropped without one.

The global hooks of ``torch.optim`` tell of steps, and those of other optimizers show in the values of parameters. A
gradient that is gone without a step was dropped: by ``zero_grad``, or because ``GradScaler`` skipped the step.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

_TRACKERS: weakref.WeakSet[StepTracker] = weakref.WeakSet()


def _ignore(_: object) -> None:
    """Do nothing: default of the callbacks."""


class StepTracker:
    """Tracks the gradient of each watched parameter from its all-reduce to its fate.

    Args:
        taken: called with the key of a parameter whose gradient a step has taken.
        dropped: called with the key of a parameter whose gradient is gone without a step.
        begins: called before the first step of each optimizer of such parameters.

    Attributes:
        adaptive: an optimizer of such parameters divides by the size of past gradients, or none has made a step yet.
    """

    def __init__(
        self,
        taken: Callable[[str], object] = _ignore,
        dropped: Callable[[str], object] = _ignore,
        begins: Callable[[Optimizer], object] = _ignore,
    ) -> None:
        self._taken, self._dropped, self._begins = taken, dropped, begins
        self._optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._keys: dict[torch.Tensor, str] = {}
        self._parameters: dict[str, torch.Tensor] = {}
        # Parameters with a gradient whose fate is open. The norm of the parameter, where no torch.optim optimizer has
        # made a step of it yet, else None.
        self._open: dict[str, torch.Tensor | None] = {}
        self._optimized: set[str] = set()
        self.adaptive = True
        self._handles: list[Any] = []
        _watch_steps()
        _TRACKERS.add(self)
        weakref.finalize(self, _remove, self._handles)

    def watch(self, parameter: torch.Tensor, key: str, *, in_backward: bool = True) -> None:
        """Track the gradients of ``parameter``; again without effect.

        With ``in_backward``, a lost gradient is found before the next one is accumulated in ``parameter.grad``. Else
        call :meth:`find_dropped` before that.
        """
        if parameter in self._keys:
            return
        self._keys[parameter], self._parameters[key] = key, parameter
        if in_backward:
            own = weakref.ref(self)

            def before_accumulation(_: torch.Tensor) -> None:
                if (tracker := own()) is not None:
                    tracker.find_dropped(key)

            self._handles.append(parameter.register_hook(before_accumulation))  # type: ignore[no-untyped-call]

    def watches(self, key: str) -> bool:
        """Return True if a parameter with this key is tracked."""
        return key in self._parameters

    def open(self, key: str) -> None:
        """Track the gradient that was just averaged, until its fate is known."""
        self._open[key] = None if key in self._optimized else _norm(self._parameters[key])

    def find_dropped(self, key: str) -> None:
        """Find the fate of an open gradient that is no longer in ``grad``."""
        if key in self._open and _is_gone(self._parameters[key].grad):
            self._end(key)

    def find_taken(self) -> None:
        """Find the open gradients that were taken by a step other than that of ``torch.optim``."""
        for key, norm in list(self._open.items()):
            if norm is not None and bool(norm != _norm(self._parameters[key])):
                self._end(key)

    def clear(self) -> None:
        """Forget the open gradients."""
        self._open.clear()

    def _end(self, key: str) -> None:
        norm = self._open.pop(key)
        changed = norm is not None and bool(norm != _norm(self._parameters[key]))
        (self._taken if changed else self._dropped)(key)

    def _before_step(self, optimizer: Optimizer) -> None:
        # Some optimizers clear gradients at the end of their step, so those of the step's begin count.
        own = self._of(optimizer)
        if own and optimizer not in self._optimizers:
            self.adaptive = (self.adaptive and bool(self._optimizers)) or _is_adaptive(optimizer)
            self._optimizers.add(optimizer)
            self._begins(optimizer)
        for key, parameter in own:
            if key in self._open and parameter.grad is None:
                self._end(key)
            elif key in self._open:
                self._open[key] = None
            self._optimized.add(key)

    def _after_step(self, optimizer: Optimizer) -> None:
        # GradScaler passes this flag to fused optimizers, which then skip the step themselves.
        skipped = getattr(optimizer, "found_inf", None)
        if skipped is not None and bool(skipped):
            return
        for key, _ in self._of(optimizer):
            if key in self._open:
                del self._open[key]
                self._taken(key)

    def _of(self, optimizer: Optimizer) -> list[tuple[str, torch.Tensor]]:
        groups = (group["params"] for group in optimizer.param_groups)
        return [(self._keys[one], one) for group in groups for one in group if one in self._keys]


def _is_adaptive(optimizer: Optimizer) -> bool:
    """Return True unless the optimizer is one whose step is proportional to the gradient."""
    proportional = (torch.optim.SGD, torch.optim.ASGD, torch.optim.LBFGS)
    return not isinstance(getattr(optimizer, "optim", optimizer), proportional)  # of a ZeroRedundancyOptimizer


@functools.cache
def _watch_steps() -> None:
    """Let the steps of all optimizers call the trackers that live.

    A tracker has no hooks of its own: it may be collected in the middle of a step, which iterates over the hooks.
    """
    register_optimizer_step_pre_hook(lambda optimizer, *_: _tell(StepTracker._before_step, optimizer))
    register_optimizer_step_post_hook(lambda optimizer, *_: _tell(StepTracker._after_step, optimizer))


def _tell(method: Callable[[StepTracker, Optimizer], None], optimizer: Optimizer) -> None:
    for tracker in list(_TRACKERS):
        method(tracker, optimizer)


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """Return the shard of this rank of a ``DTensor``, and other tensors as they are."""
    own: torch.Tensor = tensor.detach()
    return own.to_local() if hasattr(own, "to_local") else own


def _norm(parameter: torch.Tensor) -> torch.Tensor:
    norm: torch.Tensor = torch.linalg.vector_norm(_local(parameter), dtype=torch.float64)
    return norm


def _is_gone(gradient: torch.Tensor | None) -> bool:
    """Return True if there is no gradient, or ``zero_grad(set_to_none=False)`` has cleared it."""
    return gradient is None or not bool(_local(gradient).any())
