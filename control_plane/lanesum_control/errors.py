# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the control plane."""

from __future__ import annotations

from lanesum_fabric.errors import ControlError


class SwitchUnreachableError(ControlError):
    """No server of the switch's protocol answers at the address."""


class NotPrimaryError(ControlError):
    """Another controller is primary at the switch."""


class AdmissionError(ControlError):
    """A job cannot be admitted: no slots, an unknown host, a codec without enough lane bits."""


class QuotaError(AdmissionError):
    """A switch cannot guarantee the requested slots; the message has the numbers."""

    def __init__(self, what: str, next_step: str = "", *, job: int = 0, switch: str = "") -> None:
        super().__init__(what, next_step)
        self.job = job
        self.switch = switch


class StoreError(ControlError):
    """The controller's state has another version, is broken, in use, or away."""


class NotLeaderError(StoreError):
    """Another controller leads: this one is its standby, or was replaced by it."""


class SchemaError(StoreError):
    """The file is no state file, or has a schema version that this controller does not read.

    ``found`` is the version; None for a file of another program.
    """

    def __init__(self, what: str, next_step: str = "", *, found: int | None = None) -> None:
        super().__init__(what, next_step)
        self.found = found


class UnknownJobError(ControlError):
    """No such job is admitted."""


class UnknownSwitchError(ControlError):
    """The controller does not control such a switch."""
