# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Base of every error that lanesum raises: what happened, and what to do next."""

from __future__ import annotations

import copyreg
from typing import Any


class LanesumError(Exception):
    """An error with a next step.

    ``str(error)`` is one line: ``what`` followed, where there is one, by ``next_step``. The command line prints
    it and exits with ``exit_code``.
    """

    exit_code = 1

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(f"{what} {next_step}".strip())
        self.what = what
        self.next_step = next_step

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process borders with all that they say of themselves: exceptions are made anew from ``args``,
        which is the message alone, and no constructor need take it."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigurationError(LanesumError):
    """A setting, file or argument that cannot be used as given."""

    exit_code = 2


class MissingToolError(LanesumError):
    """A program, privilege or package that this operation needs is not there."""

    exit_code = 3
