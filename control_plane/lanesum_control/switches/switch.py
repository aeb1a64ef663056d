# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the lanesum program by name, in entities of P4Runtime; the same for all switches and protocols."""

from __future__ import annotations

from collections.abc import Iterable

from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.recirculation import recirculation_ports
from lanesum_fabric.errors import SwitchWriteError
from lanesum_fabric.program.capabilities import (
    ADMIT,
    ARP,
    COMBINE,
    CONGESTION,
    CPU_PORT,
    DECISION_TABLES,
    DESCEND,
    FORWARD,
    HOST_TABLES,
    JOB_TABLES,
    LOOKUP,
    MEMBER,
    ORIGIN,
    OWN_TABLES,
    RECEIVER,
    RECIRCULATION,
    STATION,
    Capabilities,
    last_name,
    slots_of,
)
from lanesum_fabric.program.p4info import EntryRead, Lpm, P4InfoNames
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.program.switch_job import (
    BROADCAST_MAC,
    NO_PORT,
    PLAIN_STATION,
    SWITCH_MAC,
    HostPort,
    Station,
    SwitchJob,
)
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.tofino.chips import pipe_of

INSERT = p4runtime_pb2.Update.INSERT
MODIFY = p4runtime_pb2.Update.MODIFY
DELETE = p4runtime_pb2.Update.DELETE

_INGRESS = "IngressPipeline"
_EGRESS = "EgressPipeline"
_ARP_REQUEST = 1
_ADDRESSEE_SWITCH = 1  # of table ``station``
_COMBINED_BY = 4  # key of table combine, with the number of the combining pipe below
# Decisions that count a recirculated packet a second time.
_TAKE_OVER, _COUNTED_TWICE = "take_over", ("aggregate", "accept")


