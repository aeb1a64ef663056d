# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compression of the sums of a torchft Manager, with error feedback that survives a change of members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lanesum import codecs
from lanesum.codecs.base import Part
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError
from lanesum.torch.error_feedback import ErrorFeedbackState, _Residual

if TYPE_CHECKING:
    from torchft import Manager

_SPARE = "spare"  # key of tensors of a replica that does not participate: none of its residuals counts


class CommittedFeedback(ErrorFeedbackState):
    """Residuals that count once the Manager has committed the step of their gradients."""

    def _put(self, key: str, residual: _Residual | None) -> None:
        self._pending[key] = residual

    def settle(self, *, committed: bool) -> None:
        """End the step of the pending residuals."""
        for key in list(self._pending):
            (self._commit if committed and key != _SPARE else self._drop)(key)

    def successor(self) -> CommittedFeedback:
        """Return the residuals that count, for the next quorum: a thread of the last one may still change these."""
        made = CommittedFeedback(codec=self._codec)
        made._residuals = self._residuals.copy()
        return made


class Gradients:
    """Codec and error feedback of the tensors that a Manager sums; arguments: see ``ProcessGroup.compress``.

    A tensor is recognized in later steps by its number in the step, and by the fragment of the step.
    """

    def __init__(self, manager: Manager, codec: CodecSpec, fragments: int, error_feedback: bool) -> None:
        if codecs.get(codec, workers=1).traits.keeps_error_feedback:
            raise ConfigurationError(
                f"Codec {codecs.spelled(codec)} keeps error feedback itself, for one quorum alone.",
                "Use thc, whose error feedback survives a change of members.",
            )
        if type(fragments) is not int or fragments < 1:
            raise ConfigurationError(f"fragments = {fragments!r}: expected the number of fragments of DiLoCo, or 1.")
        self.codec = codec
        self._manager, self._fragments, self._adds = manager, fragments, error_feedback
        self._feedback = CommittedFeedback()
        self._step = manager.current_step()
        self._number = 0  # of the next tensor in its step

    def begin_quorum(self) -> CommittedFeedback | None:
        """Return the error feedback for the next quorum; None without it."""
        self._settle()
        self._feedback = self._feedback.successor()
        return self._feedback if self._adds else None

    def end_step(self) -> None:
        """Count the tensors of the next step from 0."""
        self._number = 0

    def _settle(self) -> None:
        # A step that fails is repeated with its number. After a recovery from another replica the number jumps.
        step, before = self._manager.current_step(), self._step
        self._feedback.settle(committed=step == before + 1)
        self._step, self._number = step, 0

    def part(self, tensor: torch.Tensor) -> Part:
        """Return the name of the next tensor of this step."""
        if self._number == 0:
            self._settle()
        key = f"{self._step % self._fragments}.{self._number}" if self._manager.is_participating() else _SPARE
        self._number += 1
        return Part(key, 0, tensor.numel())
