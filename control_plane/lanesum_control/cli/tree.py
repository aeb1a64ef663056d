# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All commands as data: their arguments and options, read from argparse parsers and Typer applications.

The configuration file, the page of commands and the completion of shells are made of it.
"""

from __future__ import annotations

import argparse
import enum
import functools
import importlib.metadata
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from lanesum.cli.app import COMMANDS, GROUP, command, usage
from lanesum_fabric.cli.options import TyperMain

# Variables that an argparse option is read from, as its help names them.
_VARIABLE = re.compile(r"default: (LANESUM_[A-Z_]+)")
_PLAIN = (bool, int, float)
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a command, or positional argument.

    Attributes:
        flags: names on the command line, the long one last; empty for a positional argument.
        off: flag that turns a flag off, if there is one.
        name: name of a positional argument, or the long option without dashes.
        kind: bool for a flag, else the type of a value.
        repeated: True if it can be given several times.
        choices: values that are allowed, if only some are.
        required: True if the command needs it.
        default: default, or None.
        variable: environment variable that it is read from, or None.
        help: what it does.
    """

    flags: tuple[str, ...]
    name: str
    kind: type
    help: str
    off: str | None = None
    repeated: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    required: bool = False
    default: object = None
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class DescribedCommand:
    """Command with its arguments and options, or subcommand such as ``job admit``."""

    words: tuple[str, ...]
    summary: str
    arguments: tuple[Option, ...]
    options: tuple[Option, ...]


def installed() -> list[str]:
    """Return the names of the commands whose packages are installed, in the order of ``lanesum --help``."""
    points = {point.name for point in importlib.metadata.entry_points(group=GROUP)}
    return [name for name in COMMANDS if name in points]


@functools.cache
def commands(name: str) -> tuple[DescribedCommand, ...]:
    """Return the command ``name`` and its subcommands. Raises LanesumError if its package is not installed."""
    main = command(name)
    if isinstance(main, TyperMain):
        return tuple(_of_typer(name, main.app))
    parser: argparse.ArgumentParser = sys.modules[main.__module__].parser()
    found = [_of_action(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    positional = tuple(one for one in found if not one.flags)
    return (DescribedCommand((name,), parser.description or "", positional, tuple(one for one in found if one.flags)),)


def overview() -> str:
    """Return the list of all installed commands as Markdown."""
    return f"```text\n{usage()}\n```"


def page(names: Iterable[str]) -> str:
    """Return the reference of commands and their subcommands as Markdown."""
    lines: list[str] = []
    for one in (one for name in names for one in commands(name)):
        arguments = [part.name if part.required else f"[{part.name}]" for part in one.arguments]
        lines += ["", f"## `{' '.join(['lanesum', *one.words, *arguments])}`", "", one.summary]
        parts = [*one.arguments, *one.options]
        lines += [""] * bool(parts)
        for part in parts:
            lines += textwrap.wrap(
                f"- {_described(part)}",
                _WIDTH,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines[1:])


def _described(part: Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*part.flags, *([part.off] if part.off else [])] or [part.name])
    facts = [", ".join(map(str, part.choices)) or ("flag" if part.kind is bool else part.kind.__name__)]
    facts += [f"from {part.low:g}"] if part.low is not None else []
    facts += [f"to {part.high:g}"] if part.high is not None else []
    facts += ["repeatable"] * part.repeated + ["required"] * part.required
    facts += [f"default `{part.default}`"] if part.default not in (None, False, "") else []
    facts += [f"environment `{part.variable}`"] if part.variable else []
    return f"{names} ({', '.join(facts)}): {part.help}"


def _of_action(action: argparse.Action) -> Option:
    names = tuple(action.option_strings)
    flag = isinstance(action, argparse._StoreTrueAction)
    text = (action.help or "") % {"default": action.default}
    variable = _VARIABLE.search(text)
    return Option(
        flags=names,
        name=names[-1].lstrip("-") if names else str(action.metavar or action.dest),
        kind=bool if flag else action.type if action.type in _PLAIN and isinstance(action.type, type) else str,
        help=text,
        choices=tuple(action.choices or ()),
        required=action.required and action.nargs != argparse.REMAINDER,
        # The environment of the caller is no default of the command.
        default=None if variable else action.default,
        variable=variable[1] if variable else None,
    )


def _of_typer(name: str, app: typer.Typer) -> Iterator[DescribedCommand]:
    root = app.registered_callback
    if root is not None and root.callback is not None:
        yield _of_function((name,), root.callback)
    for one in app.registered_commands:
        assert one.callback is not None
        if root is None and len(app.registered_commands) == 1 and not app.info.no_args_is_help:
            yield _of_function((name,), one.callback)
        else:
            yield _of_function((name, one.name or one.callback.__name__.replace("_", "-")), one.callback)


def _of_function(words: tuple[str, ...], function: Callable[..., Any]) -> DescribedCommand:
    hints = typing.get_type_hints(function, include_extras=True)
    parts = [
        _of_parameter(parameter, hints[parameter.name])
        for parameter in inspect.signature(function).parameters.values()
        if hints[parameter.name] is not typer.Context
    ]
    summary = inspect.getdoc(function) or ""
    arguments = tuple(part for part in parts if not part.flags)
    return DescribedCommand(words, summary, arguments, tuple(part for part in parts if part.flags))


def _of_parameter(parameter: inspect.Parameter, hint: Any) -> Option:
    info = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, OptionInfo | ArgumentInfo)), None)
    kind = hint.__origin__ if info is not None else hint
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(one for one in typing.get_args(kind) if one is not type(None))
    repeated = typing.get_origin(kind) is list
    if repeated:
        (kind,) = typing.get_args(kind)
    required = parameter.default is inspect.Parameter.empty
    dashed = parameter.name.replace("_", "-")
    flags: tuple[str, ...] = ()
    off = None
    if isinstance(info, OptionInfo):
        # Within Annotated, the first name stands where the default would.
        named = tuple(one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str))
        flags = named or (f"--{dashed}",)
        off = f"--no-{dashed}" if kind is bool and not named else None
    default = parameter.default
    return Option(
        flags=flags,
        name=flags[-1].lstrip("-") if flags else dashed,
        kind=kind if kind in _PLAIN else str,
        help=info.help or "" if info is not None else "",
        off=off,
        repeated=repeated,
        choices=_choices(kind),
        low=info.min if info is not None else None,
        high=info.max if info is not None else None,
        required=required,
        default=None if required else str(default) if isinstance(default, Path | enum.Enum) else default,
        variable=info.envvar if isinstance(info, OptionInfo) and isinstance(info.envvar, str) else None,
    )


def _choices(kind: Any) -> tuple[str, ...]:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return tuple(str(member.value) for member in kind)
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
