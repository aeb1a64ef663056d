# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process of a controller: alone with a state file, or one of several with a database. Its samples for Prometheus."""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Callable

import typer

from lanesum import logs
from lanesum.cli.signals import READY, limit_heaps, raise_file_limit, serve_until_signal, wait_for_signal
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum.rpc.grpc_server import cannot_listen
from lanesum.rpc.tls import UNIX, credentials_for
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.monitor import Monitor
from lanesum_control.controller.options import ControllerOptions
from lanesum_control.controller.service import ControllerService
from lanesum_control.observe.opentelemetry import CallSpans
from lanesum_control.planner.network import Network
from lanesum_control.security.access import Access
from lanesum_control.security.tokens import TokenFile
from lanesum_control.servers.remote_server import WatchedServer
from lanesum_control.state.events import Event, EventLog, log_event
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlDatabase, PostgresqlUrl, state_at
from lanesum_control.state.store import Store
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.bfruntime.ports import PortSettings
from lanesum_fabric.metrics.endpoint import MetricsEndpoint
from lanesum_fabric.metrics.families import CONTROLLER, Samples
from lanesum_fabric.program.pipelines import CompiledPipeline, bmv2_pipeline, tofino_pipeline
from lanesum_fabric.program.switch_job import Station
from lanesum_fabric.topology import load

_CONNECT_S, _START_S = 2.0, 3.0

_Make = Callable[[Store, int], Controller]


def run(options: ControllerOptions) -> None:
    """Run a controller until a signal. Raises ConfigurationError, and the exceptions of ``Controller``."""
    known = None if options.tokens is None else TokenFile(options.tokens)
    mutual = options.tls is not None and options.client_certs
    identified = mutual or known is not None
    credentials = credentials_for(
        "controller", options.listen, options.tls, insecure=options.insecure, mutual=mutual, identified=identified
    )
    make, priority = _maker(options), options.election_id
    place = None if options.state is None else state_at(options.state, insecure=options.insecure)
    if options.log_format is not None:
        logs.set_up(options.log_format)
    limit_heaps()
    raise_file_limit()
    if not isinstance(place, PostgresqlUrl):
        _check_free(options.listen)
    leading: Controller | None = None
    leadership: Leadership | None = None
    access = Access(
        lambda: [] if leading is None else leading.present(),
        known,
        closed=identified and not options.listen.startswith(UNIX),
    )
    with contextlib.ExitStack() as stack:
        spans = stack.enter_context(CallSpans()) if options.otlp else None
        endpoint = None
        if options.metrics is not None:
            endpoint = MetricsEndpoint(
                lambda: controller_samples(leading if leadership is None or leadership.leads else None),
                options.metrics,
                options.tls,
                insecure=options.insecure,
            )
            stack.enter_context(endpoint)
        service = None
        wait: Callable[[], object] = wait_for_signal
        if not isinstance(place, PostgresqlUrl):
            store = stack.enter_context(Store(place))
        else:
            holder = f"at {options.listen} of {socket.gethostname()}"
            leadership = stack.enter_context(Leadership(place, holder, least_term=priority))
            service = ControllerService(
                None,
                options.listen,
                access=access,
                credentials=credentials,
                refusal=leadership.refusal,
                spans=spans,
            )
            wait = functools.partial(leadership.wait_until_lost, service.change_leadership)
            stack.enter_context(service)
            with contextlib.suppress(OSError):
                print(READY, f"standby controller at {service.address}", flush=True)
            priority = leadership.wait()
            store = stack.enter_context(Store(PostgresqlDatabase(place, leadership.term, leadership.lost)))
        leading = make(store, priority)
        stack.callback(leading.close)
        if endpoint is not None:
            stack.callback(endpoint.close)  # before the controller that it reads
        monitor = stack.enter_context(Monitor(leading))
        if service is None:
            service = stack.enter_context(
                ControllerService(leading, options.listen, access=access, credentials=credentials, spans=spans)
            )
        else:
            leading.events.add("controller", f"leads with term {store.term}")
            service.lead(leading)
            stack.callback(service.close)
        # First of all: calls and checks that wait for a switch without an answer end by this.
        stack.callback(leading.close)
        stack.callback(monitor.stop)
        serve_until_signal(f"controller at {service.address}", wait)


