# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typer commands as entry points of the ``lanesum`` command, and options that several commands share."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from lanesum import environment
from lanesum.cli.app import EXIT_INTERRUPTED
from lanesum.errors import ConfigurationError
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


class TyperMain:
    """Entry point ``lanesum NAME`` of a Typer application."""

    def __init__(self, name: str, app: typer.Typer) -> None:
        self.name = name
        self.app = app

    def __call__(self, argv: Sequence[str]) -> int:
        """Run the command; return the exit status. Raises ConfigurationError for unknown options and arguments."""
        try:
            status = self.app(args=list(argv), prog_name=f"lanesum {self.name}", standalone_mode=False)
        except typer.Exit as stop:
            return stop.exit_code
        except typer.TyperException as error:
            message = error.format_message().rstrip(".")
            raise ConfigurationError(f"{message}.", f"See lanesum {self.name} --help.") from error
        except typer.Abort:
            return EXIT_INTERRUPTED
        return status if isinstance(status, int) else 0


def typer_main(name: str, command: Callable[..., object] | typer.Typer) -> TyperMain:
    """Return the entry point ``lanesum name`` of a Typer application or of a single command."""
    if isinstance(command, typer.Typer):
        return TyperMain(name, command)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    return TyperMain(name, app)
