# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reconciliation: read back the state of a switch, compare it with the desired state, and repair the difference.

Covers only the tables of the controller and the multicast groups. Deletions precede insertions, and a changed
membership is deleted before it is inserted: two jobs never own a range of slots at the same time.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanesum_control.switches.client import key_of
from lanesum_control.switches.switch import DELETE, INSERT, MODIFY, P4RuntimeSwitch
from lanesum_fabric.program.capabilities import JOB_TABLES, LOOKUP, MEMBER, ORIGIN, last_name
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.program.switch_job import HostPort, SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2

_GROUP = "multicast group"
_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    """An entry of a switch in a comparable form."""

    kind: str  # table, or _GROUP
    key: _Key
    value: Any
    entity: p4runtime_pb2.Entity


@dataclass(frozen=True, slots=True)
class _Difference:
    """Difference between an entry that was found and the wanted one; ``job`` and ``tag``: see ``_owner``."""

    job: int
    tag: int | None
    found: _Item | None
    wanted: _Item | None

    @property
    def kind(self) -> str:
        one = self.found or self.wanted
        assert one is not None
        return one.kind

    @property
    def is_written(self) -> bool:
        """The switch has an entry that is not wanted."""
        return self.found is not None

    def has_other_worker(self, names: P4InfoNames) -> bool:
        """Return True if a member entry admits a foreign host, or counts a member as another worker."""
        if self.found is None:
            return False
        workers = [names.read(one.entity.table_entry).params["worker"] for one in (self.found, self.wanted) if one]
        return self.wanted is None or workers[0] != workers[1]


@dataclass(frozen=True, slots=True)
class Repairs:
    """Repairs of a switch.

    Attributes:
        words: the repairs in words; empty if there were none.
        altered: numbers of the jobs whose sums can be wrong by entries that were not of this controller.
    """

    words: list[str]
    altered: frozenset[int]


def reconcile(
    switch: P4RuntimeSwitch,
    hosts: Sequence[HostPort],
    jobs: Sequence[SwitchJob],
    mark_above: int | None = None,
    *,
    is_settled: bool = False,
) -> Repairs:
    """Make ``switch`` hold exactly ``hosts`` and ``jobs``, and mark packets where ``mark_above`` or more wait.

    They wait at ports of hosts, or on their way to the pipe that combines partial sums.

    ``is_settled``: the switch held exactly these when it was last written to, so any difference is of another client.
    Else slots, roles and thresholds may differ, which change during an incarnation.

    Raises SwitchWriteError, SwitchUnreachableError, and NotOfferedError before anything is written.
    """
    names = _names(switch)
    switch.hold(jobs)
    wanted = _wanted(switch, hosts, jobs, mark_above)
    found = {item.key: item for item in _items(switch.connection.read(everything(switch)), names)}
    altered = _altered(names, jobs, found, wanted, is_settled=is_settled)
    unexpected = [item for key, item in found.items() if key not in wanted]
    missing = [item for key, item in wanted.items() if key not in found]
    changed = [item for key, item in wanted.items() if key in found and found[key].value != item.value]
    again = [item for item in changed if item.kind in (MEMBER, _GROUP)]
    in_place = [item for item in changed if item.kind not in (MEMBER, _GROUP)]
    # Membership is deleted first and inserted last: no other entry is used without it.
    leaving = sorted([*unexpected, *again], key=lambda item: item.kind != MEMBER)
    for members in (True, False):
        some = [item for item in leaving if (item.kind == MEMBER) is members]
        switch.connection.write([(DELETE, key_of(item.entity)) for item in some])
    switch.connection.write([(MODIFY, item.entity) for item in in_place])
    for members in (False, True):
        some = [item for item in (*missing, *again) if (item.kind == MEMBER) is members]
        # Groups in a request of their own, before the tables that refer to them.
        for groups in (True, False):
            switch.connection.write([(INSERT, i.entity) for i in some if (i.kind == _GROUP) is groups])
    repairs = [("deleted", unexpected), ("inserted", missing), ("corrected", changed)]
    return Repairs([f"{len(items)} {what} ({_kinds(items)})" for what, items in repairs if items], altered)


