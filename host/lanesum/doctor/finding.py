# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Findings of checks."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.StrEnum):
    """Severity. NOTE: something is slower or unavailable; PROBLEM: lanesum cannot be used."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        what: the finding, as a sentence.
        next_step: what to do; empty if nothing has to be done.
    """

    name: str
    status: Severity
    what: str
    next_step: str = ""


def ok(name: str, what: str) -> Finding:
    """Return a finding with status OK."""
    return Finding(name, Severity.OK, what)


def note(name: str, what: str, next_step: str = "") -> Finding:
    """Return a finding with status NOTE."""
    return Finding(name, Severity.NOTE, what, next_step)


def problem(name: str, what: str, next_step: str) -> Finding:
    """Return a finding with status PROBLEM."""
    return Finding(name, Severity.PROBLEM, what, next_step)