def _maker(options: ControllerOptions) -> _Make:
    """Return a function that makes the controller of a state, with its priority at the switches.

    Raises ConfigurationError for options that do not fit each other.
    """
    topology = load(options.topology)
    addresses = options.switch_addresses(topology.switches())
    pipeline = _pipeline(options, switched=bool(addresses))
    ports = None if options.ports is None else PortSettings.parse(options.ports)
    servers, quota = options.server_addresses(), options.quota
    listener = _print_event if options.log_format is None else log_event

    def make(store: Store, priority: int) -> Controller:
        return Controller(
            Network.of(topology, loopback=options.loopback),
            [WatchedServer(address, term=store.term) for address in servers],
            {
                name: RemoteSwitch(
                    address,
                    pipeline,
                    options.mark_above or None,
                    options.recirculation or None,
                    Station(
                        topology.own_ip(name, loopback=options.loopback), options.answer_dscp, options.answer_queue
                    ),
                    priority,
                    ports,
                )
                for name, address in addresses.items()
            },
            store=store,
            accumulator_words=pipeline.accumulator_words if addresses else options.words,
            events=EventLog(store, listener=listener),
            connect_timeout_s=0.0 if store.term else _CONNECT_S,
            start_s=_START_S,
            quota=quota,
        )

    return make


def _pipeline(options: ControllerOptions, *, switched: bool) -> CompiledPipeline:
    """Return the program of the switches; ``switched``: there are some. Raises ConfigurationError."""
    if options.tofino is None:
        if options.device_config is not None or options.recirculation:
            raise ConfigurationError("--device-config and --recirculation are for --tofino.", "Name a profile with it.")
        words = options.words if switched else None
        return bmv2_pipeline(max(BUILT_ACCUMULATOR_WORDS) if words is None else words)
    pipeline = tofino_pipeline(options.tofino, options.device_config)
    if options.words not in (None, pipeline.accumulator_words):
        raise ConfigurationError(
            f"--words {options.words} is not what {options.tofino} has: {pipeline.accumulator_words}.",
            "Leave --words out.",
        )
    return pipeline


def _print_event(event: Event) -> None:
    with contextlib.suppress(OSError):  # closed terminal, full disk; the state has the event
        typer.echo(event.line())


def _check_free(listen: str) -> None:
    """Refuse an address where another controller answers, whose jobs switches and servers would lose.

    Raises ConfigurationError. The service itself listens only after the switches are connected.
    """
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


def controller_samples(controller: Controller | None) -> Samples:
    """Return the samples of a controller; its workers are asked for new counts, which the next samples have.

    None is a controller that does not lead: a standby, or one that starts.
    """
    samples = Samples(CONTROLLER)
    samples.add("lanesum_controller_leader", controller is not None)
    if controller is None:
        return samples
    jobs = controller.jobs()
    samples.add("lanesum_jobs", len(jobs))
    for job, figures in zip(jobs, controller.ask(jobs).values(), strict=True):
        name = job.request.name
        samples.add("lanesum_job_workers", len(figures), name)
        samples.add("lanesum_job_alive_workers", sum(one.state == "alive" for one in figures), name)
        samples.add("lanesum_job_left_out_switches", len(job.moved), name)
        for switch, held in job.switch_jobs.items():
            samples.add("lanesum_job_slots", held.slot_count, name, switch)
        for device, failed in controller.workers.failed_results(job).items():
            samples.add("lanesum_job_device_failed_results_total", failed, name, device)
        for one in figures:
            if one.report is not None and one.age_s is not None:
                samples.add("lanesum_job_worker_report_age_seconds", one.age_s, name, one.host)
                samples.add_worker("lanesum_job_worker_", one.report.counts, name, one.host)
    counters = controller.counters()
    for switch, slots in counters["slots"].items():
        samples.add("lanesum_switch_up", slots["lost"] is None, switch)
        samples.add("lanesum_switch_drained", slots["drained"] is not None, switch)
        samples.add("lanesum_switch_slots", slots["all"], switch)
        samples.add("lanesum_switch_used_slots", slots["used"], switch)
        for table, entries in slots["tables"].items():
            samples.add("lanesum_switch_table_entries", entries["used"], switch, table)
            samples.add("lanesum_switch_table_size", entries["size"], switch, table)
    for link, why in counters["links"].items():
        samples.add("lanesum_link_drained", why is not None, link)
    for switch, decisions in counters["switches"].items():
        for decision, count in decisions.items():
            samples.add("lanesum_switch_decisions_total", count, switch, decision)
    for server, found in counters["servers"].items():
        samples.add("lanesum_server_up", found is not None, server)
    return samples
