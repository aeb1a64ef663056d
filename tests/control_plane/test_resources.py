# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the packages read beside Python is part of an installation."""

from __future__ import annotations

import tomllib

from lanesum_control.resources import checkout_root


def test_every_file_that_is_looked_up_is_installed() -> None:
    root = checkout_root()
    assert root is not None
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    data_files = settings["tool"]["setuptools"]["data-files"]
    for folder in ("p4src/build", "p4src/shared", "topologies"):
        installed = {path for pattern in data_files[f"share/lanesum/{folder}"] for path in root.glob(pattern)}
        there = {path for path in (root / folder).iterdir() if path.is_file()}
        assert there
        assert installed == there
