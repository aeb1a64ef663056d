# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Where the files that are not Python live: in a checkout, or below ``share/lanesum`` of an installation."""

from __future__ import annotations

import sys
from pathlib import Path

from lanesum.errors import ConfigurationError

_CHECKOUT = Path(__file__).resolve().parents[2]
_SHARE = Path(sys.prefix) / "share" / "lanesum"


def checkout_root() -> Path | None:
    """The repository's root when the package runs from a checkout, else None."""
    return _CHECKOUT if (_CHECKOUT / "p4src" / "bmv2" / "main.p4").exists() else None


def directory(name: str) -> Path:
    """The folder ``name`` (``p4src/build``, ``topologies``). Raises ConfigurationError when it is nowhere."""
    for base in (_CHECKOUT, _SHARE):
        if (base / name).is_dir():
            return base / name
    raise ConfigurationError(
        f"lanesum's folder {name!r} is neither in {_CHECKOUT} nor in {_SHARE}.",
        "Reinstall lanesum, or run it from a checkout.",
    )
