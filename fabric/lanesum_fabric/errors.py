# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the control plane that programs and tables of switches raise too."""

from __future__ import annotations

from lanesum.errors import LanesumError


class ControlError(LanesumError):
    """Base class of the errors of controllers and switches."""


class PipelineError(ControlError):
    """The switch refused the program, or its P4Info does not match this controller."""


class SwitchWriteError(ControlError):
    """The switch refused one or more updates; the message names each of them."""


class NotOfferedError(SwitchWriteError):
    """A job requires operations that a switch's program lacks, or would be confused with another job there."""
