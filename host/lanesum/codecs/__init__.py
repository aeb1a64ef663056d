# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs: float vectors to summable lane words and back.

``get("fixed", workers=4)`` builds one by name; :mod:`lanesum.codecs.base` says what a codec is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    Members,
    Part,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    description,
)
from lanesum.codecs.baselines import DGC, QSGD, GatheredFloats, PowerSGD, SignVote, TernGrad
from lanesum.codecs.error_feedback import ErrorFeedback
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.lgc import RingLGC, ServerLGC
from lanesum.codecs.policy import NotFiniteError, Policy
from lanesum.codecs.policy_rules import Rule
from lanesum.codecs.sparse.auto import Auto
from lanesum.codecs.sparse.engine import Choice, SparseCodec
from lanesum.codecs.sparse.sketch import Sketch
from lanesum.codecs.sparse.topk import TopK
from lanesum.codecs.sparse.union import Union
from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc_paper.codec import PaperTHC
from lanesum.errors import ConfigurationError

__all__ = [
    "DGC",
    "QSGD",
    "THC",
    "Aggregate",
    "Auto",
    "Choice",
    "Codec",
    "CodecContext",
    "CodecError",
    "ErrorFeedback",
    "FixedPoint",
    "GatheredFloats",
    "Members",
    "NotFiniteError",
    "PaperTHC",
    "Part",
    "Policy",
    "PowerSGD",
    "Result",
    "RingLGC",
    "Round",
    "RoundGroup",
    "RoundShape",
    "Rule",
    "ServerLGC",
    "SignVote",
    "Sketch",
    "SparseCodec",
    "Steps",
    "TernGrad",
    "TopK",
    "Union",
    "description",
    "for_job",
    "get",
    "names",
]

_PRESETS: dict[str, tuple[Callable[..., Codec], dict[str, Any]]] = {
    "auto": (Auto, {}),
    "bf16": (GatheredFloats, {"format": "bf16"}),
    "dgc": (DGC, {}),
    "fixed": (FixedPoint, {}),
    "fp16": (GatheredFloats, {"format": "fp16"}),
    "lgc": (RingLGC, {}),
    "lgc-server": (ServerLGC, {}),
    "none": (GatheredFloats, {"format": "fp32"}),
    "policy": (Policy, {}),
    "powersgd": (PowerSGD, {}),
    "qsgd": (QSGD, {}),
    "signsgd": (SignVote, {}),
    "sketch": (Sketch, {}),
    "terngrad": (TernGrad, {}),
    "thc": (THC, {}),
    "thc-paper": (PaperTHC, {}),
    "thc-uniform": (PaperTHC, {"codes": "uniform"}),
    "topk": (TopK, {}),
    "union": (Union, {}),
}


def names() -> list[str]:
    """Names that :func:`get` knows, sorted."""
    return sorted(_PRESETS)


def for_job(name: str, *, workers: int, lookup: bool) -> Codec:
    """The codec ``name`` as the workers of a job have it, who know it by its name only.

    ``lookup``: whether those who sum for the job look codes up. Where they do not, it is the codec without a table, if
    it can be had so. Raises what :func:`get` raises.
    """
    optional = name in _PRESETS and "lookup" in inspect.signature(_PRESETS[name][0]).parameters
    return get(name, workers=workers, **({} if lookup or not optional else {"lookup": False}))


def get(name: str, *, workers: int, **parameters: Any) -> Codec:
    """Build the codec ``name`` for a job of ``workers`` workers; ``parameters`` override the preset's.

    Raises ConfigurationError for an unknown name or parameter (listing the known ones) and for values that
    the codec refuses, such as more workers than its lanes hold.
    """
    if name not in _PRESETS:
        raise ConfigurationError(f"There is no codec {name!r}.", f"Known codecs: {', '.join(names())}.")
    build, preset = _PRESETS[name]
    known = sorted(set(inspect.signature(build).parameters) - {"workers"})
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ConfigurationError(
            f"Codec {name!r} has no parameter {', '.join(map(repr, unknown))}.",
            f"Known parameters: {', '.join(known)}.",
        )
    return build(workers=workers, **{**preset, **parameters})
