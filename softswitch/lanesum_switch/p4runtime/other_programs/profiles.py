# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Members, groups and one-shots of action profiles (specification, section 9.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lanesum_switch.api import ActionCall
from lanesum_switch.p4runtime.entries import EntryStore, Handles
from lanesum_switch.p4runtime.matches import check_action_id, parse_action, write_action
from lanesum_switch.p4runtime.p4info import P4InfoIndex, ProfileInfo
from lanesum_switch.p4runtime.status import Code, StatusError, by_type, invalid, on_target
from lanesum_switch.runtime.action_profiles import ActionProfileMembers

# Maximum sum of the weights of a group in any program.
MAX_WEIGHTS = 1 << 16
# Maximum number of copies of all members of a profile.
MAX_COPIES = 1 << 20


@dataclass(slots=True)
class _Member:
    call: ActionCall
    handles: list[int]


@dataclass(slots=True)
class _Slot:
    """One member of a group."""

    weight: int
    watch: Any  # the message that carries the watch kind, for reading back


@dataclass(slots=True)
class _Group:
    handle: int
    max_size: int
    members: dict[int, _Slot] = field(default_factory=dict)


@dataclass(slots=True)
class OneShot:
    actions: list[tuple[ActionCall, Any]]
    members: list[int]


class ProfileManager:
    """One action profile.

    A profile is programmed either by members and groups or by one-shots; this may change only while it is empty (PI
    does not mix them, a restriction that the specification allows for selectors).
    """

    def __init__(
        self,
        index: P4InfoIndex,
        info: ProfileInfo,
        target: Callable[[], ActionProfileMembers],
        store: EntryStore,
    ) -> None:
        self._index = index
        self._info = info
        self._target = target
        self._store = store
        self._tables = [t.id for t in index.tables.values() if t.profile == info.id]
        self._members: dict[int, _Member] = {}
        self._groups: dict[int, _Group] = {}
        self._oneshots: dict[int, OneShot] = {}
        self._member_handles = Handles()
        self._group_handles = Handles()

    def require_manual(self) -> None:
        """Raise StatusError INVALID_ARGUMENT while one-shots are installed."""
        if self._oneshots:
            raise invalid(
                f"{self._info.name} is programmed by one-shots: delete their entries before you use members or groups"
            )

    def require_oneshot(self) -> None:
        """Raise StatusError INVALID_ARGUMENT while members or groups are installed."""
        if self._members or self._groups:
            raise invalid(
                f"{self._info.name} is programmed by members and groups: delete them before you use one-shots"
            )

    def write_member(self, kind: int, message: Any) -> None:
        """Apply one update of a member (specification, section 9.2.1). Raises StatusError."""
        self.require_manual()
        by_type(kind, self._insert_member, self._modify_member, self._delete_member)(message)

    def _member_call(self, message: Any) -> ActionCall:
        self._check_action(message.action)
        return parse_action(self._index, message.action)

    def _check_action(self, action: Any) -> None:
        check_action_id(self._index, action.action_id)
        if action.action_id not in self._info.actions:
            name = self._index.actions[action.action_id].name
            raise invalid(f"{name} is not an action of {self._info.name}")

    def _insert_member(self, message: Any) -> None:
        call = self._member_call(message)
        if message.member_id in self._members:
            raise StatusError(Code.ALREADY_EXISTS, f"{self._info.name} has a member {message.member_id} already")
        with on_target(f"a new member of {self._info.name}"):
            self._target().insert_member(message.member_id, call)
        self._members[message.member_id] = _Member(call, [self._member_handles.take()])

    def _modify_member(self, message: Any) -> None:
        call = self._member_call(message)
        member = self._member(message.member_id)
        with on_target(f"a change of member {message.member_id} of {self._info.name}"):
            self._target().modify_member(message.member_id, call)
        member.call = call

    def _delete_member(self, message: Any) -> None:
        member_id = message.member_id
        member = self._member(member_id)
        in_group = any(member_id in group.members for group in self._groups.values())
        if in_group or self._store.uses_member(self._tables, member_id):
            raise StatusError(
                Code.UNKNOWN,
                f"Member {member_id} of {self._info.name} is in use: remove it from groups and entries first",
            )
        with on_target(f"deleting member {member_id} of {self._info.name}"):
            self._target().delete_member(member_id)
        for handle in member.handles:
            self._member_handles.give_back(handle)
        del self._members[member_id]

    def _member(self, member_id: int) -> _Member:
        member = self._members.get(member_id)
        if member is None:
            raise StatusError(Code.NOT_FOUND, f"{self._info.name} has no member {member_id}")
        return member

    def has_member(self, member_id: int) -> bool:
        return member_id in self._members

    def read_members(self, message: Any, response: Any) -> None:
        """Read members; id 0 reads all. One with weight w in a group appears w times, as on BMv2."""
        self.require_manual()
        if message.member_id:
            chosen = [(0, i) for i in self._members if i == message.member_id]
        else:
            chosen = sorted((h, i) for i, m in self._members.items() for h in m.handles)
        for _, member_id in chosen:
            entity = response.entities.add().action_profile_member
            entity.action_profile_id = self._info.id
            entity.member_id = member_id
            write_action(self._index, self._members[member_id].call, entity.action)

    def write_group(self, kind: int, message: Any) -> None:
        """Apply one update of a group (specification, section 9.2.2). Raises StatusError."""
        self.require_manual()
        by_type(kind, self._insert_group, self._modify_group, self._delete_group)(message)

    def _insert_group(self, message: Any) -> None:
        if message.max_size < 0:
            raise invalid(f"The maximum size of a group cannot be {message.max_size}: give at least 0")
        limit = self._info.max_group_size
        if limit > 0 and message.max_size > limit:
            raise invalid(
                f"Groups of {self._info.name} have at most {limit} members (max_group_size), not {message.max_size}"
            )
        if message.group_id in self._groups:
            raise StatusError(Code.ALREADY_EXISTS, f"{self._info.name} has a group {message.group_id} already")
        if self._info.with_selector:
            with on_target(f"a new group of {self._info.name}"):
                self._target().insert_group(message.group_id, [], message.max_size or limit)
        self._groups[message.group_id] = _Group(self._group_handles.take(), message.max_size)
        # A failure from here on leaves an empty group behind, as on BMv2.
        self._set_members(message)

    def require_usable_group(self, group_id: int | None) -> None:
        """Raise StatusError UNKNOWN for a group that no entry may use in BMv2.

        Groups can be made in any profile, but only a selector can choose a member, and only if there is one.
        ``group_id`` is None for the group of a one-shot, which is never empty.
        """
        if not self._info.with_selector:
            raise StatusError(
                Code.UNKNOWN, f"{self._info.name} has no selector: its entries can use members, not groups"
            )
        if group_id is not None and not self._groups[group_id].members:
            raise StatusError(
                Code.UNKNOWN,
                f"Group {group_id} of {self._info.name} is empty: give it a member before an entry uses it",
            )

    def _modify_group(self, message: Any) -> None:
        group = self._group(message.group_id)
        if message.max_size not in (0, group.max_size):
            raise invalid(
                f"The maximum size of group {message.group_id} is {group.max_size}:"
                f" insert another group to have {message.max_size}"
            )
        self._set_members(message)

    def _set_members(self, message: Any) -> None:
        for member in message.members:
            if member.weight <= 0:
                raise invalid(f"Member {member.member_id} of a group has weight {member.weight}: give at least 1")
        group = self._groups[message.group_id]
        self._check_weights(sum(member.weight for member in message.members), group.max_size)
        slots: dict[int, _Slot] = {}
        for member in message.members:
            self._member(member.member_id)
            if member.member_id in slots:
                raise invalid(f"Member {member.member_id} is twice in group {message.group_id}: use its weight")
            slots[member.member_id] = _Slot(member.weight, member)
        self._check_copies(slots)
        if self._info.with_selector:
            with on_target(f"a change of group {message.group_id} of {self._info.name}"):
                self._target().modify_group(message.group_id, [(i, s.weight) for i, s in slots.items()])
        touched = set(slots) | set(group.members)
        group.members = slots
        self._fit_handles(touched)

    def _check_weights(self, weights: int, max_size: int = 0) -> None:
        # Of those that are set: PI has no limit without max_size and max_group_size, but makes a copy for each weight.
        limit = min(size for size in (max_size, self._info.max_group_size, self._info.size, MAX_WEIGHTS) if size > 0)
        if weights > limit:
            raise StatusError(
                Code.RESOURCE_EXHAUSTED, f"The weights of a group are {weights}: its maximum size is {limit}"
            )

    def _check_copies(self, slots: dict[int, _Slot]) -> None:
        copies = sum(len(member.handles) for member in self._members.values())
        new = sum(max(0, slot.weight - len(self._members[i].handles)) for i, slot in slots.items())
        if new and copies + new > MAX_COPIES:
            raise StatusError(
                Code.RESOURCE_EXHAUSTED,
                f"The members of {self._info.name} need {copies + new} copies, more than {MAX_COPIES}:"
                " give smaller weights",
            )

    def _fit_handles(self, member_ids: set[int]) -> None:
        """Make as many copies of a member as its largest weight in any group, because BMv2 has no weights.

        As in PI, all copies are made before any is deleted, both in the order of ids.
        """
        wanted = {member_id: self._largest_weight(member_id) for member_id in sorted(member_ids)}
        for member_id, weight in wanted.items():
            handles = self._members[member_id].handles
            while len(handles) < weight:
                handles.append(self._member_handles.take())
        for member_id, weight in wanted.items():
            handles = self._members[member_id].handles
            while len(handles) > weight:
                self._member_handles.give_back(handles.pop())

    def _largest_weight(self, member_id: int) -> int:
        weights = [g.members[member_id].weight for g in self._groups.values() if member_id in g.members]
        return max([1, *weights])

    def _delete_group(self, message: Any) -> None:
        group_id = message.group_id
        group = self._group(group_id)
        if self._store.uses_group(self._tables, group_id):
            raise StatusError(
                Code.UNKNOWN, f"Group {group_id} of {self._info.name} is in use: delete the entries with it first"
            )
        if self._info.with_selector:
            with on_target(f"deleting group {group_id} of {self._info.name}"):
                self._target().delete_group(group_id)
        self._group_handles.give_back(group.handle)
        del self._groups[group_id]
        self._fit_handles(set(group.members))

    def _group(self, group_id: int) -> _Group:
        group = self._groups.get(group_id)
        if group is None:
            raise StatusError(Code.NOT_FOUND, f"{self._info.name} has no group {group_id}")
        return group

    def has_group(self, group_id: int) -> bool:
        return group_id in self._groups

    def read_groups(self, message: Any, response: Any) -> None:
        """Read groups; id 0 reads all, an unknown id nothing."""
        self.require_manual()
        for group_id, group in sorted(self._groups.items(), key=lambda item: item[1].handle):
            if message.group_id not in (0, group_id):
                continue
            entity = response.entities.add().action_profile_group
            entity.action_profile_id = self._info.id
            entity.group_id = group_id
            entity.max_size = group.max_size
            for member_id, slot in sorted(group.members.items()):
                member = entity.members.add(member_id=member_id, weight=slot.weight)
                _copy_watch(slot.watch, member)

    def prepare_oneshot(self, action_set: Any) -> OneShot:
        """Check an ``ActionProfileActionSet`` (specification, section 9.2.3).

        Raises StatusError: also UNIMPLEMENTED for an empty set, which PI does not support.
        """
        self.require_oneshot()
        actions = action_set.action_profile_actions
        if not actions:
            raise StatusError(Code.UNIMPLEMENTED, "One-shots without any action are not supported: give at least one")
        for action in actions:
            self._check_action(action.action)
        for action in actions:
            if action.weight <= 0:
                raise invalid(f"An action of a one-shot has weight {action.weight}: give at least 1")
        self._check_weights(sum(action.weight for action in actions))
        calls = [(parse_action(self._index, action.action), action) for action in actions]
        return OneShot(calls, [])

    def insert_oneshot(self, oneshot: OneShot) -> int:
        """Install the members and the group of a one-shot; return the group's number in the switch.

        Raises StatusError: UNKNOWN if the switch refuses; then nothing remains.
        """
        target = self._target()
        group = self._group_handles.take()
        try:
            with on_target(f"a one-shot of {self._info.name}"):
                for call, _ in oneshot.actions:
                    handle = self._member_handles.take()
                    oneshot.members.append(handle)
                    target.insert_member(handle, call)
                weights = [message.weight for _, message in oneshot.actions]
                target.insert_group(group, list(zip(oneshot.members, weights, strict=True)), sum(weights))
        except StatusError:
            installed = target.members()
            for handle in oneshot.members:
                if handle in installed:
                    target.delete_member(handle)
                self._member_handles.give_back(handle)
            self._group_handles.give_back(group)
            raise
        self._oneshots[group] = oneshot
        return group

    def delete_oneshot(self, group: int) -> None:
        """Remove a one-shot that no entry uses."""
        oneshot = self._oneshots.pop(group)
        target = self._target()
        with on_target(f"deleting a one-shot of {self._info.name}"):
            target.delete_group(group)
            for handle in oneshot.members:
                target.delete_member(handle)
        for handle in oneshot.members:
            self._member_handles.give_back(handle)
        self._group_handles.give_back(group)

    def is_oneshot(self) -> bool:
        return bool(self._oneshots)

    def write_oneshot(self, group: int, message: Any) -> None:
        """Fill an ``ActionProfileActionSet`` for a read, in the order of the write."""
        for call, original in self._oneshots[group].actions:
            action = message.action_profile_actions.add(weight=original.weight)
            write_action(self._index, call, action.action)
            _copy_watch(original, action)


def _copy_watch(source: Any, destination: Any) -> None:
    kind = source.WhichOneof("watch_kind")
    if kind is not None:
        setattr(destination, kind, getattr(source, kind))
