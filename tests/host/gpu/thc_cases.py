# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of thc to compile, for default and short blocks, with codes in planes, side by side and as digits."""

from __future__ import annotations

from typing import Any

from lanesum.codecs import THC
from lanesum.codecs.thc.device import SQUARE_SUMS, Launches
from tests.host.gpu.compiling import CAPABILITIES, Case

_MODULE = "lanesum.codecs.thc.device_kernels"
_TYPES = {
    **dict.fromkeys(("values", "feedback", "residual", "powers", "positions", "scales"), "*fp32"),
    **dict.fromkeys(("words", "lanes", "signs"), "*i32"),
    **dict.fromkeys(("first", "length", "round", "key0", "key1", "offset", "flip", "multiplier", "constant"), "i32"),
    "sums": "*fp64",
    "size": "i64",
}
_OPTIONS = ("num_warps", "enable_fp_fusion", "maxnreg")
_DIGITS = {"PER_WORD": 7, "BASE": 23, "TILE": 512}
_DIGIT_TYPES = {"codes": "*u8", "words": "*i32", "lanes": "*u8", "length": "i32", "width": "i32"}
_EVERYTHING = {"FEEDBACK": True, "RESIDUAL": True}


def _case(name: str, arguments: dict[str, Any], capability: int) -> Case:
    options = {key: value for key, value in arguments.items() if key in _OPTIONS}
    constants = {key: value for key, value in arguments.items() if key not in _OPTIONS}
    return Case(_MODULE, name, _TYPES, constants, capability, options)


def _encode(codec: THC, masked: bool, capability: int) -> Case:
    launches = Launches(codec.coder)
    return _case("encode", {**launches.encode, **_EVERYTHING, "MASKED": masked}, capability)


_USUAL = THC(workers=4)
_SMALL = [THC(workers=4, bits=bits, lanes=lanes, block=64) for bits, lanes in ((5, 8), (4, 16))]
CASES = [
    *(_encode(_USUAL, False, capability) for capability in CAPABILITIES),
    _case("decode", {**Launches(_USUAL.coder).decode, "MASKED": False}, 90),
    *(_encode(codec, True, 80) for codec in _SMALL),
    _case("decode", {**Launches(_SMALL[1].coder).decode, "MASKED": True}, 80),
    *(
        Case("lanesum.codecs.thc.device_kernels", name, _DIGIT_TYPES, constants, 80)
        for name, constants in (("pack_digits", _DIGITS), ("unpack_digits", {**_DIGITS, "LANE": 8}))
    ),
    _case("square_sums", {**SQUARE_SUMS, "PART": 4096, "UNROLL": 8, "FEEDBACK": True}, 80),
]
