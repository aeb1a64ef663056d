# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Digits packed and unpacked by kernels have the bits of the NumPy loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from lanesum.codecs.thc import blocks as host_blocks  # noqa: E402
from lanesum.codecs.thc import reference  # noqa: E402
from lanesum.codecs.thc.codec import DigitTHC  # noqa: E402
from lanesum.codecs.thc.device_kernels import pack_digits, unpack_digits  # noqa: E402
from lanesum_lab.codec_simulation import simulate  # noqa: E402
from tests.host.codecs.samples import check_alike, sample  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")

# Words of a program, fewer than those of a block.
_TILE = 8


def as_tensor(words: np.ndarray, kind: Any) -> Any:
    return torch.from_numpy(words.view(np.int32)).view(kind)


@pytest.mark.parametrize("per_word", [3, 5, 6, 7, 15])
@pytest.mark.parametrize(("length", "blocks"), [(32, 3), (96, 1), (128, 2)])
def test_packed_digits_equal_reference(per_word: int, length: int, blocks: int) -> None:
    base = reference.digit_base(per_word)
    codes = (
        np.random.default_rng(per_word).integers(0, min(base, 256), blocks * length).astype(np.uint8).view(np.uint32)
    )
    width = -(-length // per_word)
    expected = np.empty(blocks * width, np.uint32)
    reference.pack_digits(codes, length, per_word, expected)
    # A sentinel behind the last word shows stores out of bounds.
    words = torch.full((blocks * width + 1,), -7, dtype=torch.int32)
    constants = {"PER_WORD": per_word, "BASE": base, "TILE": _TILE}
    pack_digits[(blocks, -(-width // _TILE))](as_tensor(codes, torch.uint8), words, length, width, **constants)
    assert words.numpy()[:-1].tobytes() == expected.tobytes() and words[-1] == -7


@pytest.mark.parametrize(("per_word", "lane"), [(3, 16), (5, 8), (5, 16), (7, 8), (15, 8)])
@pytest.mark.parametrize(("length", "blocks"), [(32, 3), (96, 1), (128, 2)])
def test_unpacked_digits_equal_reference(per_word: int, lane: int, length: int, blocks: int) -> None:
    width, base = -(-length // per_word), reference.digit_base(per_word)
    words = np.random.default_rng(lane).integers(0, 2**32, blocks * width, dtype=np.uint32)
    words[0] = 2**32 - 1  # above base ** per_word, if that is less
    expected = np.empty(blocks * length * lane // 32, np.uint32)
    reference.unpack_digits(words, length, per_word, lane, expected)
    kind = torch.uint8 if lane == 8 else torch.int16
    lanes = torch.zeros(blocks * length, dtype=kind)
    unpack_digits[(blocks, -(-width // _TILE))](
        as_tensor(words, torch.int32), lanes, length, width, PER_WORD=per_word, BASE=base, LANE=lane, TILE=_TILE
    )
    assert lanes.numpy().tobytes() == expected.tobytes()


def test_digits_of_device_vector_never_use_host(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = DigitTHC(workers=2, per_word=5, block=64)
    vectors = [sample(150, worker) for worker in range(2)]
    expected = simulate(codec, vectors, keep_residual=True)

    def refuse(*_: Any) -> None:
        raise AssertionError("the host packed or unpacked digits")

    for name in ("pack", "unpacked"):
        monkeypatch.setattr(host_blocks.BlockCoder, name, refuse)
    check_alike(simulate(codec, [torch.from_numpy(vector) for vector in vectors], keep_residual=True), expected)
