# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the control plane that programs and tables of switches raise too."""

from __future__ import annotations

from lanesum.errors import ConfigurationError, LanesumError


class ControlError(LanesumError):
    """Base class of the errors of controllers and switches."""


class PipelineError(ControlError):
    """The switch refused the program, or its P4Info does not match this controller."""


class SwitchWriteError(ControlError):
    """The switch refused one or more updates; the message names each of them."""


class NotOfferedError(SwitchWriteError):
    """A job requires operations that a switch's program lacks, or would be confused with another job there."""


class TableSizeError(ConfigurationError):
    """Hosts of a network need more entries of a switch's table than it has."""

    def __init__(self, switch: str, table: str, size: int, needed: int) -> None:
        super().__init__(
            f"The network needs {needed} entries of table {table} at switch {switch}, which has {size}.",
            "Each host needs one, and so does the address of the switch: use a network with fewer hosts.",
        )
        self.switch, self.table, self.size, self.needed = switch, table, size, needed
