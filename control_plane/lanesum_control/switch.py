# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The lanesum program over P4Runtime: its tables by name, the same for BMv2 and the embedded switch."""

from __future__ import annotations

import re

from p4.v1 import p4runtime_pb2

from lanesum import resources
from lanesum_control.client import SwitchConnection
from lanesum_control.errors import SwitchWriteError
from lanesum_control.model import FAULT_SCALE, SWITCH_MAC, HostPort, SwitchJob
from lanesum_control.p4info import EntryRead, Lpm, P4InfoNames
from lanesum_control.pipelines import CompiledPipeline

INSERT = p4runtime_pb2.Update.INSERT
MODIFY = p4runtime_pb2.Update.MODIFY
DELETE = p4runtime_pb2.Update.DELETE

_INGRESS = "IngressPipeline"
_EGRESS = "EgressPipeline"
MEMBER = f"{_INGRESS}.membership.member"
ADMISSION = f"{_INGRESS}.membership.admission"
CLASSIFY = f"{_INGRESS}.classify.classify"
SLOT = f"{_INGRESS}.slots.slot"
LOOKUP = f"{_INGRESS}.lanes.lookup"
FORWARD = f"{_INGRESS}.forward.forward"
ARP = f"{_INGRESS}.arp.arp"
RECEIVER = f"{_EGRESS}.receiver.receiver"
_ARP_REQUEST = 1


def slots_of_program() -> int:
    """Slots that the shipped program is built with, read from its sizes."""
    text = (resources.directory("p4src") / "shared" / "sizes.p4").read_text()
    found = re.search(r"^#define SLOTS (\d+)$", text, re.MULTILINE)
    assert found, "p4src/shared/sizes.p4 defines SLOTS"
    return int(found.group(1))


class P4RuntimeSwitch:
    """A switch that runs the lanesum program. All methods raise SwitchWriteError where the switch refuses."""

    def __init__(self, connection: SwitchConnection, names: P4InfoNames) -> None:
        self.connection = connection
        self._names = names

    @classmethod
    def with_pipeline(cls, connection: SwitchConnection, pipeline: CompiledPipeline) -> P4RuntimeSwitch:
        """Push ``pipeline`` and take control. Raises PipelineError."""
        return cls(connection, connection.push_pipeline(pipeline))

    @property
    def slots(self) -> int:
        return slots_of_program()

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP requests for it."""
        route = self._names.entry(
            FORWARD,
            {"destination": Lpm(host.ip, 32)},
            f"{_INGRESS}.forward.route",
            {
                "port": host.port,
                "source": int.from_bytes(SWITCH_MAC, "big"),
                "destination": int.from_bytes(host.mac, "big"),
            },
        )
        answer = self._names.entry(
            ARP,
            {"operation": _ARP_REQUEST, "target": host.ip},
            f"{_INGRESS}.arp.reply",
            {"mac": int.from_bytes(SWITCH_MAC, "big")},
        )
        self.connection.write([(INSERT, _table(route)), (INSERT, _table(answer))])

    def admit(self, job: SwitchJob) -> None:
        """Program a job: first what results need, then membership, so that no result lacks its way back.

        Raises SwitchWriteError; what had been written of the job is taken back first.
        """
        steps = [
            [(INSERT, _multicast(job))],
            [(INSERT, _table(entry)) for entry in self._receivers(job)],
            [(INSERT, _table(entry)) for entry in self._lookups(job)],
            [(INSERT, _table(entry)) for entry in self._members(job)],
        ]
        for done, step in enumerate(steps):
            try:
                self.connection.write(step)
            except SwitchWriteError:
                for written in reversed(steps[: done + 1]):
                    self._delete([entity for _, entity in written])
                raise

    def remove(self, job: SwitchJob) -> None:
        """Take a job out; membership first, so that nothing new reaches its slots. What is gone already is fine."""
        self._delete([_table(entry) for entry in [*self._members(job), *self._lookups(job), *self._receivers(job)]])
        self._delete([_multicast(job)])

    def _delete(self, entities: list[p4runtime_pb2.Entity]) -> None:
        for entity in entities:
            try:
                self.connection.write([(DELETE, entity)])
            except SwitchWriteError as error:
                if "NOT_FOUND" not in str(error):
                    raise

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Lose ``share`` (0 to 1) of the packets that come in at (or go out of) ``port``; 0 ends it."""
        block, key = (_INGRESS, "standard_metadata.ingress_port") if ingress else (
            _EGRESS,
            "standard_metadata.egress_port",
        )  # fmt: skip
        table, match = f"{block}.faults.fault", {key: port}
        self._delete([_table(self._names.entry(table, match))])
        if share > 0:
            params = {"per_ten_thousand": round(share * FAULT_SCALE)}
            entry = self._names.entry(table, match, f"{block}.faults.lose", params)
            self.connection.write([(INSERT, _table(entry))])

    def entries(self, table: str) -> list[EntryRead]:
        """All entries of a table, with their direct counters."""
        entity = p4runtime_pb2.Entity(table_entry=self._names.wildcard(table))
        return [
            self._names.read(found.table_entry)
            for found in self.connection.read([entity])
            if found.WhichOneof("entity") == "table_entry"
        ]

    def decisions(self) -> dict[str, int]:
        """Packets by what the slots did with them (``claim``, ``contribute``, ``replay``, ``drop_late`` ...)."""
        counts: dict[str, int] = {}
        for table in (CLASSIFY, ADMISSION, SLOT):
            for entry in self.entries(table):
                name = entry.action.rpartition(".")[2]
                counts[name] = counts.get(name, 0) + entry.packets
        return counts

    def _members(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        return [
            self._names.entry(
                MEMBER,
                {
                    "standard_metadata.ingress_port": member.host.port,
                    "source": member.host.ip,
                    "job": job.job,
                    "tag": job.tag,
                },
                f"{_INGRESS}.membership.admit",
                {
                    "worker": 1 << member.worker,
                    "slot_base": job.slot_base,
                    "slot_count": job.slot_count,
                    "fan_in": job.fan_in,
                    "group": job.group,
                    "allowed_ops": job.allowed_ops,
                },
            )
            for member in job.members
        ]

    def _receivers(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        return [
            self._names.entry(
                RECEIVER,
                {"job": job.job, "standard_metadata.egress_rid": member.replica},
                f"{_EGRESS}.receiver.address",
                {
                    "mac": int.from_bytes(member.host.mac, "big"),
                    "ip": member.host.ip,
                    "udp_port": member.udp_port,
                },
            )
            for member in job.members
        ]

    def _lookups(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        if job.code_table is None:
            return []
        params = {"code_table": job.code_table_word}
        return [self._names.entry(LOOKUP, {"job": job.job}, f"{_INGRESS}.lanes.use_code_table", params)]


def _table(entry: p4runtime_pb2.TableEntry) -> p4runtime_pb2.Entity:
    return p4runtime_pb2.Entity(table_entry=entry)


def _multicast(job: SwitchJob) -> p4runtime_pb2.Entity:
    entity = p4runtime_pb2.Entity()
    group = entity.packet_replication_engine_entry.multicast_group_entry
    group.multicast_group_id = job.group
    for member in job.members:
        group.replicas.add(egress_port=member.host.port, instance=member.replica)
    return entity
