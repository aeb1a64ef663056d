# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topology files: find, read, and say in which line something is wrong."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from lanesum import resources
from lanesum.errors import ConfigurationError
from lanesum_control.topology.model import Topology


class TopologyError(ConfigurationError):
    """A topology file that cannot be used; the message starts with ``file:line``."""


def available() -> dict[str, Path]:
    """Topologies that lanesum ships, by name."""
    return {path.stem: path for path in sorted(resources.directory("topologies").glob("*.yaml"))}


def load(name_or_path: str) -> Topology:
    """A shipped topology by name, or one from a file. Raises TopologyError with file and line."""
    known = available()
    path = known.get(name_or_path, Path(name_or_path))
    try:
        text = path.read_text()
    except OSError as error:
        raise TopologyError(
            f"There is no topology {name_or_path!r}: {error.strerror}.",
            f"Shipped ones: {', '.join(known)}; or give the path of a YAML file.",
        ) from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Topology:
    """A topology from YAML text; ``source`` is named in errors. Raises TopologyError."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise TopologyError(f"{source}:{line}: {error.problem}.") from error
    if root is None:
        raise TopologyError(f"{source}:1: the file is empty.")
    try:
        return Topology.model_validate(data)
    except ValidationError as error:
        problems = []
        for detail in error.errors():
            location = tuple(detail.get("ctx", {}).get("path", detail["loc"]))
            line = _line(root, location)
            where = ".".join(str(part) for part in location if part != "[key]")
            message = detail["msg"].removeprefix("Value error, ")
            problems.append(f"{source}:{line}: {f'{where}: ' if where else ''}{message}")
        raise TopologyError("; ".join(problems) + ".") from error


def _line(node: yaml.Node, location: tuple[int | str, ...]) -> int:
    """Line of the deepest node that ``location`` leads to; a key that is missing is its parent's business."""
    line = node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line
