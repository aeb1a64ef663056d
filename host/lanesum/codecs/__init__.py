# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs: float vectors to summable lane words and back.

``get("thc error=0.01", workers=4)`` builds a codec by name and parameters, ``register`` adds a codec of your own. The
protocol of a codec is in :mod:`lanesum.codecs.base`.
"""

from __future__ import annotations

from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    Members,
    NotFiniteError,
    Part,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    StatefulCodec,
    Steps,
    UnencodableError,
)
from lanesum.codecs.error_feedback import ErrorFeedback
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.policy import Policy
from lanesum.codecs.policy_rules import Rule
from lanesum.codecs.registry import CodecSpec, for_job, get, names, not_a_spec, parse, register, spelled
from lanesum.codecs.sparse import Auto, Choice, Sketch, SparseCodec, TopK, Union
from lanesum.codecs.thc import THC
from lanesum.codecs.traits import CodecTraits

__all__ = [
    "THC",
    "Aggregate",
    "Auto",
    "Choice",
    "Codec",
    "CodecContext",
    "CodecError",
    "CodecSpec",
    "CodecTraits",
    "ErrorFeedback",
    "FixedPoint",
    "Members",
    "NotFiniteError",
    "Part",
    "Policy",
    "Result",
    "Round",
    "RoundGroup",
    "RoundShape",
    "Rule",
    "Sketch",
    "SparseCodec",
    "StatefulCodec",
    "Steps",
    "TopK",
    "UnencodableError",
    "Union",
    "for_job",
    "get",
    "names",
    "not_a_spec",
    "parse",
    "register",
    "spelled",
]
