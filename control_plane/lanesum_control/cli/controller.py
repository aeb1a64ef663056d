# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum controller``: run the controller, and back up and restore its state."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanesum import logs
from lanesum.cli.signals import READY, raise_file_limit, serve_until_signal
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS, MAX_WORDS
from lanesum.server.service import DEFAULT_CONTROL
from lanesum_control.planner.quotas import DEFAULT_QUOTA, TenantQuota
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Insecure, LogFormat, Loopback, Metrics, Tls, Topology
from lanesum_fabric.cli.typer_main import typer_main
from lanesum_fabric.program.switch_job import DEFAULT_MARK_ABOVE

if TYPE_CHECKING:
    from lanesum_control.state.events import Event

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

InsecureDatabase = Annotated[
    bool, typer.Option("--insecure", help="Accept a database at another host that does not authenticate itself.")
]


@app.callback(invoke_without_command=True)
def controller(
    context: typer.Context,
    topology: Topology = "star4",
    switch: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ADDRESS of a switch, repeatable. The address is host:port or unix:path of its P4Runtime server, "
            "or bfruntime:host:port of an agent with BF Runtime. Only the address where the topology has one switch. "
            "Without any, the server sums everything."
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="Control address of an aggregation server: host:port; repeatable, once for each server of the "
            f"topology. By default {DEFAULT_CONTROL}."
        ),
    ] = None,
    listen: Annotated[str, typer.Option(help="Address for workers: host:port.")] = DEFAULT_CONTROLLER,
    state: Annotated[
        str | None,
        typer.Option(
            help="File of jobs and events, or postgresql://USER@HOST/DATABASE. With a database one of several "
            "controllers leads, and the others are its standbys. By default in memory only."
        ),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MAX_WORDS,
            help="Accumulator words per packet: which build of the program. By default the largest, "
            f"{max(BUILT_ACCUMULATOR_WORDS)}; without --switch {FULL_ACCUMULATOR_WORDS}, which "
            "fill an Ethernet frame. A profile of --tofino has its own number.",
        ),
    ] = None,
    mark_above: Annotated[
        int,
        typer.Option(min=0, help="Queue of a switch port, in packets, from which on packets are marked; 0: never."),
    ] = DEFAULT_MARK_ABOVE,
    answer_dscp: Annotated[
        int,
        typer.Option(min=0, max=63, help="DSCP of the answers that switches build, as 46 for expedited forwarding."),
    ] = 0,
    answer_queue: Annotated[
        int,
        typer.Option(
            min=0, max=7, help="Queue of a port for these answers, where the switch has several; 0: the usual."
        ),
    ] = 0,
    tofino: Annotated[
        str | None, typer.Option(help="Push this profile of the program for Tofino, with its number of words.")
    ] = None,
    device_config: Annotated[
        Path | None,
        typer.Option(
            help="With --tofino: file that make tofino packed for the chip's agent; else the embedded switch's program."
        ),
    ] = None,
    recirculation: Annotated[
        list[int] | None,
        typer.Option(help="With --tofino: recirculation port, repeatable; by default the chip's own."),
    ] = None,
    ports: Annotated[
        str | None,
        typer.Option(
            help="SPEED:FEC of the ports of the topology, as 100G:rs, also SPEED:FEC:LANES; for bfruntime: addresses."
        ),
    ] = None,
    tenant_share: Annotated[
        float, typer.Option(help="Part of each switch's slots and table entries that one tenant may use, at most.")
    ] = DEFAULT_QUOTA.share,
    tenant_jobs: Annotated[int, typer.Option(help="Jobs of one tenant, at most.")] = DEFAULT_QUOTA.jobs,
    tenant_admissions: Annotated[
        int, typer.Option(help="Admissions, resizes and extensions of one tenant per minute, at most.")
    ] = DEFAULT_QUOTA.admissions_per_minute,
    tenant_packets: Annotated[
        int, typer.Option(help="Packets in flight of one tenant's jobs, slots times workers of each, at most.")
    ] = DEFAULT_QUOTA.packets,
    election_id: Annotated[
        str,
        typer.Option(
            help="P4Runtime election id at the switches, 1 to 2^128 - 1, also hexadecimal (0x...). Of several clients "
            "the one with the highest is primary. With state in PostgreSQL, each new leader takes a higher one."
        ),
    ] = "1",
    loopback: Loopback = False,
    tls: Tls = None,
    client_certs: Annotated[
        bool, typer.Option(help="With --tls: refuse callers without a certificate; else they need a token.")
    ] = True,
    tokens: Annotated[Path | None, typer.Option(help="Tokens of operators and tenants (lanesum token).")] = None,
    metrics: Metrics = None,
    otlp: Annotated[
        bool,
        typer.Option(
            "--otlp",
            help="Send spans of admissions, joins and changes to the OpenTelemetry collector of "
            "OTEL_EXPORTER_OTLP_ENDPOINT.",
        ),
    ] = False,
    log_format: LogFormat = None,
    insecure: Insecure = False,
) -> None:
    """Push the P4 program to the switches, admit jobs, hand out tickets, and repair restarted parts."""
    if context.invoked_subcommand is not None:
        return
    from lanesum.rpc.tls import UNIX, credentials_for
    from lanesum_control.controller.controller import Controller
    from lanesum_control.controller.monitor import Monitor
    from lanesum_control.controller.samples import controller_samples
    from lanesum_control.controller.service import ControllerService
    from lanesum_control.observe.opentelemetry import CallSpans
    from lanesum_control.planner.network import Network
    from lanesum_control.security.access import Access
    from lanesum_control.security.tokens import TokenFile
    from lanesum_control.servers.watched_server import WatchedServer
    from lanesum_control.state.events import EventLog, log_event
    from lanesum_control.state.leadership import Leadership
    from lanesum_control.state.postgresql import PostgresqlDatabase, PostgresqlUrl, state_at
    from lanesum_control.state.store import Store
    from lanesum_control.switches.client import DEFAULT_CONNECT_TIMEOUT_S
    from lanesum_control.switches.managed import RemoteSwitch
    from lanesum_fabric.bfruntime.ports import PortSettings
    from lanesum_fabric.metrics.endpoint import MetricsEndpoint
    from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
    from lanesum_fabric.program.switch_job import Station
    from lanesum_fabric.topology import load

    known = None if tokens is None else TokenFile(tokens)
    mutual = tls is not None and client_certs
    identified = mutual or known is not None
    credentials = credentials_for("controller", listen, tls, insecure=insecure, mutual=mutual, identified=identified)
    network = load(topology)
    if tofino is None and (device_config is not None or recirculation):
        raise ConfigurationError("--device-config and --recirculation are for --tofino.", "Name a profile with it.")
    addresses = _switch_addresses(network.switches(), switch or [])
    if tofino is None:
        pipeline = bmv2_pipeline(max(BUILT_ACCUMULATOR_WORDS) if words is None or not addresses else words)
    else:
        pipeline = tofino_pipeline(tofino, device_config)
        if words not in (None, pipeline.accumulator_words):
            raise ConfigurationError(
                f"--words {words} is not what {tofino} has: {pipeline.accumulator_words}.", "Leave --words out."
            )
    elected = _election_id(election_id)
    settings = None if ports is None else PortSettings.parse(ports)
    place = None if state is None else state_at(state, insecure=insecure)
    shared = place if isinstance(place, PostgresqlUrl) else None
    if log_format is not None:
        logs.set_up(log_format)
    raise_file_limit()
    if shared is None:
        _check_free(listen)
    jobs: Controller | None = None
    access = Access(
        lambda: [] if jobs is None else jobs.present(), known, closed=identified and not listen.startswith(UNIX)
    )
    with contextlib.ExitStack() as stack:
        spans = stack.enter_context(CallSpans()) if otlp else None
        endpoint = None
        if metrics is not None:
            endpoint = MetricsEndpoint(lambda: controller_samples(jobs), metrics, tls, insecure=insecure)
            stack.enter_context(endpoint)
        service = None
        wait: Callable[[], object] = signal.pause
        if shared is None:
            store = stack.enter_context(Store(None if state is None else Path(state)))
        else:
            holder = f"at {listen} of {socket.gethostname()}"
            high, least_term = elected
            if high or least_term >= 1 << 63:
                raise ConfigurationError("With state in PostgreSQL, --election-id is at most 2^63 - 1.")
            leadership = stack.enter_context(Leadership(shared, holder, least_term=least_term))
            wait = leadership.wait_until_lost
            service = ControllerService(
                None, listen, access=access, credentials=credentials, leader=lambda: leadership.leader, spans=spans
            )
            stack.enter_context(service)
            with contextlib.suppress(OSError):
                print(READY, f"standby controller at {service.address}", flush=True)
            elected = 0, leadership.wait()
            store = stack.enter_context(Store(PostgresqlDatabase(shared, leadership.term, leadership.lost)))
        jobs = Controller(
            Network.of(network, loopback=loopback),
            [WatchedServer(address, term=store.term) for address in _server_addresses(server or [DEFAULT_CONTROL])],
            {
                name: RemoteSwitch(
                    address,
                    pipeline,
                    mark_above or None,
                    recirculation or None,
                    Station(network.own_ip(name, loopback=loopback), answer_dscp, answer_queue),
                    elected,
                    settings,
                )
                for name, address in addresses.items()
            },
            store=store,
            accumulator_words=pipeline.accumulator_words if addresses else words,
            events=EventLog(store, listener=_print_event if log_format is None else log_event),
            connect_timeout_s=DEFAULT_CONNECT_TIMEOUT_S if shared is None else 0.0,
            quota=TenantQuota(tenant_share, tenant_jobs, tenant_admissions, tenant_packets),
        )
        stack.callback(jobs.close)
        if endpoint is not None:
            stack.callback(endpoint.close)  # before the controller that it reads
        stack.enter_context(Monitor(jobs))
        if service is None:
            service = stack.enter_context(
                ControllerService(jobs, listen, access=access, credentials=credentials, spans=spans)
            )
        else:
            jobs.events.add("controller", f"leads with term {store.term}")
            service.lead(jobs)
            stack.callback(service.close)
        serve_until_signal(f"controller at {service.address}", wait)


