# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code tables that the authors of THC published."""

from __future__ import annotations

#: Tables published with the paper's artifact and its successor (both Apache-2.0), by (bits, granularity, 1/p).
PUBLISHED: dict[tuple[int, int, int], tuple[int, ...]] = {
    **{(4, 30, f): (0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30) for f in (32, 64)},
    **{(4, 30, f): (0, 4, 6, 8, 10, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 30) for f in (128, 256)},
    (4, 30, 16): tuple(range(0, 31, 2)),
    (4, 30, 512): (0, 4, 7, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 23, 26, 30),
    **{(4, 34, f): (0, 3, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 31, 34) for f in (16, 32, 64, 128)},
    **{(4, 34, f): (0, 4, 7, 9, 11, 13, 15, 16, 18, 19, 21, 23, 25, 27, 30, 34) for f in (256, 512)},
    (4, 34, 1024): (0, 5, 8, 10, 12, 14, 15, 16, 18, 19, 20, 22, 24, 26, 29, 34),
    (4, 42, 1024): (0, 6, 9, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 33, 36, 42),
    (3, 16, 32): (0, 3, 5, 7, 9, 11, 13, 16),
    (3, 16, 1024): (0, 4, 6, 7, 9, 10, 12, 16),
    (3, 42, 1024): (0, 10, 15, 19, 23, 27, 32, 42),
    (2, 34, 512): (0, 13, 21, 34),
}
