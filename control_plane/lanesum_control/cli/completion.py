# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Completion scripts of shells, made by shtab of all installed commands."""

from __future__ import annotations

import argparse
from typing import Any

import shtab

from lanesum.cli.app import COMMANDS
from lanesum_control.cli.tree import DescribedCommand, commands, installed


def script(shell: str) -> str:
    """Return the completion script of ``bash``, ``zsh`` or ``fish``."""
    root = argparse.ArgumentParser(prog="lanesum")
    root.add_argument("--version", action="store_true", help="show the version")
    _complete_files(root.add_argument("--config", help="configuration file"))
    below = root.add_subparsers()
    for name in installed():
        parser = below.add_parser(name, help=COMMANDS[name].summary)
        parser.add_argument("--version", action="store_true", help="show the version of the package")
        subcommands = None
        for one in commands(name):
            if len(one.words) == 1:
                _add(parser, one)
            else:
                subcommands = subcommands or parser.add_subparsers()
                _add(subcommands.add_parser(one.words[1], help=one.summary), one)
    return shtab.complete(root, shell)


def _add(parser: argparse.ArgumentParser, command: DescribedCommand) -> None:
    for part in (*command.arguments, *command.options):
        settings: dict[str, Any] = {"help": part.help.replace("%", "%%")}
        if part.flags and part.kind is bool:
            parser.add_argument(*part.flags, *([part.off] if part.off else []), action="store_true", **settings)
            continue
        settings["choices"] = part.choices or None
        if not part.flags:
            settings["nargs"] = None if part.required else "?"
        action = parser.add_argument(*(part.flags or (part.name,)), **settings)
        if not part.choices and part.kind is str:
            _complete_files(action)


def _complete_files(action: argparse.Action) -> None:
    action.complete = shtab.FILE  # type: ignore[attr-defined]
