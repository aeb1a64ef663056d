# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a check says."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(enum.StrEnum):
    """OK; NOTE: something is slower or left out; PROBLEM: lanesum cannot be used."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """``name``: of the check; ``what``: was found; ``next_step``: what to do, empty where nothing has to be done."""

    name: str
    status: Status
    what: str
    next_step: str = ""


def ok(name: str, what: str) -> Finding:
    return Finding(name, Status.OK, what)


def note(name: str, what: str, next_step: str = "") -> Finding:
    return Finding(name, Status.NOTE, what, next_step)


def problem(name: str, what: str, next_step: str) -> Finding:
    return Finding(name, Status.PROBLEM, what, next_step)
