# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""YAML files with a pydantic model, with errors that name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from lanesum.errors import LanesumError


class FileModel(BaseModel):
    """Part of a file: it refuses unknown fields and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)

# A topology of 1,024 workers has 100,000 characters and 12,000 values.
_MAX_CHARACTERS = 1 << 20
_MAX_VALUES = 1 << 17


def wrong(message: str, *path: str | int) -> PydanticCustomError:
    """Return an error for validators about the node at ``path``, found in a check of the whole file."""
    return PydanticCustomError("file", "{message}", {"message": message, "path": list(path)})


def schema_text(model: type[BaseModel]) -> str:
    """Return the JSON schema of a file, for editors (``schema.json`` beside the shipped files)."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def load(
    model: type[Model],
    kind: str,
    name_or_path: str | Path,
    known: Mapping[str, Path],
    error: type[LanesumError],
    context: dict[str, Any] | None = None,
) -> Model:
    """Load a shipped file by its name in ``known``, or another file. Raises ``error``, which names the ``kind``."""
    path = known.get(str(name_or_path), Path(name_or_path))
    return parse(model, read(kind, name_or_path, known, error), str(path), error, context)


def read(kind: str, name_or_path: str | Path, known: Mapping[str, Path], error: type[LanesumError]) -> str:
    """Return the text of a file of ``load``, not much more than it may have. Raises ``error``."""
    try:
        with known.get(str(name_or_path), Path(name_or_path)).open() as file:
            return file.read(_MAX_CHARACTERS + 1)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not text"
        raise error(
            f"Cannot read the {kind} {str(name_or_path)!r}: {reason}.",
            f"Use a shipped {kind} ({', '.join(known)}) or the path of a YAML file.",
        ) from problem


def parse(
    model: type[Model], text: str, source: str, error: type[LanesumError], context: dict[str, Any] | None = None
) -> Model:
    """Parse ``text`` as a ``model``.

    Args:
        text: YAML.
        source: named in errors.
        error: type of the error for invalid text; the message starts with ``source``, and the line if it is known.
        context: context for the model's validators.
    """
    try:
        if len(text) > _MAX_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_CHARACTERS} characters")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is not None and _num_values(root, {}) > _MAX_VALUES:
            raise ValueError(f"with its aliases it has more than {_MAX_VALUES} values")
        duplicate = _duplicate_key(root)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise error(f"{source}:{line}: {problem.problem}.") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        reason = str(problem).partition("\n")[0]
        raise error(f"{source}: invalid YAML: {reason}.") from problem
    if root is None:
        raise error(f"{source}:1: the file is empty.")
    if duplicate is not None:
        first, second = (key.start_mark.line + 1 for key in duplicate)
        raise error(
            f"{source}:{second}: duplicate key {duplicate[1].value!r}, which line {first} has already.",
            "Remove or rename one of the two.",
        )
    try:
        return model.model_validate(data, context=context)
    except ValidationError as problem:
        problems = []
        for location, message in problems_of(problem):
            problems.append(f"{source}:{line_of(root, location)}: {message}")
        raise error("; ".join(problems) + ".") from problem


def problems_of(error: ValidationError) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yield the location of each problem, and its message, which begins with the location."""
    for detail in error.errors():
        location = tuple(detail.get("ctx", {}).get("path", detail["loc"]))
        where = ".".join(str(part) for part in location if part != "[key]")
        yield location, f"{f'{where}: ' if where else ''}{detail['msg'].removeprefix('Value error, ')}"


def _num_values(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values of a node, an alias as often as it occurs; a node within itself exceeds any limit."""
    if id(node) not in known:
        known[id(node)] = _MAX_VALUES
        items = node.value if isinstance(node, yaml.CollectionNode) else []
        children = [one for pair in items for one in pair] if isinstance(node, yaml.MappingNode) else items
        known[id(node)] = 1 + sum(_num_values(child, known) for child in children)
    return known[id(node)]


def _duplicate_key(root: yaml.Node | None) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the first key that its mapping has already, after that one; None if all mappings have different keys.

    PyYAML would use the last of the values without an error (YAML 1.2.2, section 3.2.1.3).
    """
    found, visited = [], set()
    todo = [] if root is None else [root]
    while todo:
        node = todo.pop()
        if id(node) in visited:  # an alias
            continue
        visited.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys: dict[tuple[str, str], yaml.Node] = {}
            for key, value in node.value:
                todo += (key, value)
                if isinstance(key, yaml.ScalarNode):
                    first = keys.setdefault((key.tag, key.value), key)
                    found += [] if first is key else [(first, key)]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value
    return min(found, key=lambda keys: int(keys[1].start_mark.index), default=None)


def line_of(node: yaml.Node, location: tuple[int | str, ...]) -> int:
    """Return the line of the deepest node on the path ``location``; for a missing key, that of its parent."""
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
