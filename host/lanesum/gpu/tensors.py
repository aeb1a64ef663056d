# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of PyTorch tensors: tensors of the host are looked at as arrays, those of a device are staged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from lanesum.codecs.base import Codec, CodecContext, CodecError, Result, Steps, Vector, refuse_more_workers
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import Staging, codec_takes, on_device, staging


@dataclass(frozen=True, slots=True)
class Begun:
    """An all-reduce of a tensor.

    Attributes:
        steps: of the codec; their result has tensors of the device.
        arrived: whether the vector is there; the first step waits for it otherwise. None: it is.
        own: the device's, None on the host.
    """

    steps: Steps
    arrived: Callable[[], bool] | None
    own: Staging | None


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` as float32, contiguous, of one dimension, where it is; no copy where it is so already.

    Raises ConfigurationError where it has no floating-point numbers, or none at all, or is not dense.
    """
    if tensor.layout is not torch.strided:
        raise ConfigurationError(f"all_reduce takes dense tensors, not {tensor.layout}.", "Call .to_dense() first.")
    if not tensor.is_floating_point():
        raise ConfigurationError(
            f"all_reduce takes floating-point tensors, not {tensor.dtype}.", "Convert the tensor to float32 first."
        )
    if tensor.is_meta:
        raise ConfigurationError(
            "all_reduce takes tensors with values; this one is on the meta device.",
            "Reduce it after the model was moved to a device with to_empty() and initialized.",
        )
    return tensor.detach().to(torch.float32).contiguous().view(-1)


def adds_memory(codec: Codec, tensor: torch.Tensor) -> bool:
    """Whether ``codec`` adds ``CodecContext.memory`` to such a tensor itself."""
    return codec.traits.adds_memory and codec_takes(codec, tensor.device)


def checked_tensor(x: torch.Tensor, context: CodecContext, workers: int) -> torch.Tensor:
    """As :func:`lanesum.codecs.base.checked_vector`, of a tensor of a device; ``context.memory`` has to be like it."""
    refuse_more_workers(context, workers)
    if x.dtype is not torch.float32 or x.dim() != 1:
        raise CodecError(f"Expected a float32 tensor of one dimension, not {x.dtype} of shape {tuple(x.shape)}.")
    memory = context.memory
    if memory is not None and (memory.shape != x.shape or memory.device != x.device or memory.dtype != x.dtype):
        raise CodecError(
            f"The memory of {context.tensor!r} has {memory.dtype} of shape {tuple(memory.shape)} on {memory.device}, "
            f"the tensor {x.dtype} of shape {tuple(x.shape)} on {x.device}."
        )
    with staging(x.device).stream():
        return x.detach().contiguous()


def begin(codec: Codec, tensor: torch.Tensor, context: CodecContext) -> Begun:
    """``codec``'s steps for what ``flat`` has returned; launches what is to be launched, and waits for nothing."""
    if not on_device(tensor.device):
        return Begun(_of_host(codec.all_reduce(tensor.numpy(), context)), None, None)
    own = staging(tensor.device)
    made = own.mark()
    own.follow(made, tensor, *(() if context.memory is None else (context.memory,)))
    if codec_takes(codec, tensor.device):
        return Begun(codec.all_reduce(tensor, context), made.reached, own)
    # The copy is soon over, where the vector is there: not worth finding something else to do meanwhile.
    return Begun(on_host_instead(codec, tensor, context), made.reached, own)


def with_memory(tensor: torch.Tensor, context: CodecContext) -> torch.Tensor:
    """``tensor`` plus ``context.memory``, where it is."""
    if context.memory is None:
        return tensor
    with staging(tensor.device).stream():
        return tensor + context.memory


def on_host_instead(codec: Codec, tensor: torch.Tensor, context: CodecContext) -> Steps:
    """``codec``'s steps on a copy of ``tensor`` on the host, which is launched here; for codecs that take no tensors of
    a device, and for what those that do have no kernels for. The result has tensors of the device."""
    own = staging(tensor.device)
    pinned = own.pinned(tensor.numel(), torch.float32)
    with own.stream():
        fetched = own.fetch(tensor, pinned)
    return _staged(codec, pinned, fetched.wait, context, own)


def _of_host(steps: Steps) -> Steps:
    result = yield from steps
    return _with(result, torch.from_numpy)


def _staged(codec: Codec, pinned: torch.Tensor, wait: Callable[[], None], context: CodecContext, own: Staging) -> Steps:
    """The ``codec``'s steps on what is in ``pinned`` memory after ``wait``."""
    wait()
    result = yield from codec.all_reduce(pinned.numpy(), context)
    with own.stream():
        return _with(result, own.put)


def _with(result: Result, made: Callable[[Vector], Any]) -> Result:
    residual = None if result.residual is None else made(result.residual)
    return Result(made(result.values), residual, result.skipped)
