# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Data files of the installed packages, and the root of a checkout.

Each package carries its data files below ``share``. In the repository these are links to the top-level folders
(``p4src``, ``topologies``, ``faults``); a wheel holds copies.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from lanesum.errors import ConfigurationError

_CHECKOUT = Path(__file__).resolve().parents[2]


def checkout_root() -> Path | None:
    """Return the repository's root when the package runs from a checkout, else None."""
    return _CHECKOUT if (_CHECKOUT / "p4src" / "bmv2" / "main.p4").exists() else None


def directory(name: str, package: str = "lanesum_fabric") -> Path:
    """Return the data folder ``name`` of ``package``, for example ``p4src/build``.

    Raises ConfigurationError: the package or its folder is missing.
    """
    spec = importlib.util.find_spec(package)
    for base in () if spec is None else spec.submodule_search_locations or ():
        folder = Path(base) / "share" / name
        if folder.is_dir():
            return folder.resolve()
    raise ConfigurationError(
        f"Missing data folder {name!r} of package {package}.",
        f"Reinstall {package.replace('_', '-')}, or run lanesum from a checkout.",
    )
