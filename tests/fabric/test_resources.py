# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Data files that the packages read are part of their wheels."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum_fabric import resources
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("project", "package", "folder"),
    [
        ("fabric", "lanesum_fabric", "p4src/build"),
        ("fabric", "lanesum_fabric", "p4src/build/tofino"),
        ("fabric", "lanesum_fabric", "p4src/shared"),
        ("fabric", "lanesum_fabric", "topologies"),
        ("softswitch", "lanesum_switch", "faults"),
    ],
)
def test_package_data_of_every_data_folder_is_complete(project: str, package: str, folder: str) -> None:
    settings = tomllib.loads((ROOT / project / "pyproject.toml").read_text())
    patterns: list[str] = settings["tool"]["setuptools"]["package-data"]["*"]
    base = ROOT / project / package
    installed = {path for pattern in patterns for path in base.glob(pattern) if path.is_file()}
    files = {path for path in (base / "share" / folder).iterdir() if path.is_file()}
    assert files
    assert files <= installed
    assert resources.directory(folder, package) == ROOT / folder


def test_directory_of_missing_folder_names_the_package() -> None:
    with pytest.raises(
        ConfigurationError, match=r"Missing data folder 'nothing' of package lanesum_fabric\. Reinstall"
    ):
        resources.directory("nothing")
    with pytest.raises(ConfigurationError, match="of package lanesum_absent"):
        resources.directory("nothing", "lanesum_absent")


def test_checkout_root_in_a_checkout_is_the_repository() -> None:
    assert resources.checkout_root() == Path(ROOT)
