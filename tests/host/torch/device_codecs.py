# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs that accept tensors of a device, and jobs of sessions in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from lanesum.codecs import CodecContext, Result, Steps
from lanesum.gpu.staging import staging_for
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum_lab.baselines import GatheredFloats

Work = Callable[[Session], Any]


def run(tickets: list[JobTicket], works: list[Work], codec: Callable[[], Any]) -> list[Any]:
    """Run each worker's ``work`` in a thread of its own, and return the results."""
    outcomes: list[Any] = [None] * len(works)

    def one(number: int) -> None:
        try:
            with Session(tickets[number], codec=codec(), deadline_s=200.0) as session:
                outcomes[number] = works[number](session)
        except BaseException as error:  # handed to the test
            outcomes[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes


class OnDevice(GatheredFloats):
    """``bf16`` that accepts tensors of a device only."""

    def __init__(self, *, workers: int) -> None:
        super().__init__(workers=workers, format="bf16")
        self.traits = replace(self.traits, accepts_device_tensors=True)

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        assert isinstance(x, torch.Tensor) and x.dtype == torch.float32 and x.dim() == 1 and x.is_contiguous()
        own = staging_for(x.device)
        pinned = own.empty_pinned(x.numel(), torch.float32)
        with own.stream():
            copied = own.copy_to_host(x, pinned)
        copied.synchronize()
        result = yield from super().all_reduce(pinned.numpy(), context)
        with own.stream():
            residual = None if result.residual is None else own.copy_to_device(result.residual)
            return Result(own.copy_to_device(result.values), residual)  # type: ignore[arg-type]


class AddsErrorFeedback(OnDevice):
    """``bf16`` that also adds the error feedback itself."""

    def __init__(self, *, workers: int) -> None:
        super().__init__(workers=workers)
        self.traits = replace(self.traits, adds_error_feedback=True)

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        feedback = context.error_feedback
        return (yield from super().all_reduce(x if feedback is None else x + feedback, context))
