# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of codecs: a name for each factory.

Codecs register themselves when their module is imported: built-in ones with this package, those of other packages when
a name is not found or all names are listed. Command line, control plane, benchmarks and tests read this registry.
"""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lanesum import environment
from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError

#: Entry points of packages with codecs; each names a module that registers them when it is imported.
GROUP = "lanesum.codecs"

#: Codec of a training that names none, also not in its environment.
DEFAULT_CODEC = "thc"

#: A codec in words: its name, with parameters as in ``thc error=0.01``. Or a mapping with ``name`` and parameters.
CodecSpec: TypeAlias = str | Mapping[str, Any]

#: Builds a codec from the keyword ``workers`` and keyword parameters of its own.
CodecFactory = Callable[..., Codec]

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class _Entry:
    factory: CodecFactory
    preset: Mapping[str, Any]
    parameters: tuple[str, ...]
    optional_lookup: bool


_entries: dict[str, _Entry] = {}


def register(
    name: str, factory: CodecFactory, *, preset: Mapping[str, Any] | None = None, optional_lookup: bool = False
) -> None:
    """Make ``factory`` available to :func:`get` under ``name``.

    Args:
        name: lower-case words of letters and digits, joined by hyphens.
        factory: takes the keyword ``workers`` and returns a :class:`lanesum.codecs.base.Codec` of this name.
        preset: parameters of ``factory`` that differ from its defaults under this name.
        optional_lookup: ``factory`` takes ``lookup=False`` for aggregation points that have no code table.

    Raises ConfigurationError: the name is invalid or taken, or the factory lacks a parameter.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"Invalid codec name {name!r}.", "Use lower-case letters and digits, with single hyphens between words."
        )
    if name in _entries:
        raise ConfigurationError(f"A codec {name!r} is already registered.", "Choose another name.")
    parameters = tuple(sorted(inspect.signature(factory).parameters))
    missing = {"workers", *(preset or {}), *(["lookup"] if optional_lookup else [])} - set(parameters)
    if missing:
        raise ConfigurationError(
            f"The factory of codec {name!r} has no parameter {', '.join(map(repr, sorted(missing)))}.",
            f"Its parameters: {', '.join(parameters)}.",
        )
    _entries[name] = _Entry(factory, dict(preset or {}), parameters, optional_lookup)


@functools.cache
def _load_installed() -> None:
    """Import the codecs of other packages, once: the modules of their entry points register them."""
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            point.load()
        except ImportError as error:
            warnings.warn(f"The codecs of {point.value} cannot be loaded: {error}.", stacklevel=2)


def names() -> list[str]:
    """Return the registered names, sorted."""
    _load_installed()
    return sorted(_entries)


def parse(spec: CodecSpec) -> tuple[str, dict[str, Any]]:
    """Return the name of a codec and its parameters: numbers, ``true``, ``false``, ``none`` or words.

    Raises ConfigurationError: ``spec`` is neither ``NAME KEY=VALUE ...`` nor a mapping with ``name``.
    """
    if isinstance(spec, Mapping):
        parameters = dict(spec)
        name = parameters.pop("name", None)
        if not isinstance(name, str) or not all(isinstance(key, str) for key in parameters):
            raise not_a_spec(spec)
        return name, parameters
    if not isinstance(spec, str):
        raise not_a_spec(spec)
    name, *pairs = spec.split() or [""]
    parameters = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key and equals and text) or key in parameters:
            raise not_a_spec(spec)
        parameters[key] = _value(text)
    return name, parameters


def default_codec() -> str:
    """Return the spelling of the codec of a training that names none: LANESUM_CODEC, else ``DEFAULT_CODEC``."""
    return os.environ.get(environment.CODEC) or DEFAULT_CODEC


def spelled(spec: CodecSpec) -> str:
    """Return the text for a codec that :func:`parse` reads. Raises ConfigurationError as ``parse`` does."""
    name, parameters = parse(spec)
    for key, value in parameters.items():
        if value is not None and not isinstance(value, bool | int | float | str):
            raise ConfigurationError(
                f"Parameter {key} of codec {name!r} is {type(value).__name__}, which has no text for the controller.",
                "Pass a codec object, and admit the job with lanesum job admit.",
            )
    texts = (value if isinstance(value, str) else str(value).lower() for value in parameters.values())
    return " ".join([name, *(f"{key}={text}" for key, text in zip(parameters, texts, strict=True))])


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def not_a_spec(spec: object) -> ConfigurationError:
    """Return the error for a value that is neither a codec nor its spelling."""
    return ConfigurationError(
        f"Invalid codec {spec!r}: expected a name, then KEY=VALUE.",
        "For example 'thc error=0.01', or {'name': 'thc', 'error': 0.01} in Python.",
    )


def get(spec: CodecSpec, *, workers: int, **parameters: Any) -> Codec:
    """Build a codec for a job of ``workers`` workers.

    Args:
        spec: name of the codec, also with parameters, such as ``thc error=0.01``; or a mapping with ``name``.
        parameters: further parameters. All parameters override the preset's.

    Raises ConfigurationError: the name or a parameter is unknown, or the codec refuses a value, such as more workers
    than its lanes hold.
    """
    name, own = parse(spec)
    parameters = {**parameters, **own}
    entry = _entry(name)
    known = [one for one in entry.parameters if one != "workers"]
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ConfigurationError(
            f"Codec {name!r} has no parameter {', '.join(map(repr, unknown))}.",
            f"Known parameters: {', '.join(known)}.",
        )
    try:
        return entry.factory(workers=workers, **{**entry.preset, **parameters})
    except (TypeError, ValueError) as error:
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        raise ConfigurationError(f"Codec {name!r} cannot be built with {given or 'these workers'}: {error}.") from error


def for_job(spec: CodecSpec, *, workers: int, lookup: bool) -> Codec:
    """Build a codec with the parameters that all workers of a job derive from its ``spec`` alone.

    ``lookup``: the aggregation points of the job look codes up in a table. Where they do not, a codec with an optional
    lookup is built without a table. Raises the exceptions of :func:`get`.
    """
    optional = _entry(parse(spec)[0]).optional_lookup
    return get(spec, workers=workers, **({"lookup": False} if optional and not lookup else {}))


def _entry(name: str) -> _Entry:
    if name not in _entries:
        _load_installed()
    if name not in _entries:
        raise ConfigurationError(f"There is no codec {name!r}.", f"Known codecs: {', '.join(names())}.")
    return _entries[name]
