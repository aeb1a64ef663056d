# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of PyTorch tensors: tensors of the host become arrays without a copy, those of a device are staged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.codecs.base import Codec, CodecContext, CodecError, Result, Steps, Vector
from lanesum.codecs.checks import refuse_more_workers
from lanesum.codecs.shards import steps_of
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import Staging, StreamEvent, mode, needs_staging, staging_for


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor`` as float32, contiguous and one-dimensional, on its device; no copy where it is so already.

    Raises ConfigurationError: the tensor is not dense, not floating-point, or has no values (meta device).
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
            "Move the model to a device with to_empty() and initialize it before the all-reduce.",
        )
    return tensor.detach().resolve_neg().to(torch.float32).contiguous().view(-1)


def as_bytes(tensor: torch.Tensor) -> tuple[NDArray[np.uint8], Callable[[NDArray[np.uint8]], torch.Tensor]]:
    """Return the bytes of a tensor, and a function that makes tensors of its type and device from bytes.

    It waits for the tensor's device. Raises ConfigurationError: the tensor is not dense, or on the meta device.
    """
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "quantized" if tensor.is_quantized else "meta" if tensor.is_meta else str(tensor.layout)
        raise ConfigurationError(f"all_gather takes dense tensors with values, not {kind}.", "Convert it first.")
    dtype, device = tensor.dtype, tensor.device
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy(), lambda values: torch.from_numpy(values).view(dtype).to(device)


def codec_accepts(codec: Codec, device: torch.device) -> bool:
    """Return True if ``codec`` gets tensors of ``device`` as they are, because it has kernels for them."""
    if not codec.traits.accepts_device_tensors or not needs_staging(device):
        return False
    return device.type in ("cpu", "cuda") and mode() != "off"


def adds_error_feedback(codec: Codec, tensor: torch.Tensor) -> bool:
    """Return True if ``codec`` adds ``CodecContext.error_feedback`` to such a tensor itself."""
    return codec.traits.adds_error_feedback and codec_accepts(codec, tensor.device)


def checked_tensor(x: torch.Tensor, context: CodecContext, workers: int) -> torch.Tensor:
    """Return ``x`` as a contiguous vector on its device, or raise the CodecError that says why it cannot be encoded.

    ``context.error_feedback`` must have the shape, device and data type of ``x``. The counterpart for arrays is
    :func:`lanesum.codecs.checks.checked_vector`.
    """
    refuse_more_workers(context, workers)
    if x.dtype is not torch.float32 or x.dim() != 1:
        raise CodecError(f"Expected a float32 tensor of one dimension, not {x.dtype} of shape {tuple(x.shape)}.")
    kept = context.error_feedback
    if kept is not None and (kept.shape != x.shape or kept.device != x.device or kept.dtype != x.dtype):
        raise CodecError(
            f"The error feedback of {context.tensor!r} has {kept.dtype} of shape {tuple(kept.shape)} on {kept.device}, "
            f"the tensor {x.dtype} of shape {tuple(x.shape)} on {x.device}."
        )
    with staging_for(x.device).stream():
        return x.detach().contiguous()


def make_steps(
    codec: Codec, tensor: torch.Tensor, context: CodecContext
) -> tuple[Steps, StreamEvent | None, Staging | None]:
    """Start an all-reduce of a tensor that ``flat`` has returned; launch what is possible, and wait for nothing.

    Returns:
        The codec's steps, whose result has tensors of the same device. For a tensor of a device, also the event that
        is complete once the tensor is computed, for which the first step waits, and the staging of the device.
    """
    if not needs_staging(tensor.device):
        return _steps_of_host(steps_of(codec, tensor.numpy(), context)), None, None
    staging = staging_for(tensor.device)
    computed = staging.record_event()
    staging.wait_event(computed, tensor, *(() if context.error_feedback is None else (context.error_feedback,)))
    if codec_accepts(codec, tensor.device):
        return steps_of(codec, cast(Any, tensor), context), computed, staging
    # The copy itself is short, so the first step may wait for it.
    return copy_and_make_steps(codec, tensor, context), computed, staging


def with_error_feedback(tensor: torch.Tensor, context: CodecContext) -> torch.Tensor:
    """Return ``tensor`` plus ``context.error_feedback``, on its device."""
    if context.error_feedback is None:
        return tensor
    with staging_for(tensor.device).stream():
        total: torch.Tensor = tensor + context.error_feedback
        return total


def copy_and_make_steps(codec: Codec, tensor: torch.Tensor, context: CodecContext) -> Steps:
    """Launch a copy of ``tensor`` to the host, and return the steps of ``codec`` for that copy.

    For codecs without kernels, and for vectors that a codec's kernels do not support. The result has tensors of the
    device.
    """
    staging = staging_for(tensor.device)
    pinned = staging.empty_pinned(tensor.numel(), torch.float32)
    with staging.stream():
        copied = staging.copy_to_host(tensor, pinned)
    return _steps_of_copy(codec, pinned, copied, context, staging)


def _steps_of_host(steps: Steps) -> Steps:
    result = yield from steps
    return _map_vectors(result, torch.from_numpy)


def _steps_of_copy(
    codec: Codec, pinned: torch.Tensor, copied: StreamEvent, context: CodecContext, staging: Staging
) -> Steps:
    copied.synchronize()
    result = yield from steps_of(codec, pinned.numpy(), context)
    with staging.stream():
        return _map_vectors(result, staging.copy_to_device)


def _map_vectors(result: Result, function: Callable[[Vector], Any]) -> Result:
    residual = None if result.residual is None else function(result.residual)
    return replace(result, values=function(result.values), residual=residual)
