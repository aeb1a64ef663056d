# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of large arrays is used again, but never while somebody has it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from lanesum._internal import arrays
from lanesum._internal.native import VARIABLE

MIB = 1 << 20
LARGE = 8 * MIB


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    arrays.release_kept()
    yield
    arrays.release_kept()


def large(size: int = LARGE, fill: int = 0) -> np.ndarray:
    array = arrays.empty(size, np.uint8)
    array[:] = fill
    return array


def place(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("size", [0, 1, 5, MIB, 3 * MIB + 1])
def test_looks_like_numpys(dtype: type, size: int) -> None:
    array = arrays.empty(size, dtype)
    assert array.shape == (size,) and array.dtype == dtype and array.flags.c_contiguous and array.flags.writeable
    array[:] = 7
    assert (array == 7).all()


def test_what_nobody_uses_is_used_again(native: ModuleType) -> None:
    first = large()
    at = place(first)
    del first
    assert native.kept_bytes() == LARGE
    # A little smaller fits as well, and then nothing is left.
    second = large(LARGE - LARGE // 16)
    assert place(second) == at and native.kept_bytes() == 0


def test_a_view_keeps_it(native: ModuleType) -> None:
    first = large(fill=3)
    view = memoryview(first[5:50].view(np.uint8))
    del first
    assert native.kept_bytes() == 0
    others = [large(fill=9) for _ in range(3)]
    assert set(view) == {3} and len({place(one) for one in others}) == 3
    view.release()
    assert native.kept_bytes() == LARGE


def test_other_sizes_get_memory_of_their_own(native: ModuleType) -> None:
    first = large()
    at = place(first)
    del first
    smaller, larger = large(LARGE // 2), large(2 * LARGE)
    assert at not in (place(smaller), place(larger))
    assert native.kept_bytes() == LARGE


def test_keeps_no_more_than_was_in_use_at_once(native: ModuleType) -> None:
    most = 40 * MIB
    held = large(most)
    del held
    for size in range(6, 40, 3):  # each one of a size that none before fits
        array = large(size * MIB)
        del array
        assert native.kept_bytes() <= max(most, size * MIB + 2 * MIB)


def test_forgets_a_size_that_nobody_needs_any_more(native: ModuleType) -> None:
    unusual = large(5 * LARGE)
    del unusual
    for _ in range(300):
        usual = large(4 * MIB)
        del usual
    assert native.kept_bytes() == 4 * MIB


def test_gives_back_what_it_is_told_to(native: ModuleType) -> None:
    used, unused = large(fill=1), large()
    del unused
    arrays.release_kept()
    assert native.kept_bytes() == 0 and (used == 1).all()


def test_small_ones_are_numpys(native: ModuleType) -> None:
    small = arrays.empty(native.LEAST_KEPT_BYTES - 1, np.uint8)
    assert small.base is None


def test_without_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert arrays.empty(LARGE, np.uint8).base is None
    arrays.release_kept()  # nothing to do


def test_threads_never_share_it(native: ModuleType) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(40):
            array = large((4 + (number + turn) % 3) * MIB, fill=number)
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
