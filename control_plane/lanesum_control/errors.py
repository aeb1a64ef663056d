# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the control plane."""

from __future__ import annotations

from lanesum.errors import LanesumError


class ControlError(LanesumError):
    """Base of the control plane's errors."""


class SwitchUnreachableError(ControlError):
    """No P4Runtime server answers at the address."""


class NotPrimaryError(ControlError):
    """Another controller holds the switch."""


class PipelineError(ControlError):
    """The switch refused the program, or its P4Info is not the one this controller was written for."""


class SwitchWriteError(ControlError):
    """The switch refused one or more updates; the message names each of them."""


class NotOfferedError(SwitchWriteError):
    """A job asks for what a switch's program does not do, or cannot be told from another one there."""


class AdmissionError(ControlError):
    """A job cannot be admitted: no slots, an unknown host, a codec without room in its lanes."""


class QuotaError(AdmissionError):
    """A switch cannot guarantee a job the slots that it asks for; the message has the numbers."""

    def __init__(self, what: str, next_step: str = "", *, job: int = 0, switch: str = "") -> None:
        super().__init__(what, next_step)
        self.job = job
        self.switch = switch


class StoreError(ControlError):
    """The controller's state file is of another version, broken, or in use."""


class UnknownJobError(ControlError):
    """No such job is admitted."""
