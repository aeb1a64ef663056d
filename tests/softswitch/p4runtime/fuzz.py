# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random updates for the ``everything`` program: mostly valid, often colliding, sometimes invalid."""

from __future__ import annotations

import random
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from .client import Program

_KINDS = (p4rt.Update.INSERT, p4rt.Update.INSERT, p4rt.Update.MODIFY, p4rt.Update.DELETE)


class Fuzzer:
    def __init__(self, program: Program, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = program
        self.tables = list(program.p4info.tables)
        self.actions = {a.preamble.id: a for a in program.p4info.actions}
        self.makers = [self.table_entry] * 8 + [
            self.member,
            self.member,
            self.group,
            self.group,
            self.counter,
            self.direct_counter,
            self.meter,
            self.direct_meter,
            self.multicast,
            self.clone,
            self.digest,
        ]

    def rarely(self, chance: float = 0.04) -> bool:
        return self.random.random() < chance

    def update(self) -> tuple[int, Any]:
        kind = 0 if self.rarely(0.01) else self.random.choice(_KINDS)
        entity = p4rt.Entity()
        self.random.choice(self.makers)(entity)
        return kind, entity

    # -- values

    def bytes_for(self, bits: int) -> bytes:
        value = self.random.choice((0, 1, 2, (1 << bits) - 1, 1 << (bits - 1)))
        if self.rarely():
            value = 1 << bits
        data = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")  # BMv2 accepts empty ones, see test_tables
        return b"\0" * self.random.choice((0, 0, 0, 1)) + data

    def match(self, table: Any, entry: Any) -> None:
        fields = list(table.match_fields)
        if self.rarely():
            self.random.shuffle(fields)
        for field in fields:
            wildcard_chance = 0.05 if field.match_type == 2 else 0.4
            if self.rarely(wildcard_chance):
                continue
            kind = {2: "exact", 3: "lpm", 4: "ternary", 5: "range", 6: "optional"}[field.match_type]
            if self.rarely(0.02):
                kind = self.random.choice(("exact", "lpm", "ternary", "range", "optional"))
            field_id = 9 if self.rarely(0.01) else field.id
            message = getattr(entry.match.add(field_id=field_id), kind)
            message.SetInParent()
            self.fill_match(kind, field.bitwidth, message)
            if self.rarely(0.01):
                entry.match.add().CopyFrom(entry.match[-1])

    def fill_match(self, kind: str, bits: int, message: Any) -> None:
        if kind in ("exact", "optional"):
            message.value = self.bytes_for(bits)
        elif kind == "lpm":
            length = self.random.choice((1, min(8, bits), bits - 1, bits))
            value = self.random.getrandbits(2) << max(0, bits - 2)
            if not self.rarely():
                value &= ((1 << bits) - 1) ^ ((1 << (bits - length)) - 1)
            message.value = value.to_bytes((bits + 7) // 8, "big")
            message.prefix_len = self.random.choice((0, -1, bits + 1)) if self.rarely() else length
        elif kind == "ternary":
            message.mask = self.bytes_for(bits)
            value = int.from_bytes(message.mask, "big") & self.random.getrandbits(bits)
            message.value = self.bytes_for(bits) if self.rarely(0.1) else value.to_bytes((bits + 7) // 8, "big")
        else:
            message.low, message.high = self.bytes_for(bits), self.bytes_for(bits)

    def action(self, message: Any, refs: Any) -> None:
        ids = [ref.id for ref in refs]
        action_id = self.random.choice(list(self.actions)) if self.rarely() else self.random.choice(ids)
        if self.rarely(0.01):
            action_id = self.random.choice((0, 1, self.tables[0].preamble.id))
        message.action_id = action_id
        if action_id not in self.actions:
            return
        for param in self.actions[action_id].params:
            if self.rarely(0.02):
                continue
            param_id = 7 if self.rarely(0.01) else param.id
            message.params.add(param_id=param_id, value=self.bytes_for(param.bitwidth))

    # -- entities

    def table_entry(self, entity: Any) -> None:
        table = self.random.choice(self.tables)
        self.fill_entry(table, entity.table_entry)

    def fill_entry(self, table: Any, entry: Any) -> None:
        entry.table_id = 12345 if self.rarely(0.01) else table.preamble.id
        needs_priority = any(f.match_type in (4, 5, 6) for f in table.match_fields)
        if self.rarely(0.1):
            entry.is_default_action = True
        if not entry.is_default_action or self.rarely():
            self.match(table, entry)
            if needs_priority != self.rarely():
                entry.priority = self.random.choice((1, 2, -1, 2**31 - 1) if self.rarely(0.1) else (1, 2))
        if not self.rarely(0.1):
            self.entry_action(table, entry)
        if self.rarely(0.1):
            entry.idle_timeout_ns = self.random.choice((-1, 0, 3_600_000_000_000))
        if self.rarely(0.1):
            entry.controller_metadata = self.random.randrange(4)
            entry.metadata = b"m"
        if self.rarely(0.1):
            entry.counter_data.packet_count = self.random.randrange(5)
            entry.counter_data.byte_count = self.random.randrange(5)
        # BMv2 does not reset the rates of a deleted entry: the next entry with its handle has them.
        if table.preamble.alias == "meter_table" or self.rarely():
            self.rates(entry.meter_config)

    def entry_action(self, table: Any, entry: Any) -> None:
        entry.action.SetInParent()
        kind = "action"
        if bool(table.implementation_id) != self.rarely():
            kind = self.random.choice(("member", "member", "group", "oneshot", "none"))
        if kind == "action":
            self.action(entry.action.action, table.action_refs)
        elif kind == "member":
            entry.action.action_profile_member_id = self.random.randrange(4)
        elif kind == "group":
            entry.action.action_profile_group_id = self.random.randrange(4)
        elif kind == "oneshot":
            action_set = entry.action.action_profile_action_set
            action_set.SetInParent()
            for _ in range(self.random.randrange(1 if self.rarely() else 3) + 1):
                action = action_set.action_profile_actions.add(weight=self.weight())
                self.action(action.action, table.action_refs)

    def weight(self) -> int:
        return self.random.choice((0, -1)) if self.rarely() else self.random.randrange(1, 4)

    def profile(self) -> Any:
        return self.random.choice(list(self.program.p4info.action_profiles))

    def member(self, entity: Any) -> None:
        profile = self.profile()
        message = entity.action_profile_member
        message.action_profile_id = 12345 if self.rarely(0.02) else profile.preamble.id
        message.member_id = self.random.randrange(4)
        table = next(t for t in self.tables if t.implementation_id == profile.preamble.id)
        self.action(message.action, table.action_refs)

    def group(self, entity: Any) -> None:
        message = entity.action_profile_group
        message.action_profile_id = 12345 if self.rarely(0.02) else self.profile().preamble.id
        message.group_id = self.random.randrange(4)
        message.max_size = self.random.choice((0, 0, 0, 2, 5, 200, -1)) if self.rarely(0.3) else 0
        for _ in range(self.random.randrange(4)):
            message.members.add(member_id=self.random.randrange(4), weight=self.weight())

    def index(self, message: Any, size: int) -> None:
        if not self.rarely():
            message.index.index = self.random.choice((-1, size)) if self.rarely() else self.random.randrange(size)

    def counter(self, entity: Any) -> None:
        counter = self.random.choice(list(self.program.p4info.counters))
        message = entity.counter_entry
        message.counter_id = 12345 if self.rarely(0.02) else counter.preamble.id
        self.index(message, counter.size)
        message.data.packet_count = self.random.randrange(100)
        message.data.byte_count = self.random.randrange(100)

    def meter(self, entity: Any) -> None:
        meter = self.random.choice(list(self.program.p4info.meters))
        message = entity.meter_entry
        message.meter_id = 12345 if self.rarely(0.02) else meter.preamble.id
        self.index(message, meter.size)
        if not self.rarely(0.2):
            self.rates(message.config)

    def rates(self, config: Any) -> None:
        # No committed rate above the peak rate: BMv2 applies half of it before it refuses.
        config.cir = self.random.choice((-2, 0, 1, 5, 1000))
        config.pir = -2 if self.rarely() else max(0, config.cir) + self.random.choice((0, 7, 10**12))
        config.cburst = self.random.choice((-2, -1, 2**32)) if self.rarely() else self.random.randrange(9)
        config.pburst = self.random.choice((-2, -1, 2**32)) if self.rarely() else self.random.randrange(9)

    def direct_counter(self, entity: Any) -> None:
        message = entity.direct_counter_entry
        message.data.packet_count = self.random.randrange(100)
        message.data.byte_count = self.random.randrange(100)
        if not self.rarely(0.02):
            table = self.tables[0] if self.rarely(0.7) else self.random.choice(self.tables)
            self.fill_entry(table, message.table_entry)

    def direct_meter(self, entity: Any) -> None:
        message = entity.direct_meter_entry
        if not self.rarely(0.2):
            self.rates(message.config)
        by_name = next(t for t in self.tables if t.preamble.alias == "meter_table")
        self.fill_entry(by_name if self.rarely(0.8) else self.random.choice(self.tables), message.table_entry)

    def replicas(self, message: Any) -> None:
        for _ in range(self.random.randrange(4)):
            replica = message.replicas.add(instance=self.random.randrange(3))
            if self.rarely(0.3):
                replica.port = b"" if self.rarely() else self.bytes_for(16)
            elif not self.rarely(0.02):
                replica.egress_port = self.random.randrange(4)

    def multicast(self, entity: Any) -> None:
        message = entity.packet_replication_engine_entry.multicast_group_entry
        message.multicast_group_id = self.random.choice((0, 32768)) if self.rarely() else self.random.randrange(1, 4)
        self.replicas(message)

    def clone(self, entity: Any) -> None:
        message = entity.packet_replication_engine_entry.clone_session_entry
        message.SetInParent()
        message.session_id = self.random.choice((0, 32768)) if self.rarely() else self.random.randrange(1, 4)
        message.class_of_service = int(self.rarely())
        message.packet_length_bytes = 60 if self.rarely() else 0
        self.replicas(message)

    def digest(self, entity: Any) -> None:
        message = entity.digest_entry
        message.digest_id = self.program.ids["sample_t"] if not self.rarely() else 12345
        message.config.max_list_size = self.random.randrange(3)


def all_reads(program: Program) -> list[Any]:
    """Return one entity per kind of state, each of which selects everything."""
    reads = []
    for kind in ("table_entry", "action_profile_member", "action_profile_group", "counter_entry", "meter_entry"):
        entity = p4rt.Entity()
        getattr(entity, kind).SetInParent()
        reads.append(entity)
    defaults = p4rt.Entity(table_entry=p4rt.TableEntry(is_default_action=True))
    reads.append(defaults)
    for name in ("exact_table", "ternary_table", "meter_table", "const_ternary_table"):
        detailed = program.entry(name)
        detailed.table_entry.counter_data.SetInParent()
        detailed.table_entry.meter_config.SetInParent()
        reads.append(detailed)
        for kind in ("direct_counter_entry", "direct_meter_entry"):
            direct = p4rt.Entity()
            getattr(direct, kind).table_entry.table_id = program.ids[name]
            reads.append(direct)
    for kind in ("multicast_group_entry", "clone_session_entry"):
        entity = p4rt.Entity()
        getattr(entity.packet_replication_engine_entry, kind).SetInParent()
        reads.append(entity)
    reads.append(p4rt.Entity(digest_entry=p4rt.DigestEntry(digest_id=program.ids["sample_t"])))
    return reads