@app.command()
def backup(
    state: Annotated[str, typer.Argument(help="File or URL of --state; a controller may be using it.")],
    out: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    insecure: InsecureDatabase = False,
) -> None:
    """Write a consistent copy of a controller's state, also while the controller runs."""
    from lanesum_control.state.backup import back_up
    from lanesum_control.state.postgresql import state_at

    back_up(state_at(state, insecure=insecure), out)


@app.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="File that lanesum controller backup wrote.")],
    state: Annotated[
        str, typer.Argument(help="File to write for --state, which must not exist, or URL of an empty database.")
    ],
    insecure: InsecureDatabase = False,
) -> None:
    """Write the state of a controller from a backup; every job begins a new incarnation."""
    from lanesum_control.state.backup import restore as restore_state
    from lanesum_control.state.postgresql import state_at

    count = restore_state(backup, state_at(state, insecure=insecure))
    typer.echo(f"{count} jobs restored to {state}")


def _print_event(event: Event) -> None:
    with contextlib.suppress(OSError):  # closed terminal, full disk; the state has the event
        typer.echo(event.line())


def _election_id(text: str) -> tuple[int, int]:
    """Return the high and the low 64 bits. Raises ConfigurationError."""
    try:
        number = int(text, 0)
    except ValueError:
        number = 0
    if not 0 < number < 1 << 128:
        raise ConfigurationError(f"--election-id {text!r} is no number from 1 to 2^128 - 1.")
    return number >> 64, number & ((1 << 64) - 1)


def _check_free(listen: str) -> None:
    """Refuse an address where another controller answers, whose jobs switches and servers would lose.

    Raises ConfigurationError. The service itself listens only after the switches are connected.
    """
    from lanesum.rpc.grpc_server import cannot_listen

    host, _, port = listen.rpartition(":")
    if port.isdecimal() and int(port) in range(1, 1 << 16) and accepts(host.strip("[]"), int(port)):
        raise cannot_listen(listen, "controller")


def accepts(host: str, port: int) -> bool:
    """Return True if a peer accepts TCP connections at the address."""
    try:
        with socket.create_connection((host, port), timeout=1) as found:
            return bool(found.getsockname() != found.getpeername())  # TCP can connect a free port to itself
    except OSError:
        return False


def _server_addresses(options: list[str]) -> list[str]:
    """Check the addresses. Raises ConfigurationError."""
    for address in options:
        if options.count(address) > 1:
            raise ConfigurationError(f"--server names {address} twice.")
    return options


def _switch_addresses(names: list[str], options: list[str]) -> dict[str, str]:
    """Return the address by switch. Raises ConfigurationError."""
    from lanesum_control.switches.protocols import check_address

    addresses: dict[str, str] = {}
    for option in options:
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


main = typer_main("controller", app)
