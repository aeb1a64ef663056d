# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names of jobs and callers that people would take for one another."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

from lanesum_control.errors import AdmissionError

# Default_Ignorable_Code_Point of Unicode 16, and the blank pattern of Braille.
_INVISIBLE_RANGES = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_INVISIBLE = {point: None for low, high in _INVISIBLE_RANGES for point in range(low, high + 1)}


def folded(name: str) -> str:
    """Return text that names have in common if they differ in case, width or invisible characters alone.

    It follows NFKC_Casefold of the Unicode Standard, section 3.13. Letters of different scripts stay different.
    """
    if name.isascii():
        return name.lower()
    while (again := _folded_once(name)) != name:
        name = again
    return name


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """Return a different name of ``others`` that looks like ``name``; None without one."""
    wanted = folded(name)
    return next((other for other in others if other != name and folded(other) == wanted), None)


def check_name(name: str, parts: Collection[str], jobs: Iterable[str]) -> None:
    """Check that events tell a new job from all other jobs and parts. Raises AdmissionError."""
    if " ".join(name.split()) != name:
        raise AdmissionError(f"Job name {name!r} has spaces in a row or at an end.", "Choose another name.")
    if not folded(name):
        raise AdmissionError(f"Job name {name!r} has no visible character.", "Choose another name.")
    if name in parts:
        raise AdmissionError(
            f"Job name {name!r} is that of a switch, a server or the controller.", "Choose another name."
        )
    if look_alike(name, (*parts, *jobs)) is not None:  # which may be of another tenant
        raise AdmissionError(
            f"Job name {name!r} looks like that of another job or part: they differ in case, width or invisible "
            "characters.",
            "Choose another name.",
        )


def _folded_once(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.translate(_INVISIBLE)).casefold())
