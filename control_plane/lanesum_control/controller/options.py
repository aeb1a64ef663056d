# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a controller's process, as ``lanesum controller`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS, MAX_WORDS
from lanesum.server.service import DEFAULT_CONTROL
from lanesum_control.planner.quotas import DEFAULT_QUOTA, TenantQuota
from lanesum_control.switches.session import DEFAULT_PRIORITY, MAX_PRIORITY
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Insecure, LogFormat, Loopback, Metrics, Tls, Topology
from lanesum_fabric.program.switch_job import DEFAULT_MARK_ABOVE


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Options of ``lanesum controller``; their annotations are the help of the command."""

    topology: Topology = "star4"
    switch: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ADDRESS of a switch, repeatable. The address is host:port or unix:path of its P4Runtime server, "
            "or bfruntime:host:port of an agent with BF Runtime. Only the address where the topology has one switch. "
            "Without any, the server sums everything."
        ),
    ] = None
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="Control address of an aggregation server: host:port; repeatable, once for each server of the "
            f"topology. By default {DEFAULT_CONTROL}."
        ),
    ] = None
    listen: Annotated[str, typer.Option(help="Address for workers: host:port.")] = DEFAULT_CONTROLLER
    state: Annotated[
        str | None,
        typer.Option(
            help="File of jobs and events, or postgresql://USER@HOST/DATABASE. With a database one of several "
            "controllers leads, and the others are its standbys. By default in memory only."
        ),
    ] = None
    words: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MAX_WORDS,
            help="Accumulator words per packet: which build of the program. By default the largest, "
            f"{max(BUILT_ACCUMULATOR_WORDS)}; without --switch {FULL_ACCUMULATOR_WORDS}, which "
            "fill an Ethernet frame. A profile of --tofino has its own number.",
        ),
    ] = None
    mark_above: Annotated[
        int,
        typer.Option(min=0, help="Queue of a switch port, in packets, from which on packets are marked; 0: never."),
    ] = DEFAULT_MARK_ABOVE
    answer_dscp: Annotated[
        int,
        typer.Option(min=0, max=63, help="DSCP of the answers that switches build, as 46 for expedited forwarding."),
    ] = 0
    answer_queue: Annotated[
        int,
        typer.Option(
            min=0, max=7, help="Queue of a port for these answers, where the switch has several; 0: the usual."
        ),
    ] = 0
    tofino: Annotated[
        str | None, typer.Option(help="Push this profile of the program for Tofino, with its number of words.")
    ] = None
    device_config: Annotated[
        Path | None,
        typer.Option(
            help="With --tofino: file that make tofino packed for the chip's agent; else the embedded switch's program."
        ),
    ] = None
    recirculation: Annotated[
        list[int] | None,
        typer.Option(help="With --tofino: recirculation port, repeatable; by default the chip's own."),
    ] = None
    ports: Annotated[
        str | None,
        typer.Option(
            help="SPEED:FEC of the ports of the topology, as 100G:rs, also SPEED:FEC:LANES; for bfruntime: addresses."
        ),
    ] = None
    tenant_share: Annotated[
        float, typer.Option(help="Part of each switch's slots and table entries that one tenant may use, at most.")
    ] = DEFAULT_QUOTA.share
    tenant_jobs: Annotated[int, typer.Option(help="Jobs of one tenant, at most.")] = DEFAULT_QUOTA.jobs
    tenant_admissions: Annotated[
        int, typer.Option(help="Admissions, resizes and extensions of one tenant per minute, at most.")
    ] = DEFAULT_QUOTA.admissions_per_minute
    tenant_packets: Annotated[
        int, typer.Option(help="Packets in flight of one tenant's jobs, slots times workers of each, at most.")
    ] = DEFAULT_QUOTA.packets
    election_id: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_PRIORITY,
            help="Priority at the switches: upper 32 bits of the P4Runtime election id, client id of BF Runtime. The "
            "client with the highest is primary. With state in PostgreSQL, each new leader takes a higher one.",
        ),
    ] = DEFAULT_PRIORITY
    loopback: Loopback = False
    tls: Tls = None
    client_certs: Annotated[
        bool, typer.Option(help="With --tls: refuse callers without a certificate; else they need a token.")
    ] = True
    tokens: Annotated[Path | None, typer.Option(help="Tokens of operators and tenants (lanesum token).")] = None
    metrics: Metrics = None
    otlp: Annotated[
        bool,
        typer.Option(
            "--otlp",
            help="Send spans of admissions, joins and changes to the OpenTelemetry collector of "
            "OTEL_EXPORTER_OTLP_ENDPOINT.",
        ),
    ] = False
    log_format: LogFormat = None
    insecure: Insecure = False

    @property
    def quota(self) -> TenantQuota:
        """Quota of every tenant. Raises ConfigurationError."""
        return TenantQuota(self.tenant_share, self.tenant_jobs, self.tenant_admissions, self.tenant_packets)

    def server_addresses(self) -> list[str]:
        """Return the control addresses of the servers. Raises ConfigurationError."""
        addresses = self.server or [DEFAULT_CONTROL]
        for address in addresses:
            if addresses.count(address) > 1:
                raise ConfigurationError(f"--server names {address} twice.")
        return addresses

    def switch_addresses(self, names: list[str]) -> dict[str, str]:
        """Return the address by switch, of the switches ``names`` of the topology. Raises ConfigurationError."""
        from lanesum_control.switches.protocols import check_address  # imports gRPC

        addresses: dict[str, str] = {}
        for option in self.switch or []:
            name, found, address = option.partition("=")
            if not found and len(names) == 1:
                name, address = names[0], option
            if name not in names or not address:
                raise ConfigurationError(
                    f"--switch {option!r} names no switch of the topology.",
                    f"Give NAME=ADDRESS with NAME one of {', '.join(names)}.",
                )
            check_address(address)
            if name in addresses:
                raise ConfigurationError(f"--switch names {name} twice.")
            addresses[name] = address
        return addresses
