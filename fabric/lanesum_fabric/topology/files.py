# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topology files: find and read them, with errors that name the line."""

from __future__ import annotations

from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum_fabric import resources, yaml_model
from lanesum_fabric.topology.model import Topology


class TopologyError(ConfigurationError):
    """A topology file that cannot be used; the message starts with ``file:line``."""


def available() -> dict[str, Path]:
    """Return the shipped topologies by name."""
    return {path.stem: path for path in sorted(resources.directory("topologies").glob("*.yaml"))}


def load(name_or_path: str) -> Topology:
    """Load a shipped topology by name, or one from a file. Raises TopologyError with file and line."""
    return yaml_model.load(Topology, "topology", name_or_path, available(), TopologyError)


def parse(text: str, source: str) -> Topology:
    """Parse a topology; ``source`` is named in errors. Raises TopologyError."""
    return yaml_model.parse(Topology, text, source, TopologyError)