def _altered(
    names: P4InfoNames,
    jobs: Sequence[SwitchJob],
    found: Mapping[_Key, _Item],
    wanted: Mapping[_Key, _Item],
    *,
    is_settled: bool,
) -> frozenset[int]:
    """Return the jobs with entries that can have changed sums, see ``Repairs``.

    A missing entry has no effect on sums, except that of a code table: without it all codes are 0.
    """
    differences = [
        _Difference(*_owner(one, names, jobs), before, now)
        for key, one in {**found, **wanted}.items()
        for before, now in [(found.get(key), wanted.get(key))]
        if before is None or now is None or before.value != now.value
    ]
    tags = {job.job: job.tag for job in jobs}
    if is_settled:
        if any(one.is_written and one.kind == ORIGIN for one in differences):
            return frozenset(tags)  # any host may send as a member
        return frozenset(one.job for one in differences if one.job in tags and (one.is_written or one.kind == LOOKUP))
    members = [_owner(item, names, jobs) for item in found.values() if item.kind == MEMBER]
    held = {job for job, tag in members if tags.get(job) == tag}  # the switch had this incarnation
    return frozenset(
        one.job
        for one in differences
        if one.job in held
        and (one.kind == LOOKUP or (one.kind == MEMBER and one.tag == tags[one.job] and one.has_other_worker(names)))
    )


def differs(
    switch: P4RuntimeSwitch,
    hosts: Sequence[HostPort],
    jobs: Sequence[SwitchJob],
    mark_above: int | None,
    answers: Iterable[bytes],
) -> bool:
    """Return True if the answers to a read of ``everything`` are not what ``reconcile`` leaves."""
    entities = (entity for answer in answers for entity in switch.connection.decode(answer))
    found = {item.key: item.value for item in _items(entities, _names(switch))}
    return found != {key: item.value for key, item in _wanted(switch, hosts, jobs, mark_above).items()}


def everything(switch: P4RuntimeSwitch) -> list[p4runtime_pb2.Entity]:
    """Return the request for all tables of the controller, and the multicast groups."""
    groups = p4runtime_pb2.Entity()
    groups.packet_replication_engine_entry.multicast_group_entry.SetInParent()
    names = _names(switch)
    tables = [p4runtime_pb2.Entity(table_entry=names.wildcard(table, counters=False)) for table in switch.tables]
    return [groups, *tables]


def _owner(item: _Item, names: P4InfoNames, jobs: Sequence[SwitchJob]) -> tuple[int, int | None]:
    """Return the job of an entry, 0 if it has none, and the tag in its key."""
    if item.kind == _GROUP:
        return next((job.job for job in jobs for part in job.parts if part.group == item.key[1]), 0), None
    if item.kind not in JOB_TABLES:
        return 0, None
    match = names.read(item.entity.table_entry).match
    return match["job"], match.get("tag")


def _names(switch: P4RuntimeSwitch) -> P4InfoNames:
    names = switch.connection.names
    assert names is not None, "a connected switch has the names of its program"
    return names


def _wanted(
    switch: P4RuntimeSwitch, hosts: Sequence[HostPort], jobs: Sequence[SwitchJob], mark_above: int | None
) -> dict[_Key, _Item]:
    steps = [switch.own_entities(), *(switch.host_entities(host) for host in hosts)]
    if mark_above is not None:
        ports = {host.port for host in hosts}.union(switch.combining_ports)
        steps += [[switch.mark_entity(port, mark_above)] for port in sorted(ports)]
    steps += [step for job in jobs for step in switch.job_entities(job)]
    return {item.key: item for step in steps for item in _items(step, _names(switch))}


def _items(entities: Iterable[p4runtime_pb2.Entity], names: P4InfoNames) -> list[_Item]:
    items = []
    for entity in entities:
        if entity.WhichOneof("entity") == "table_entry":
            entry = entity.table_entry
            if entry.is_default_action:
                continue
            kind = names.table_name(entry.table_id)
            key = (kind, *sorted(_match(field) for field in entry.match))
            action = entry.action.action
            value = (action.action_id, *sorted((p.param_id, int.from_bytes(p.value, "big")) for p in action.params))
            items.append(_Item(kind, key, value, entity))
        else:
            group = entity.packet_replication_engine_entry.multicast_group_entry
            replicas = frozenset((replica.egress_port, replica.instance) for replica in group.replicas)
            items.append(_Item(_GROUP, (_GROUP, group.multicast_group_id), replicas, entity))
    return items


def _match(field: Any) -> tuple[int, int, int]:
    if field.WhichOneof("field_match_type") == "lpm":
        return field.field_id, int.from_bytes(field.lpm.value, "big"), field.lpm.prefix_len
    return field.field_id, int.from_bytes(field.exact.value, "big"), 0


def _kinds(items: Iterable[_Item]) -> str:
    counts = collections.Counter(last_name(item.kind) for item in items)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
