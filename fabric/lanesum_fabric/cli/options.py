# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from lanesum import environment
from lanesum.rpc import controller as rpc

DEFAULT_CONTROLLER = f"127.0.0.1:{rpc.DEFAULT_PORT}"

Controller = Annotated[
    str, typer.Option(help="host:port of the controller, or of several by commas.", envvar=environment.CONTROLLER)
]
Topology = Annotated[str, typer.Option(help="Shipped topology or YAML file.")]
Loopback = Annotated[bool, typer.Option("--loopback", help="Hosts at their addresses below 127.0.0.0/8, over UDP.")]
Tls = Annotated[
    Path | None, typer.Option(envvar=environment.TLS, help="Folder with ca.crt, tls.crt and tls.key (lanesum certs).")
]
Metrics = Annotated[
    str | None, typer.Option(help="Serve Prometheus metrics at this address: host:port, by HTTP, or HTTPS with --tls.")
]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option(help="Write logs with their time to standard error.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Accept an address that others reach, without TLS and identified callers.")
]

_Options = TypeVar("_Options")


def options_of(
    kind: type[_Options],
) -> Callable[[Callable[[typer.Context, _Options], None]], Callable[..., None]]:
    """Return a decorator of a command: its options are the fields of the dataclass ``kind``, of which it gets one.

    The annotations of the fields have the help of the options.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [one.replace(annotation=hints[one.name]) for one in inspect.signature(kind).parameters.values()]

    def decorate(run: Callable[[typer.Context, _Options], None]) -> Callable[..., None]:
        def command(context: typer.Context, **given: Any) -> None:
            run(context, kind(**given))

        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        functools.update_wrapper(command, run, updated=())
        del command.__wrapped__  # type: ignore[attr-defined]  # its signature is another one
        command.__annotations__ = {"context": typer.Context, **hints}
        command.__signature__ = inspect.Signature([context, *fields])  # type: ignore[attr-defined]
        return command

    return decorate
