# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of all errors that lanesum raises."""

from __future__ import annotations

import copyreg
from typing import Any


class LanesumError(Exception):
    """An error with a next step.

    ``str(error)`` is one line: ``what``, then ``next_step`` if there is one. The command line prints it and exits with
    ``exit_code``.

    Args:
        what: the event, with its values.
        next_step: what to do next.
    """

    exit_code = 1

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(f"{what} {next_step}".strip())
        self.what = what
        self.next_step = next_step

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a pickle that keeps all attributes.

        By default an exception is rebuilt from ``args``, which is the message alone; no constructor accepts that.
        """
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigurationError(LanesumError):
    """A setting, file or argument is invalid."""

    exit_code = 2


class MissingToolError(LanesumError):
    """A program, privilege or package is missing."""

    exit_code = 3
