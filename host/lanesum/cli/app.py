# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ``lanesum`` command line: loads a command from its package, runs it, and reports errors and signals.

Installed packages add their commands through the entry-point group ``lanesum.commands``. An entry point refers to a
function that takes the remaining arguments and returns the exit status.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NamedTuple, NoReturn

from lanesum import environment
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError

GROUP = "lanesum.commands"
# An entry point of this group adds the options of a configuration file to a command line.
_CONFIGURATION_GROUP = "lanesum.configuration"
# Exit statuses of shells for SIGINT and SIGTERM.
EXIT_INTERRUPTED = 130
_EXIT_TERMINATED = 143

Main = Callable[[Sequence[str]], int]


class Command(NamedTuple):
    """A command: the distribution that provides it, and its line in ``lanesum --help``."""

    distribution: str
    summary: str


COMMANDS = {
    "launch": Command("lanesum", "Train with your own script: start what is missing, and run torchrun."),
    "run": Command("lanesum-lab", "Train on a topology, with and without lanesum, and compare."),
    "server": Command("lanesum", "Run an aggregation server."),
    "switch": Command("lanesum-switch", "Run the embedded switch."),
    "controller": Command("lanesum-control", "Run the controller: program switches and admit jobs."),
    "job": Command("lanesum-control", "Admit, list, resize and remove jobs."),
    "top": Command("lanesum-control", "Show jobs, workers, switches and servers live."),
    "certs": Command("lanesum-control", "Make a certificate authority for a lab, and issue certificates."),
    "token": Command("lanesum-control", "Give and withdraw tokens of operators and tenants."),
    "topology": Command("lanesum-control", "Check and show topology files."),
    "capture": Command("lanesum-switch", "Capture packets at a network interface, for Wireshark."),
    "faults": Command("lanesum-switch", "Check and show fault plans."),
    "plan": Command("lanesum-lab", "Forecast training steps, and the needs of a job, on any network."),
    "bench": Command("lanesum-lab", "Measure lanesum beside its peers."),
    "doctor": Command("lanesum", "Report what lanesum uses on this machine, and what is missing."),
    "config": Command("lanesum-control", "Check a configuration file, and print its schema."),
    "completion": Command("lanesum-control", "Print the completion script of a shell."),
}


class ArgumentParser(argparse.ArgumentParser):
    """Parser that raises ConfigurationError for wrong arguments instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise ConfigurationError."""
        raise ConfigurationError(f"{message[0].upper()}{message[1:]}.", f"See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    An error is one line with a next step. Only bugs have a traceback.
    """
    signal.signal(signal.SIGTERM, _terminate)
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(usage())
            return 0 if arguments else 2
        if arguments[-1] == "--version" and len(arguments) < 3:
            name = COMMANDS[entry_point(arguments[0]).name].distribution if len(arguments) == 2 else "lanesum"
            print(f"{name} {importlib.metadata.version(name)}")
            return 0
        name, *rest = _with_configuration(arguments)
        status = command(name)(rest)
    except SystemExit as stop:  # --help of an argument parser, or SIGTERM
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except LanesumError as error:
        print(f"{_emphasize('lanesum:')} {error}", file=sys.stderr)
        return error.exit_code
    if status == EXIT_INTERRUPTED:
        print(f"{_emphasize('lanesum:')} interrupted; all parts were stopped.", file=sys.stderr)
    return status


def command(name: str) -> Main:
    """Load the command ``name``.

    Raises:
        ConfigurationError: no lanesum package has such a command.
        MissingToolError: the package that provides it, or a package that it needs, is not installed.
    """
    try:
        main: Main = entry_point(name).load()
    except ImportError as error:
        raise MissingToolError(
            f"The command {name!r} cannot be loaded: {error}.",
            f"pip install --force-reinstall {COMMANDS[name].distribution}",
        ) from error
    return main


def entry_point(name: str) -> importlib.metadata.EntryPoint:
    """Return the entry point of a command. Raises ConfigurationError or MissingToolError, as ``command`` does."""
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        raise ConfigurationError(
            f"No such command {name!r}.", f"Did you mean {close[0]!r}?" if close else "See lanesum --help."
        )
    found = importlib.metadata.entry_points(group=GROUP, name=name)
    if not found:
        raise MissingToolError(
            f"The command {name!r} is not installed: it comes with {COMMANDS[name].distribution}.",
            f"pip install {COMMANDS[name].distribution}",
        )
    return next(iter(found))


def usage() -> str:
    """Return the text of ``lanesum --help``: all commands, including those whose package is not installed."""
    installed = {point.name for point in importlib.metadata.entry_points(group=GROUP)}
    lines = [
        "Usage: lanesum [--config FILE] COMMAND [OPTIONS]",
        "",
        "In-network gradient aggregation: gradients are summed while compressed, in a P4 switch.",
        "",
        "Commands:",
    ]
    width = max(map(len, COMMANDS))
    for name, known in COMMANDS.items():
        missing = "" if name in installed else f" (pip install {known.distribution})"
        lines.append(f"  {name:<{width}}  {known.summary}{missing}")
    return "\n".join([*lines, "", "lanesum COMMAND --help shows the options of a command, --version its package."])


def _with_configuration(arguments: list[str]) -> list[str]:
    """Return the command line with the options of the configuration file. Raises LanesumError."""
    # Parts that a command starts get all of their options from it.
    path = os.environ.pop(environment.CONFIG, None)
    if arguments[0] == "--config":
        if len(arguments) < 3:
            raise ConfigurationError("--config needs a file and a command.", "See lanesum --help.")
        path, arguments = arguments[1], arguments[2:]
    if not path or arguments[0] not in COMMANDS:
        return arguments
    for reader in importlib.metadata.entry_points(group=_CONFIGURATION_GROUP):
        return list(reader.load()(path, arguments))
    raise MissingToolError("Configuration files need the package lanesum-control.", "pip install lanesum-control")


def _emphasize(text: str) -> str:
    return f"\x1b[1;31m{text}\x1b[0m" if sys.stderr.isatty() else text


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Turn SIGTERM into an exception, so that context managers close their resources."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(_EXIT_TERMINATED)
