# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors: the actions of indirect tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from lanesum_switch.api import (
    ActionCall,
    ActionSpec,
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    TableFullError,
)


class ActionProfile:
    """Implements ``api.ActionProfile``. Tables register in ``changed`` to rebuild their rows."""

    def __init__(
        self,
        name: str,
        size: int,
        with_selector: bool,
        actions: tuple[ActionSpec, ...],
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

    # api.ActionProfile

    def insert_member(self, member_id: int, action: ActionCall) -> None:
        """Raises AlreadyExists, TableFull or InvalidArgument errors."""
        with self._lock:
            if member_id in self.members_by_id:
                raise AlreadyExistsError(f"Action profile {self.name} has a member {member_id} already.")
            if self.size and len(self.members_by_id) >= self.size:
                raise TableFullError(f"Action profile {self.name} holds {self.size} members, which is its size.")
            self._check_action(action)
            self.members_by_id[member_id] = action

    def modify_member(self, member_id: int, action: ActionCall) -> None:
        """Raises NotFound or InvalidArgument errors."""
        with self._lock:
            self.require_member(member_id)
            self._check_action(action)
            self.members_by_id[member_id] = action
            self._notify()

    def delete_member(self, member_id: int) -> None:
        """Raises NotFound, or InvalidArgument while a group uses the member."""
        with self._lock:
            self.require_member(member_id)
            for group, members in self._groups.items():
                if any(member == member_id for member, _ in members):
                    raise InvalidArgumentError(f"Member {member_id} of {self.name} is still in group {group}.")
            action = self.members_by_id.pop(member_id)
            try:
                self._notify()
            except KeyError:
                self.members_by_id[member_id] = action
                self._notify()
                raise InvalidArgumentError(f"Member {member_id} of {self.name} is still in use by a table.") from None

    def members(self) -> dict[int, ActionCall]:
        """A copy of all members."""
        with self._lock:
            return dict(self.members_by_id)

    def insert_group(self, group_id: int, members: Sequence[tuple[int, int]], max_size: int) -> None:
        """Raises AlreadyExists, NotFound or InvalidArgument errors."""
        with self._lock:
            if not self.with_selector:
                raise InvalidArgumentError(f"Action profile {self.name} has no selector, so no groups.")
            if group_id in self._groups:
                raise AlreadyExistsError(f"Action profile {self.name} has a group {group_id} already.")
            self._check_group(members, max_size)
            self._groups[group_id] = list(members)
            self._group_sizes[group_id] = max_size

    def modify_group(self, group_id: int, members: Sequence[tuple[int, int]]) -> None:
        """Raises NotFound or InvalidArgument errors."""
        with self._lock:
            self.require_group(group_id)
            self._check_group(members, self._group_sizes[group_id])
            self._groups[group_id] = list(members)
            self._notify()

    def delete_group(self, group_id: int) -> None:
        """Raises NotFound."""
        with self._lock:
            self.require_group(group_id)
            members = self._groups.pop(group_id)
            try:
                self._notify()
            except KeyError:
                self._groups[group_id] = members
                self._notify()
                raise InvalidArgumentError(f"Group {group_id} of {self.name} is still in use by a table.") from None

    def groups(self) -> dict[int, list[tuple[int, int]]]:
        """A copy of all groups: (member id, weight) pairs."""
        with self._lock:
            return {number: list(members) for number, members in self._groups.items()}

    # For tables; the lock is held

    def require_member(self, member_id: int) -> None:
        """Raises NotFoundError where there is no such member."""
        if member_id not in self.members_by_id:
            raise NotFoundError(f"Action profile {self.name} has no member {member_id}.")

    def require_group(self, group_id: int) -> None:
        """Raises NotFoundError where there is no such group."""
        if group_id not in self._groups:
            raise NotFoundError(f"Action profile {self.name} has no group {group_id}.")

    def group_calls(self, group_id: int) -> list[ActionCall]:
        """The actions of a group, each as often as its weight says."""
        return [self.members_by_id[member] for member, weight in self._groups[group_id] for _ in range(weight)]

    def _notify(self) -> None:
        for refresh in self.changed:
            refresh()

    def _check_group(self, members: Sequence[tuple[int, int]], max_size: int) -> None:
        for member, weight in members:
            self.require_member(member)
            if weight < 1:
                raise InvalidArgumentError(f"Member {member} of {self.name} cannot have weight {weight}.")
        if max_size and sum(weight for _, weight in members) > max_size:
            raise TableFullError(f"A group of {self.name} may hold {max_size} members (weights counted).")

    def _check_action(self, action: ActionCall) -> None:
        spec = next((a for a in self.actions if a.name == action.action), None)
        if spec is None:
            raise InvalidArgumentError(f"Action profile {self.name} has no action {action.action}.")
        if len(action.args) != len(spec.params):
            raise InvalidArgumentError(f"Action {spec.name} has {len(spec.params)} parameters, not {len(action.args)}.")
        for param, value in zip(spec.params, action.args, strict=True):
            if not 0 <= value < 1 << param.bits:
                raise InvalidArgumentError(f"Parameter {param.name} of {spec.name} has {param.bits} bits, not {value}.")
