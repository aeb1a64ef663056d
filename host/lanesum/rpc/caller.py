# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Callers of a service: name, role and address."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class CallerRole(enum.StrEnum):
    """Rights of a caller: everything; its own jobs; one place in one job."""

    OPERATOR = "operator"
    TENANT = "tenant"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a service.

    ``name`` is that of its token or certificate, empty where the service asks for none; ``source`` is its address.
    ``token_hash`` is the hash of its token; empty for a caller without one that can be withdrawn.
    """

    name: str = ""
    role: CallerRole = CallerRole.OPERATOR
    source: str = ""
    token_hash: str = field(default="", compare=False, repr=False)

    @property
    def label(self) -> str:
        """Name in logs and events. A worker has the name of its job, which may also be that of a tenant or operator."""
        return f"worker of {self.name}" if self.name and self.role is CallerRole.WORKER else self.name


#: The process itself, and every peer of a service that asks for no identity.
UNAUTHENTICATED = Caller()
