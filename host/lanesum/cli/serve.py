# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum switch``, ``lanesum server`` and ``lanesum controller``: the long-running processes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, cast

import typer

from lanesum import rpc
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum.server.service import DEFAULT_CONTROL_PORT
from lanesum_control.model import DEFAULT_MARK_ABOVE

Topology = Annotated[str, typer.Option(help="Shipped topology or YAML file.")]
Loopback = Annotated[bool, typer.Option("--loopback", help="Hosts at their addresses below 127.0.0.0/8, over UDP.")]

_SERVER = f"127.0.0.1:{DEFAULT_CONTROL_PORT}"


def _wait_for_signal() -> None:
    """Until SIGINT or SIGTERM, which unwind as exceptions."""
    while True:
        signal.pause()


def switch(
    topology: Topology = "star4",
    name: Annotated[str | None, typer.Option(help="Which switch of the topology; needed where there are several.")] = (
        None
    ),
    p4runtime: Annotated[str, typer.Option(help="Address of the P4Runtime server: host:port or unix:path.")] = (
        "127.0.0.1:9559"
    ),
    interface: Annotated[list[str] | None, typer.Option(help="port@name of a network interface; repeatable.")] = None,
    loopback: Loopback = False,
    program: Annotated[Path | None, typer.Option(help="Program to load at once; else P4Runtime pushes one.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the program's random numbers.")] = 0,
    faults: Annotated[str | None, typer.Option(help="Fault plan: shipped one or YAML file.")] = None,
    fault_counts: Annotated[Path | None, typer.Option(help="Folder where the faults are counted.")] = None,
    tofino: Annotated[
        bool, typer.Option("--tofino", help="Run what p4c prints of programs for Tofino instead of BMv2 JSON.")
    ] = False,
) -> None:
    """Run the embedded switch: p4c's BMv2 JSON, served over P4Runtime like simple_switch_grpc."""
    from lanesum.faults.links import LinkFaults
    from lanesum.faults.network import names_in
    from lanesum.faults.plan import FaultPlan
    from lanesum.run.switch_ports import interface_ports, loopback_ports
    from lanesum_control.client import DEFAULT_DEVICE_ID
    from lanesum_control.topology import load
    from lanesum_switch.dataplane import EmbeddedSwitch
    from lanesum_switch.p4runtime import P4RuntimeServer
    from lanesum_switch.ports.port import Port
    from lanesum_switch.ports.runner import PortRunner, queue_depths
    from lanesum_switch.tna.switch import TofinoSwitch

    if loopback == bool(interface):
        raise ConfigurationError("The switch needs ports.", "Give either --loopback or --interface port@name.")
    ports: dict[int, Port] = {}
    waiting = None if loopback else queue_depths(ports)  # sockets on loopback do not say what waits
    kind = TofinoSwitch if tofino else EmbeddedSwitch
    device = kind(seed=seed, queue_depth=waiting)
    if program is not None:
        device.load(_read(program))
    network = load(topology)
    if name is None and len(network.switches()) > 1:
        raise ConfigurationError(
            f"{network.name} has several switches.", f"Give --name {'|'.join(network.switches())}."
        )
    if name is not None and name not in network.switches():
        raise ConfigurationError(
            f"{network.name} has no switch {name!r}.", f"Its switches: {', '.join(network.switches())}."
        )
    here = network.switch if name is None else name
    injected = None if faults is None else LinkFaults(FaultPlan.load(faults, names_in(network)), fault_counts)
    ports.update(
        loopback_ports(network, here, injected)
        if loopback
        else interface_ports(network, here, dict(map(_interface, interface or [])), injected)
    )
    with (
        PortRunner(device, ports) as runner,
        P4RuntimeServer(
            device,
            p4runtime,
            device_id=DEFAULT_DEVICE_ID,
            inject=runner.inject,
            spare=lambda: kind(seed=seed, queue_depth=waiting),
        ),
    ):
        _wait_for_signal()


def _read(program: Path) -> bytes:
    try:
        return program.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Cannot read the program {program}: {error.strerror}.") from error


def _interface(text: str) -> tuple[int, str]:
    number, found, name = text.partition("@")
    if not found or not number.isdigit() or not name:
        raise ConfigurationError(f"--interface {text!r} is not port@name.", "For example --interface 1@s1-eth1.")
    return int(number), name


