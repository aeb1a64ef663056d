# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action profiles and action selectors, which hold the actions of indirect tables.

P4Runtime specification, section "ActionProfileMember & ActionProfileGroup".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from lanesum_switch.api import ActionCall, AlreadyExistsError, InvalidArgumentError, NotFoundError, TableFullError
from lanesum_switch.bmv2 import ir

T = TypeVar("T")


class ActionProfileMembers:
    """An action profile or selector.

    Each table that uses the profile appends a function to ``changed``, which rebuilds the table's rows.
    """

    def __init__(
        self,
        name: str,
        size: int,
        with_selector: bool,
        actions: tuple[ir.Action, ...],
        lock: AbstractContextManager[object],
    ) -> None:
        self.name = name
        self.size = size
        self.with_selector = with_selector
        self.actions = actions
        self.members_by_id: dict[int, ActionCall] = {}
        self.changed: list[Callable[[], None]] = []
        self._groups: dict[int, list[tuple[int, int]]] = {}
        self._group_sizes: dict[int, int] = {}
        self._lock = lock

    def insert_member(self, member_id: int, action: ActionCall) -> None:
        """Add a member.

        Raises AlreadyExistsError, TableFullError or InvalidArgumentError.
        """
        with self._lock:
            if member_id in self.members_by_id:
                raise AlreadyExistsError(f"Action profile {self.name} already has a member {member_id}.")
            if self.size and len(self.members_by_id) >= self.size:
                raise TableFullError(
                    f"Action profile {self.name} is full: it holds {self.size} members. Delete one first."
                )
            self._check_action(action)
            self.members_by_id[member_id] = action

    def modify_member(self, member_id: int, action: ActionCall) -> None:
        """Replace the action of a member. Raises NotFoundError or InvalidArgumentError."""
        with self._lock:
            self.require_member(member_id)
            self._check_action(action)
            self.members_by_id[member_id] = action
            self._notify()

    def delete_member(self, member_id: int) -> None:
        """Remove a member. Raises NotFoundError, or InvalidArgumentError while a group or a table uses it."""
        with self._lock:
            self.require_member(member_id)
            for group, members in self._groups.items():
                if any(member == member_id for member, _ in members):
                    raise InvalidArgumentError(
                        f"Member {member_id} of {self.name} is in group {group}: remove it from the group first."
                    )
            self._delete(self.members_by_id, member_id, f"member {member_id}")

    def members(self) -> dict[int, ActionCall]:
        """Return a copy of all members, by id."""
        with self._lock:
            return dict(self.members_by_id)

    def insert_group(self, group_id: int, members: Sequence[tuple[int, int]], max_size: int) -> None:
        """Add a group of (member id, weight) pairs; ``max_size`` bounds the sum of the weights (0: no bound).

        Raises AlreadyExistsError, NotFoundError, TableFullError or InvalidArgumentError.
        """
        with self._lock:
            if not self.with_selector:
                raise InvalidArgumentError(f"Action profile {self.name} has no selector and cannot have groups.")
            if group_id in self._groups:
                raise AlreadyExistsError(f"Action profile {self.name} already has a group {group_id}.")
            self._check_group(members, max_size)
            self._groups[group_id] = list(members)
            self._group_sizes[group_id] = max_size

    def modify_group(self, group_id: int, members: Sequence[tuple[int, int]]) -> None:
        """Replace the members of a group. Raises NotFoundError, TableFullError or InvalidArgumentError."""
        with self._lock:
            self.require_group(group_id)
            self._check_group(members, self._group_sizes[group_id])
            self._groups[group_id] = list(members)
            self._notify()

    def delete_group(self, group_id: int) -> None:
        """Remove a group. Raises NotFoundError, or InvalidArgumentError while a table uses it."""
        with self._lock:
            self.require_group(group_id)
            self._delete(self._groups, group_id, f"group {group_id}")

    def groups(self) -> dict[int, list[tuple[int, int]]]:
        """Return a copy of all groups, by id: (member id, weight) pairs."""
        with self._lock:
            return {number: list(members) for number, members in self._groups.items()}

    # For tables; the caller holds the lock

    def require_member(self, member_id: int) -> None:
        """Raise NotFoundError for an unknown member."""
        if member_id not in self.members_by_id:
            raise NotFoundError(f"Action profile {self.name} has no member {member_id}.")

    def require_group(self, group_id: int) -> None:
        """Raise NotFoundError for an unknown group."""
        if group_id not in self._groups:
            raise NotFoundError(f"Action profile {self.name} has no group {group_id}.")

    def group_calls(self, group_id: int) -> list[tuple[ActionCall, int]]:
        """Return (action, weight) of each member of a group."""
        return [(self.members_by_id[member], weight) for member, weight in self._groups[group_id]]

    def _delete(self, kept: dict[int, T], number: int, what: str) -> None:
        removed = kept.pop(number)
        try:
            self._notify()
        except KeyError:
            kept[number] = removed
            self._notify()
            raise InvalidArgumentError(f"A table entry uses {what} of {self.name}: delete the entry first.") from None

    def _notify(self) -> None:
        for refresh in self.changed:
            refresh()

    def _check_group(self, members: Sequence[tuple[int, int]], max_size: int) -> None:
        for member, weight in members:
            self.require_member(member)
            if weight < 1:
                raise InvalidArgumentError(
                    f"Member {member} of {self.name} has weight {weight}; a weight is at least 1."
                )
        weights = sum(weight for _, weight in members)
        if 0 < max_size < weights:
            raise TableFullError(
                f"The weights of a group of {self.name} sum to {weights}, more than its maximum size of {max_size}."
            )

    def _check_action(self, action: ActionCall) -> None:
        spec = next((a for a in self.actions if a.name == action.action), None)
        if spec is None:
            raise InvalidArgumentError(f"Action profile {self.name} has no action {action.action}.")
        check_arguments(spec, action.args)


def check_arguments(spec: ir.Action, args: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError if the arguments do not fit an action's parameters."""
    if len(args) != len(spec.params):
        raise InvalidArgumentError(
            f"Action {spec.name} has {len(spec.params)} parameters, but {len(args)} arguments were given."
        )
    for param, value in zip(spec.params, args, strict=True):
        if not 0 <= value < 1 << param.bits:
            raise InvalidArgumentError(
                f"{value} does not fit parameter {param.name} of {spec.name}, which has {param.bits} bits."
            )
