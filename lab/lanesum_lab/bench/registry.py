# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of benchmarks: one declaration for each, of which ``lanesum bench`` makes a command.

A new benchmark is a module of this package that registers a :class:`Benchmark`, and a line in ``_BUILT_IN`` below.
"""

from __future__ import annotations

import dataclasses
import importlib
import shlex
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lanesum.errors import ConfigurationError
from lanesum_lab.numbers import positive_number

_BUILT_IN = (
    "switch",
    "faults",
    "allreduce",
    "sparse",
    "server",
    "transport",
    "nmse",
    "codec",
    "learning",
    "tta",
    "step",
    "sites",
    "forecast",
)
_OPTION = "option"

Result = dict[str, Any]
Rows = Callable[[Result], Iterable[tuple[str, ...]]]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class BenchmarkOption:
    """Option of a benchmark's command.

    Attributes:
        flag: long name on the command line.
        kind: type of the value; of its items if ``is_list``.
        is_list: True for several values with a separator between them.
    """

    field: str
    flag: str
    kind: type
    is_list: bool
    help: str
    low: float | None
    separator: str

    def parse(self, text: str) -> tuple[Any, ...]:
        """Return the values of a list. Raises ConfigurationError."""
        parts = text.split(self.separator) if text else []
        if self.kind is str:
            return tuple(parts)
        return tuple(positive_number(self.flag, one, self.kind, or_zero=self.low == 0) for one in parts)


def option(default: _Value, text: str, *, flag: str = "", low: float | None = None, separator: str = ",") -> _Value:
    """Return a field of settings that the command line has as an option.

    Args:
        flag: long name on the command line; by default that of the field.
        low: smallest value; 0 permits zeros in a list, whose values are positive otherwise.
        separator: character between the values of a tuple.
    """
    made: Any = dataclasses.field(default=default, metadata={_OPTION: (text, flag, low, separator)})
    return typing.cast(_Value, made)


def repeats(default: int) -> int:
    """Return the field of an option ``--repeats``."""
    return option(default, "Runs of every case; cases take turns.", low=1)


def seconds(default: float) -> float:
    """Return the field of an option ``--seconds``."""
    return option(default, "Length of a run.", flag="--seconds", low=0.1)


def chunks(default: int) -> int:
    """Return the field of an option ``--chunks``."""
    return option(default, "Packets of a round, from every worker.", low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: name on the command line.
        summary: one sentence about what it measures, beside which peer, and what it needs.
        quick: settings for one short run; those of a complete run are the defaults of its class.
        run: measures with some settings, and returns a JSON-ready object.
        tables: titles and rows of each table. A table without rows is not shown.
        picture: draws a result, if a page shows the picture.
        notes: sentences that a result also says.
    """

    name: str
    summary: str
    quick: Any
    run: Callable[[Any], Result]
    tables: tuple[tuple[tuple[str, ...], Rows], ...]
    picture: Callable[[Result, Path], None] | None = None
    notes: Callable[[Result], Iterable[str]] = lambda _result: ()

    def register(self) -> None:
        """Add the benchmark to the registry. Raises ConfigurationError if its name is taken."""
        if self.name in _benchmarks:
            raise ConfigurationError(f"A benchmark named {self.name!r} exists.", "Choose another name.")
        _benchmarks[self.name] = self

    def options(self) -> list[BenchmarkOption]:
        """Return the options of the command."""
        hints = typing.get_type_hints(type(self.quick))
        return [
            _described(field, hints[field.name])
            for field in dataclasses.fields(self.quick)
            if _OPTION in field.metadata
        ]

    def settings(self, given: Mapping[str, Any], *, quick: bool) -> Any:
        """Return the settings with the values of some options by field; None stands for the default.

        Raises ConfigurationError.
        """
        chosen = {
            one.field: one.parse(given[one.field]) if one.is_list else given[one.field]
            for one in self.options()
            if given.get(one.field) is not None
        }
        return dataclasses.replace(self.quick if quick else type(self.quick)(), **chosen)

    def command(self, given: Mapping[str, Any], *, quick: bool) -> str:
        """Return the command line that repeats a run with these options."""
        words = ["lanesum", "bench", self.name, *(["--quick"] if quick else [])]
        for one in self.options():
            if given.get(one.field) is not None:
                words += [one.flag, str(given[one.field])]
        return shlex.join(words)


def _described(field: dataclasses.Field[Any], hint: Any) -> BenchmarkOption:
    text, flag, low, separator = field.metadata[_OPTION]
    if isinstance(hint, types.UnionType):
        (hint,) = (one for one in typing.get_args(hint) if one is not type(None))
    is_list = typing.get_origin(hint) is tuple
    kind = typing.get_args(hint)[0] if is_list else hint
    return BenchmarkOption(field.name, flag or f"--{field.name.replace('_', '-')}", kind, is_list, text, low, separator)


_benchmarks: dict[str, Benchmark] = {}


def benchmarks() -> dict[str, Benchmark]:
    """Return all benchmarks by name: built-in ones first, in an order that does not depend on imports."""
    for name in _BUILT_IN:
        importlib.import_module(f"lanesum_lab.bench.{name}")
    built_in = [name.replace("_", "-") for name in _BUILT_IN]
    return {name: _benchmarks[name] for name in dict.fromkeys([*built_in, *_benchmarks])}
