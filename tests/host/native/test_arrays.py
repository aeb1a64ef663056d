# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Array pool: memory of large arrays is used again, but never while an array uses it."""

from __future__ import annotations

import gc
import subprocess
import sys
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
def empty_pool() -> Iterator[None]:
    gc.collect()  # arrays of other tests would return to the pool in the middle of one
    arrays.release_pooled()
    yield
    arrays.release_pooled()


def large(size: int = LARGE, fill: int = 0) -> np.ndarray:
    array = arrays.empty(size, np.uint8)
    array[:] = fill
    return array


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("size", [0, 1, 5, MIB, 3 * MIB + 1])
def test_empty_returns_a_plain_array(dtype: type, size: int) -> None:
    array = arrays.empty(size, dtype)
    assert array.shape == (size,) and array.dtype == dtype and array.flags.c_contiguous and array.flags.writeable
    array[:] = 7
    assert (array == 7).all()


def test_freed_memory_is_used_again(native: ModuleType) -> None:
    first = large()
    at = address(first)
    del first
    assert native.pooled_bytes() == LARGE
    # The block fits a slightly smaller array, and then the pool is empty.
    second = large(LARGE - LARGE // 16)
    assert address(second) == at and native.pooled_bytes() == 0


def test_memory_with_a_view_is_not_freed(native: ModuleType) -> None:
    first = large(fill=3)
    view = memoryview(first[5:50].view(np.uint8))
    del first
    assert native.pooled_bytes() == 0
    others = [large(fill=9) for _ in range(3)]
    assert set(view) == {3} and len({address(one) for one in others}) == 3
    view.release()
    assert native.pooled_bytes() == LARGE


def test_other_sizes_get_new_memory(native: ModuleType) -> None:
    first = large()
    at = address(first)
    del first
    smaller, larger = large(LARGE // 2), large(2 * LARGE)
    assert at not in (address(smaller), address(larger))
    assert native.pooled_bytes() == LARGE


#: Prints the MiB of the pool after arrays for which no block of an earlier size fits. The first is the largest.
SIZES = """
import lanesum_native._core as native
import numpy as np
from lanesum._internal import arrays

for size in (40, *range(6, 40, 3)):
    array = arrays.empty(size << 20, np.uint8)
    del array
    print(native.pooled_bytes() >> 20)
"""


def test_pool_keeps_at_most_the_peak_in_use(native: ModuleType) -> None:
    # A process of its own: arrays of other tests count for the peak of this one.
    done = subprocess.run([sys.executable, "-c", SIZES], capture_output=True, text=True, check=True)
    pooled = [int(line) for line in done.stdout.split()]
    assert pooled[0] == 40 and len(pooled) == 13
    assert min(pooled) > 0 and max(pooled) == 40


def test_pool_drops_blocks_of_unused_sizes(native: ModuleType) -> None:
    unusual = large(5 * LARGE)
    del unusual
    for _ in range(300):
        usual = large(4 * MIB)
        del usual
    assert native.pooled_bytes() == 4 * MIB


def test_release_pooled_frees_unused_blocks_only(native: ModuleType) -> None:
    used, unused = large(fill=1), large()
    del unused
    arrays.release_pooled()
    assert native.pooled_bytes() == 0 and (used == 1).all()


def test_small_array_is_not_pooled(native: ModuleType) -> None:
    small = arrays.empty(native.MIN_POOLED_BYTES - 1, np.uint8)
    assert small.base is None


def test_empty_without_extension_uses_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert arrays.empty(LARGE, np.uint8).base is None
    arrays.release_pooled()  # no effect


def test_threads_never_share_memory(native: ModuleType) -> None:
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