class P4RuntimeSwitch:
    """Switch that runs the lanesum program. All methods raise SwitchWriteError if the switch refuses.

    ``recirculation``: recirculation ports of a chip, see ``recirculation_ports``.
    """

    def __init__(
        self,
        connection: SwitchConnection,
        names: P4InfoNames,
        recirculation: tuple[int, ...] = (),
        station: Station = PLAIN_STATION,
    ) -> None:
        self.connection = connection
        self._station = station
        self._names = names
        self._recirculation = recirculation
        self._tags: dict[int, int] = {}  # of the installed jobs
        self._combines = names.has_table(COMBINE)
        self.capabilities = Capabilities.of(names).recirculating_at(recirculation)

    @classmethod
    def with_pipeline(
        cls, connection: SwitchConnection, pipeline: CompiledPipeline, recirculation: Iterable[int] | None = None
    ) -> P4RuntimeSwitch:
        """Push ``pipeline`` and take control. Raises PipelineError; ConfigurationError before anything is pushed."""
        ports = recirculation_ports(pipeline, recirculation)
        switch = cls(connection, connection.push_pipeline(pipeline), ports)
        switch.begin()
        return switch

    def begin(self) -> None:
        """Write the entries that a switch needs after a push."""
        self.connection.write([(INSERT, entity) for entity in self.own_entities()])

    @property
    def combining_ports(self) -> tuple[int, ...]:
        """Return the ports by which partial sums reach the pipe that combines them."""
        return self._recirculation if self._combines else ()

    @property
    def slots(self) -> int:
        return slots_of(self._names)

    def add_host(self, host: HostPort) -> None:
        """Route to the host, answer ARP requests for it, and accept its address only from its port."""
        self.connection.write([(INSERT, entity) for entity in self.host_entities(host)])

    def admit(self, job: SwitchJob) -> None:
        """Install a job: entries for results first, membership last, so that no result lacks its route.

        Raises SwitchWriteError after deleting the entries written so far; NotOfferedError, before anything is written,
        for operations that the program lacks.
        """
        self.check(job)
        steps = self.job_entities(job)
        for done, step in enumerate(steps):
            try:
                self.connection.write([(INSERT, entity) for entity in step])
            except SwitchWriteError:
                for written in reversed(steps[: done + 1]):
                    self._delete(written)
                raise
        self._tags[job.job] = job.tag

    def check(self, job: SwitchJob) -> None:
        """Check that the switch can take ``job`` beside its jobs. Raises NotOfferedError."""
        self.capabilities.check(job, self._tags.items())

    def hold(self, jobs: Iterable[SwitchJob]) -> None:
        """Set the jobs that the switch has. Raises NotOfferedError without a change."""
        tags: dict[int, int] = {}
        for job in jobs:
            self.capabilities.check(job, tags.items())
            tags[job.job] = job.tag
        self._tags = tags

    def remove(self, job: SwitchJob) -> None:
        """Remove a job: membership first, so that no packet reaches its slots. Missing entries are no error."""
        for step in reversed(self.job_entities(job)):
            self._delete(step)
        self._tags.pop(job.job, None)

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        """Change slots, role, threshold, operations or lease of an installed job, while its workers continue.

        Members change one after the other. Meanwhile they may use different entries, and workers retransmit the
        contributions of partial sums. Raises SwitchWriteError if the job is not installed or ``new`` has other members.
        """
        self.modify_all([(old, new)])

    def modify_all(self, changes: Iterable[tuple[SwitchJob, SwitchJob]]) -> None:
        """Do ``modify`` for several jobs together, in any order. Nothing is written if one cannot be changed so."""
        changed = []
        for old, new in changes:
            if old.group != new.group or not self._same_members(old, new):
                raise SwitchWriteError(f"Job {old.job} cannot change its members, its tag or its group in place.")
            self.check(new)
            changed.append(new)
        parts = [part for job in changed for part in job.parts]
        self.connection.write([(MODIFY, _table(entry)) for part in parts for entry in self._members(part)])

    def own_entities(self) -> list[p4runtime_pb2.Entity]:
        """Return the entries that do not depend on hosts and jobs."""
        return [*self._station_entities(self._station), *self._recirculation_entities()]

    def _station_entities(self, station: Station) -> list[p4runtime_pb2.Entity]:
        """Return the switch's own addresses. A program without ICMP gets no IPv4 address: it could not use it."""
        ip = station.ip if self.capabilities.icmp else 0
        own = {"ip": ip, "answer_dscp": station.answer_dscp, "answer_queue": station.answer_queue}
        entries = [
            self._names.entry(
                STATION, {"destination": int.from_bytes(SWITCH_MAC, "big")}, f"{_INGRESS}.station.to_switch", own
            ),
            self._names.entry(
                STATION, {"destination": int.from_bytes(BROADCAST_MAC, "big")}, f"{_INGRESS}.station.to_all"
            ),
        ]
        return [_table(entry) for entry in [*entries, *([self._arp_entry(ip, NO_PORT)] if ip else [])]]

    def _arp_entry(self, ip: int, port: int) -> p4runtime_pb2.TableEntry:
        """Return the entry that answers requests for ``ip`` from other ports than ``port``."""
        params = {"port": port, "mac": int.from_bytes(SWITCH_MAC, "big")}
        return self._names.entry(ARP, {"operation": _ARP_REQUEST, "target": ip}, f"{_INGRESS}.arp.reply", params)

    def _recirculation_entities(self) -> list[p4runtime_pb2.Entity]:
        entries = [
            self._names.entry(
                RECIRCULATION, {"pipe": pipe_of(port)}, f"{_INGRESS}.slots.recirculate_at", {"port": port}
            )
            for port in self._recirculation
        ]
        to_pipe = f"{_INGRESS}.combine.to_pipe"
        entries += [
            self._names.entry(COMBINE, {"combining_pipe": _COMBINED_BY | pipe_of(port)}, to_pipe, {"port": port})
            for port in self.combining_ports
        ]
        return [_table(entry) for entry in entries]

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the tables of the controller that the program has."""
        return tuple(filter(self._names.has_table, (*OWN_TABLES, *HOST_TABLES, CONGESTION, *JOB_TABLES)))

    def job_entities(self, job: SwitchJob) -> list[list[p4runtime_pb2.Entity]]:
        """Return the entries of ``job`` in the order of writing: a step requires those before it.

        The first one is for results. The last one is the membership, of partial sums before that of their combination.
        """
        entries = [*self._receivers(job), *self._lookups(job), *self._descents(job)]
        return [
            [*(_multicast(part) for part in job.parts), *map(_table, entries)],
            [_table(entry) for part in job.parts for entry in self._members(part)],
        ]

    def host_entities(self, host: HostPort) -> list[p4runtime_pb2.Entity]:
        """Return the entries of ``host``, in any order."""
        switch_mac = int.from_bytes(SWITCH_MAC, "big")
        entries = [
            self._names.entry(
                FORWARD,
                {"destination": Lpm(host.ip, 32)},
                f"{_INGRESS}.forward.route",
                {"port": host.port, "source": switch_mac, "destination": int.from_bytes(host.mac, "big")},
            ),
            self._arp_entry(host.ip, host.port),
            self._names.entry(
                ORIGIN,
                {"source": host.ip},
                f"{_INGRESS}.origin.expect",
                {"port": host.port, "attached": int(host.attached)},
            ),
        ]
        if host.is_cpu and self.capabilities.redirects:
            match, action = {"addressee": _ADDRESSEE_SWITCH}, f"{_INGRESS}.redirect.redirect_to"
            entries.append(self._names.entry(CPU_PORT, match, action, {"port": host.port}))
        return [_table(entry) for entry in entries]

    def _delete(self, entities: list[p4runtime_pb2.Entity]) -> None:
        """Delete entries; missing ones are no error."""
        try:
            self.connection.write([(DELETE, entity) for entity in entities])
        except SwitchWriteError:
            for entity in entities:
                try:
                    self.connection.write([(DELETE, entity)])
                except SwitchWriteError as error:
                    if "NOT_FOUND" not in str(error):
                        raise

    def mark_entity(self, port: int, depth: int) -> p4runtime_pb2.Entity:
        """Return the entry that sets ECN on packets to ``port`` while ``depth`` packets or more wait there."""
        match = {"egress_port": port}
        return _table(self._names.entry(CONGESTION, match, f"{_EGRESS}.congestion.mark_above", {"depth": depth}))

    def entries(self, table: str) -> list[EntryRead]:
        """Return all entries of a table, with their direct counters."""
        entity = p4runtime_pb2.Entity(table_entry=self._names.wildcard(table))
        return [
            self._names.read(found.table_entry)
            for found in self.connection.read([entity])
            if found.WhichOneof("entity") == "table_entry"
        ]

    def decisions(self) -> dict[str, int]:
        """Return the packet counters by decision (``aggregate``, ``accept``, ``claim``, ``replay``, ``forwarded`` ...).

        Each table of ``DECISION_TABLES`` counts a packet once. A recirculated packet that takes over an entry is
        counted as ``take_over``, and by its later decision.
        """
        counts: dict[str, int] = {}
        tables = filter(self._names.has_table, DECISION_TABLES)
        wanted = [p4runtime_pb2.Entity(table_entry=self._names.wildcard(table)) for table in tables]
        for entry in (entity.table_entry for entity in self.connection.read(wanted)):
            name = last_name(self._names.action_name(entry.action.action.action_id))
            counts[name] = counts.get(name, 0) + entry.counter_data.packet_count
        for name in _COUNTED_TWICE:
            counts[name] = counts.get(name, 0) - counts.get(_TAKE_OVER, 0)
        return counts

    def _same_members(self, old: SwitchJob, new: SwitchJob) -> bool:
        return [key for part in old.parts for key in self._member_keys(part)] == [
            key for part in new.parts for key in self._member_keys(part)
        ]

    def _member_keys(self, job: SwitchJob) -> list[dict[str, int]]:
        by_pipe = job.combining_pipe is not None
        return [
            {
                "ingress_port": host.port,
                "source": host.ip,
                "source_port": member.udp_port,
                "job": job.job,
                "tag": job.tag,
                "aggregate": int(member.aggregate),
                **({"partial_sum": int(by_pipe and member.aggregate)} if self._combines else {}),
            }
            for member in job.members
            for host in member.hosts
        ]

    def _members(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        bits = [1 << member.worker for member in job.members for _ in member.hosts]
        return [
            self._names.entry(
                MEMBER,
                key,
                ADMIT,
                {
                    "worker": bit,
                    "slot_base": job.slot_base,
                    "slot_count": job.slot_count,
                    "fan_in": job.fan_in,
                    "group": job.group,
                    "allowed_ops": job.allowed_ops,
                    "role": job.role_bits,
                    "lease": job.lease,
                },
            )
            for key, bit in zip(self._member_keys(job), bits, strict=True)
        ]

    def _receivers(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        return [
            self._names.entry(
                RECEIVER,
                {"job": job.job, "replica": member.replica},
                f"{_EGRESS}.receiver.address",
                {
                    "mac": int.from_bytes(member.host.mac, "big"),
                    "ip": member.host.ip,
                    "udp_port": member.udp_port,
                },
            )
            for member in job.receivers
        ]

    def _lookups(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        if job.code_table is None:
            return []
        params = {"code_table": job.code_table_word}
        return [self._names.entry(LOOKUP, {"job": job.job}, f"{_INGRESS}.lanes.use_code_table", params)]

    def _descents(self, job: SwitchJob) -> list[p4runtime_pb2.TableEntry]:
        action, params = f"{_INGRESS}.descend.hand_down", {"group": job.group}
        matches = [{"ingress_port": uplink, "job": job.job, "tag": job.tag} for uplink in job.uplinks]
        return [self._names.entry(DESCEND, match, action, params) for match in matches]


def _table(entry: p4runtime_pb2.TableEntry) -> p4runtime_pb2.Entity:
    return p4runtime_pb2.Entity(table_entry=entry)


def _multicast(job: SwitchJob) -> p4runtime_pb2.Entity:
    entity = p4runtime_pb2.Entity()
    group = entity.packet_replication_engine_entry.multicast_group_entry
    group.multicast_group_id = job.group
    for member in job.receivers:
        group.replicas.add(egress_port=member.host.port, instance=member.replica)
    return entity
