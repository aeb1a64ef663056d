# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of the entities of other people's programs: their handlers, and the state that these work on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from lanesum_switch.p4runtime.entries import EntryStore
from lanesum_switch.p4runtime.other_programs.digests import DigestManager
from lanesum_switch.p4runtime.other_programs.idle import IdleMonitor
from lanesum_switch.p4runtime.other_programs.profiles import ProfileManager, profile_of
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler
from lanesum_switch.p4runtime.p4info import P4InfoIndex, TableInfo
from lanesum_switch.runtime.tables import MatchTable


class SweepOwner(Protocol):
    """Parts of the pipeline manager that sweeps use."""

    lock: threading.RLock
    scheduler: Scheduler

    def send(self, message: Any) -> None:
        """Send a stream message to the primary."""


@dataclass(frozen=True, slots=True)
class OtherEntities:
    """State of one pipeline. ``profiles``: by id."""

    profiles: Mapping[int, ProfileManager]
    digests: DigestManager
    idle: IdleMonitor

    @classmethod
    def of(
        cls,
        index: P4InfoIndex,
        profiles: Mapping[int, ProfileManager],
        store: EntryStore,
        target: Callable[[TableInfo], MatchTable],
        owner: SweepOwner,
    ) -> Self:
        """Return the state of a new pipeline; ``target`` returns a table of the switch."""
        digests = DigestManager(index, owner.scheduler, owner.send)
        idle = IdleMonitor(index.tables.values(), store, target, owner.lock, owner.scheduler, owner.send)
        return cls(profiles, digests, idle)

    def close(self) -> None:
        """Stop all sweeps."""
        self.idle.close()
        self.digests.close()

    def asked(self, profile_id: int) -> list[ProfileManager]:
        """Return the action profiles that a read names; 0 names all. Raises StatusError INVALID_ARGUMENT."""
        return [profile_of(self.profiles, profile_id)] if profile_id else list(self.profiles.values())


class Handlers(NamedTuple):
    """Functions of one kind of entity; both raise StatusError."""

    write: Callable[[OtherEntities, int, Any], None]
    read: Callable[[OtherEntities, Any, Any], None]


def _write_member(others: OtherEntities, kind: int, message: Any) -> None:
    profile_of(others.profiles, message.action_profile_id).write_member(kind, message)


def _read_members(others: OtherEntities, message: Any, response: Any) -> None:
    for manager in others.asked(message.action_profile_id):
        manager.read_members(message, response)


def _write_group(others: OtherEntities, kind: int, message: Any) -> None:
    profile_of(others.profiles, message.action_profile_id).write_group(kind, message)


def _read_groups(others: OtherEntities, message: Any, response: Any) -> None:
    for manager in others.asked(message.action_profile_id):
        manager.read_groups(message, response)


HANDLERS = {
    "action_profile_member": Handlers(_write_member, _read_members),
    "action_profile_group": Handlers(_write_group, _read_groups),
    "digest_entry": Handlers(
        lambda others, kind, message: others.digests.write(kind, message),
        lambda others, message, response: others.digests.read(message, response),
    ),
}
