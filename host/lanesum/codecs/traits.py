# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capabilities and requirements of a codec, as its drivers read them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecTraits:
    """Properties of a codec that sessions, policies and the DDP hook depend on.

    They are constant over the life of a codec object. The default of each is the property of the simplest codec:
    stateless, lossy, for vectors of the host, with one value in each word.

    Attributes:
        needs_all_workers: every sum must contain all workers. Sessions refuse the codec in jobs with a quorum.
        depends_on_past_sums: rounds depend on earlier sums of the same vector or parameters. A session starts such an
            all-reduce after the earlier ones have completed.
        packs_values: a word holds several values, so vectors of different lengths may become equally many words. The
            first round must be an ADD32 round over all workers. A session compares the lengths in that round.
        nearly_exact: the error is below that of float32. Error feedback gains nothing.
        unbiased: the mean of many all-reduces of the same vectors converges to the mean of the vectors. The DDP hook
            adds error feedback on request only: its errors of many steps cancel without it.
        keeps_error_feedback: the codec carries its own compression error over to the next all-reduce. The DDP hook
            adds no error feedback.
        follows_optimizer: the error of small values depends on ``CodecContext.adaptive``. If the codec is not
            ``unbiased``, the DDP hook adds error feedback by default only where that is False.
        accepts_device_tensors: ``all_reduce`` accepts PyTorch tensors of a device, and returns tensors of that device.
            The codec launches its kernels in the stream of ``lanesum.gpu.staging``.
        adds_error_feedback: the codec adds ``CodecContext.error_feedback`` to a tensor of a device itself.
        scatters: ``all_reduce`` reads ``CodecContext.scattered``. Other codecs sum the whole vector, of which the
            session returns the shard of this worker.
        stateful: the codec is a :class:`lanesum.codecs.base.StatefulCodec`. Checkpoints hold its state.
        max_nmse: upper bound of the normalized mean squared error of one all-reduce without error feedback, for vectors
            of many standard normal values: squared norm of the mean's error over the mean of the workers' squared
            norms. A result of zeros has an error of at most 1, which is the default. The conformance test checks it.
    """

    needs_all_workers: bool = False
    depends_on_past_sums: bool = False
    packs_values: bool = False
    nearly_exact: bool = False
    unbiased: bool = False
    keeps_error_feedback: bool = False
    follows_optimizer: bool = False
    accepts_device_tensors: bool = False
    adds_error_feedback: bool = False
    scatters: bool = False
    stateful: bool = False
    max_nmse: float = 1.0


#: Error of float32 results whose sum is exact: half a unit in the last place.
FLOAT32_NMSE = 2.0**-48
