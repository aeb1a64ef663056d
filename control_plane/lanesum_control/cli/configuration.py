# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration file of all commands: TOML, a table for each command, its options as keys.

An option of the command line precedes the environment, the environment the file, and the file the default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lanesum.cli.app import COMMANDS
from lanesum.errors import ConfigurationError
from lanesum_control.cli.tree import DescribedCommand, Option, commands, installed

_MAX_BYTES = 1 << 20


class TomlTable(BaseModel):
    """Table of the file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)


def arguments(path: str, words: Sequence[str]) -> list[str]:
    """Return the command line ``words`` with the options of the file at ``path`` before those that it has.

    Raises ConfigurationError: the file cannot be read, or has unknown keys or wrong values for this command.
    """
    name, rest = words[0], list(words[1:])
    data, known = _read(path), commands(name)
    _check(path, [name], data)
    values = data.get(name, {})
    main = next((one for one in known if len(one.words) == 1), None)
    line = [name, *(_given(main, values, rest) if main is not None else [])]
    for one in known:
        if len(one.words) == 2 and rest[:1] == [one.words[1]]:
            line += [rest.pop(0), *_given(one, values.get(one.words[1], {}), rest)]
            break
    return [*line, *rest]


def check(path: str) -> None:
    """Check the tables of all installed commands; those of other commands are ignored. Raises ConfigurationError."""
    _check(path, installed(), _read(path))


def model(names: Sequence[str]) -> type[TomlTable]:
    """Return the model of a file with the tables of these commands."""
    tables: dict[str, Any] = {}
    for name in names:
        fields: dict[str, Any] = {}
        for one in commands(name):
            options = {option.name: _field(option) for option in one.options}
            if len(one.words) == 1:
                fields |= options
            elif options:
                table = _table(" ".join(one.words), options, one.summary)
                fields[one.words[1]] = (table, _described(one.summary))
        tables[name] = (_table(name, fields, COMMANDS[name].summary), _described(COMMANDS[name].summary))
    return _table("lanesum.toml", tables, "Configuration of the lanesum commands.")


def _table(name: str, fields: dict[str, Any], summary: str) -> type[TomlTable]:
    aliased = {
        f"field_{number}": (Annotated[kind, Field(alias=key)], default)
        for number, (key, (kind, default)) in enumerate(fields.items())
    }
    table: type[TomlTable] = create_model(name, __base__=TomlTable, __doc__=summary, **aliased)  # type: ignore[call-overload]
    return table


def _field(option: Option) -> tuple[Any, Any]:
    kind: Any = Literal[option.choices] if option.choices else option.kind
    if option.low is not None or option.high is not None:
        kind = Annotated[kind, Field(ge=option.low, le=option.high)]
    return list[kind] if option.repeated else kind, _described(option.help, option.default)


def _described(text: str, default: object = None) -> Any:
    """Return a field that may be missing: the command has the default, the schema shows it."""
    without = None if default is not None else lambda schema: schema.pop("default")
    return Field(default, description=text, json_schema_extra=without)


def _given(command: DescribedCommand, values: dict[str, Any], line: Sequence[str]) -> Iterator[str]:
    """Yield the options of a table, but those that the command line or the environment has."""
    for option in command.options:
        value = values.get(option.name)
        typed = option.repeated and any(word.split("=")[0] in option.flags for word in line)
        if value is None or typed or (option.variable and os.environ.get(option.variable)):
            continue
        flag = option.flags[-1]
        if option.kind is bool:
            yield from [flag] if value else [option.off] if option.off else []
        else:
            yield from (f"{flag}={one}" for one in (value if option.repeated else [value]))


def _read(path: str) -> dict[str, Any]:
    """Return the tables of the file, each of a command. Raises ConfigurationError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES} bytes")
        tables = tomllib.loads(content.decode())
        repr(tables)  # raises ValueError for a hexadecimal number that Python does not print
    except OSError as error:
        raise ConfigurationError(f"Cannot read the configuration file {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no TOML file: {error}.") from error
    for table in tables:
        if table not in COMMANDS:
            raise ConfigurationError(f"{path}: no command is called {table!r}.", f"Allowed: {', '.join(COMMANDS)}.")
    return tables


def _check(path: str, names: Sequence[str], data: dict[str, Any]) -> None:
    """Check the tables of these commands. Raises ConfigurationError."""
    of = model(names)
    try:
        of.model_validate({name: data[name] for name in names if name in data})
    except ValidationError as error:
        found = [_problem(path, of, one) for one in error.errors()]
        raise ConfigurationError(" ".join(map(str, found))) from error


def _problem(path: str, of: type[BaseModel], problem: Any) -> ConfigurationError:
    """Return one problem: the key, its value, and what is allowed."""
    *tables, key = problem["loc"]
    where = ".".join(map(str, [*tables, key]))
    if problem["type"] == "model_type":
        return ConfigurationError(f"{path}: invalid {where}={problem['input']!r}: expected a table.")
    if problem["type"] != "extra_forbidden":
        expected = f"{problem['msg'][0].lower()}{problem['msg'][1:]}"
        return ConfigurationError(f"{path}: invalid {where}={problem['input']!r}: {expected}.")
    for table in tables:
        annotation: Any = next(one.annotation for one in of.model_fields.values() if one.alias == table)
        of = annotation
    allowed = ", ".join(str(one.alias) for one in of.model_fields.values())
    return ConfigurationError(f"{path}: unknown key {where}.", f"Allowed: {allowed or 'none'}.")