def server(
    topology: Topology = "star4",
    listen: Annotated[
        str | None,
        typer.Option(
            help="IPv4 address and UDP port of workers' packets: host:port. By default the server's address in the "
            "topology; on loopback the port after it, because a switch stands at the address itself."
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Which of the topology's servers, by its host; needed where there are several.")
    ] = None,
    control: Annotated[str, typer.Option(help="Address for the controller: host:port.")] = _SERVER,
    journal: Annotated[
        Path | None, typer.Option(help="Folder where decisions of jobs with a quorum outlive this process.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of the compiled server. By default one for two processors, four at most."),
    ] = None,
    offload: Annotated[
        str,
        typer.Option(
            help="Whether the compiled server hands the kernel packets joined: on, off or auto, which is off where a "
            "switch made of software may have to see each."
        ),
    ] = "auto",
    loopback: Loopback = False,
) -> None:
    """Run the aggregation server: it sums whatever no switch has taken."""
    from lanesum.offload import Offload, check_offload
    from lanesum.server.service import serve
    from lanesum_control.topology import load

    network = load(topology)
    servers = network.server_hosts()
    if host is None and listen is None and len(servers) > 1:
        raise ConfigurationError(f"{network.name} has several servers.", f"Give --host {'|'.join(servers)}.")
    if host is not None and host not in servers:
        raise ConfigurationError(f"{network.name} has no server at {host}.", f"Its servers: {', '.join(servers)}.")
    address = network.server_backend(host, loopback=loopback) if listen is None else _udp_address(listen)
    check_offload(offload)
    with serve(address, control, journal, threads=threads, offload=cast(Offload, offload)):
        _wait_for_signal()


def _udp_address(text: str) -> tuple[str, int]:
    ip, _, port = text.rpartition(":")
    if not ip or not port.isdigit():
        raise ConfigurationError(f"--listen {text!r} is not host:port.", "For example --listen 10.19.0.100:19539.")
    return ip, int(port)


def controller(
    topology: Topology = "star4",
    switch: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ADDRESS of a switch, repeatable; the address is host:port or unix:path of its P4Runtime server. "
            "Only the address where the topology has one switch. Without any, the server sums everything."
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="Control address of an aggregation server: host:port; repeatable, once for each server of the "
            f"topology. By default {_SERVER}."
        ),
    ] = None,
    listen: Annotated[str, typer.Option(help="Address for workers: host:port.")] = f"127.0.0.1:{rpc.DEFAULT_PORT}",
    state: Annotated[Path | None, typer.Option(help="File that outlives the controller; else in memory only.")] = None,
    words: Annotated[
        int | None,
        typer.Option(
            help=f"Accumulator words per packet: which build of the program. By default {DEFAULT_ACCUMULATOR_WORDS}; "
            "a profile of --tofino says it itself."
        ),
    ] = None,
    mark_above: Annotated[
        int,
        typer.Option(min=0, help="Packets that wait at a switch port before what leaves there is marked; 0: never."),
    ] = DEFAULT_MARK_ABOVE,
    tofino: Annotated[
        str | None, typer.Option(help="Push this profile of the program for Tofino, with as many words as it has.")
    ] = None,
    device_config: Annotated[
        Path | None,
        typer.Option(
            help="With --tofino: file of make tofino for the chip's agent; else what the embedded switch runs."
        ),
    ] = None,
    recirculation: Annotated[
        list[int] | None,
        typer.Option(help="With --tofino: port at which packets go around, repeatable; by default the chip's own."),
    ] = None,
    loopback: Loopback = False,
) -> None:
    """Push the P4 program to the switches, admit jobs, hand out tickets, and repair what starts anew."""
    from lanesum.server.client import RemoteServer
    from lanesum_control.client import DEFAULT_CONNECT_TIMEOUT_S
    from lanesum_control.controller import Controller
    from lanesum_control.events import EventLog
    from lanesum_control.managed import RemoteSwitch
    from lanesum_control.monitor import Monitor
    from lanesum_control.network import Network
    from lanesum_control.pipelines import bmv2_pipeline, tofino_pipeline
    from lanesum_control.service import ControllerService
    from lanesum_control.store import Store
    from lanesum_control.topology import load

    network = load(topology)
    if tofino is None and (device_config is not None or recirculation):
        raise ConfigurationError("--device-config and --recirculation are for --tofino.", "Name a profile with it.")
    if tofino is None:
        pipeline = bmv2_pipeline(DEFAULT_ACCUMULATOR_WORDS if words is None else words)
    else:
        pipeline = tofino_pipeline(tofino, device_config)
        if words not in (None, pipeline.accumulator_words):
            raise ConfigurationError(
                f"--words {words} is not what {tofino} has: {pipeline.accumulator_words}.", "Leave --words out."
            )
    addresses = _switch_addresses(network.switches(), switch or [])
    with Store(state) as store:
        jobs = Controller(
            Network.of(network, loopback=loopback),
            [RemoteServer(address) for address in _server_addresses(server or [_SERVER])],
            {
                name: RemoteSwitch(address, pipeline, mark_above or None, recirculation or None)
                for name, address in addresses.items()
            },
            store=store,
            accumulator_words=pipeline.accumulator_words,
            events=EventLog(listener=lambda event: typer.echo(event.line())),
            connect_timeout_s=DEFAULT_CONNECT_TIMEOUT_S,
        )
        try:
            with Monitor(jobs), ControllerService(jobs, listen):
                _wait_for_signal()
        finally:
            jobs.close()


def _server_addresses(options: list[str]) -> list[str]:
    """Raises ConfigurationError."""
    for address in options:
        if options.count(address) > 1:
            raise ConfigurationError(f"--server names {address} twice.")
    return options


def _switch_addresses(names: list[str], options: list[str]) -> dict[str, str]:
    """P4Runtime address by switch. Raises ConfigurationError."""
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
        if not address.startswith("unix:") and not address.rpartition(":")[2].isdigit():
            raise ConfigurationError(f"{address!r} is no P4Runtime address.", "Give host:port or unix:path.")
        if name in addresses:
            raise ConfigurationError(f"--switch names {name} twice.")
        addresses[name] = address
    return addresses
