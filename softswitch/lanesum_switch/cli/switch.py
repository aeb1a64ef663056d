# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum switch``: run the embedded switch."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Annotated

import typer

from lanesum import logs
from lanesum.cli.signals import limit_heaps, raise_file_limit, serve_until_signal
from lanesum.errors import ConfigurationError
from lanesum_fabric.cli.options import Insecure, LogFormat, Loopback, Metrics, Tls, Topology, typer_main


def switch(
    topology: Topology = "star4",
    name: Annotated[str | None, typer.Option(help="Name of the switch; required if the topology has several.")] = (
        None
    ),
    p4runtime: Annotated[str, typer.Option(help="Address of the P4Runtime server: host:port or unix:path.")] = (
        "127.0.0.1:9559"
    ),
    bfruntime: Annotated[
        str | None, typer.Option(help="With --tofino: address of a BF Runtime server, in place of P4Runtime.")
    ] = None,
    interface: Annotated[
        list[str] | None, typer.Option(help="Port number and network interface, as port@name; repeatable.")
    ] = None,
    loopback: Loopback = False,
    capture: Annotated[
        list[str] | None,
        typer.Option(help="Write the first 100,000 frames of a port to a capture file, as port@file; repeatable."),
    ] = None,
    program: Annotated[
        Path | None, typer.Option(help="Program to load at the start; without it, a controller pushes one.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the program's random numbers.")] = 0,
    faults: Annotated[str | None, typer.Option(help="Shipped fault plan, or YAML file.")] = None,
    fault_counts: Annotated[Path | None, typer.Option(help="Folder of the fault counters.")] = None,
    tofino: Annotated[
        bool, typer.Option("--tofino", help="Run TNA programs, as p4c prints them, instead of BMv2 JSON.")
    ] = False,
    tls: Tls = None,
    metrics: Metrics = None,
    log_format: LogFormat = None,
    insecure: Insecure = False,
) -> None:
    """Run the embedded switch: it runs the JSON of p4c's BMv2 back end and serves P4Runtime."""
    from lanesum.rpc.tls import credentials_for, operators_only
    from lanesum_fabric.metrics.endpoint import MetricsEndpoint
    from lanesum_fabric.program.capabilities import DEFAULT_DEVICE_ID
    from lanesum_fabric.topology import load
    from lanesum_switch.bfruntime import BfRuntimeServer
    from lanesum_switch.cli.samples import switch_samples
    from lanesum_switch.dataplane import EmbeddedSwitch
    from lanesum_switch.faults.links import LinkFaults
    from lanesum_switch.faults.plan import FaultPlan
    from lanesum_switch.faults.topology_names import names_in
    from lanesum_switch.p4runtime import P4RuntimeServer
    from lanesum_switch.ports.capture import CapturedPort, PcapWriter
    from lanesum_switch.ports.port import Port, link_of
    from lanesum_switch.ports.runner import LinkWatch, PortRunner, queue_depths
    from lanesum_switch.ports.topology import interface_ports, loopback_ports
    from lanesum_switch.tna.switch import TofinoSwitch

    if loopback == bool(interface):
        raise ConfigurationError(
            "The switch needs ports: give either --loopback or --interface.", "For example --interface 1@s1-eth1."
        )
    if bfruntime is not None and not tofino:
        raise ConfigurationError("BF Runtime programs switches for Tofino only.", "Give --tofino with --bfruntime.")
    credentials = credentials_for("switch", bfruntime or p4runtime, tls, insecure=insecure)
    access = {"credentials": credentials, "authenticate": None if credentials is None else operators_only}
    ports: dict[int, Port] = {}
    depth = None if loopback else queue_depths(ports)  # the kernel reports no queue of UDP sockets
    kind = TofinoSwitch if tofino else EmbeddedSwitch

    def new_device() -> EmbeddedSwitch:
        one = kind(seed=seed, queue_depth=depth)
        if not tofino:  # groups of a chip have its recirculation ports too
            one.ports = ports
        return one

    device = new_device()
    if program is not None:
        device.load(_read(program))
    network = load(topology)
    if not network.switches():
        raise ConfigurationError(f"Topology {network.name} has no switch.", "Give --topology with one that has.")
    if name is None and len(network.switches()) > 1:
        raise ConfigurationError(
            f"Topology {network.name} has several switches.",
            f"Give --name with one of {', '.join(network.switches())}.",
        )
    if name is not None and name not in network.switches():
        raise ConfigurationError(
            f"Topology {network.name} has no switch {name!r}.",
            f"Give --name with one of {', '.join(network.switches())}.",
        )
    here = network.switch if name is None else name
    injected = None if faults is None else LinkFaults(FaultPlan.load(faults, names_in(network)), fault_counts)
    ports.update(
        loopback_ports(network, here, injected)
        if loopback
        else interface_ports(
            network, here, dict(port_at("interface", text, "1@s1-eth1") for text in interface or []), injected
        )
    )
    links = {number: is_up for number, port in ports.items() if (is_up := link_of(port)) is not None}
    for number, file in (port_at("capture", text, "1@s1-1.pcap") for text in capture or []):
        if number not in ports:
            raise ConfigurationError(
                f"Switch {here} has no port {number} to capture at.",
                f"Its ports: {', '.join(map(str, sorted(ports)))}.",
            )
        ports[number] = CapturedPort(ports[number], PcapWriter(Path(file)))
    if log_format is not None:
        logs.set_up(log_format)
    limit_heaps()
    raise_file_limit()
    with contextlib.ExitStack() as stack:
        faulty = None if injected is None else injected.memory(device, here)
        runner = stack.enter_context(PortRunner(device if faulty is None else faulty, ports))
        if metrics is not None:
            samples = functools.partial(switch_samples, device)
            stack.enter_context(MetricsEndpoint(samples, metrics, tls, insecure=insecure))
        server: BfRuntimeServer | P4RuntimeServer
        if bfruntime is not None:
            assert isinstance(device, TofinoSwitch)
            spare = functools.partial(TofinoSwitch, seed=seed, queue_depth=depth)
            server = stack.enter_context(BfRuntimeServer(device, bfruntime, spare=spare, **access))
            stack.enter_context(LinkWatch(links, server.set_link))
        else:
            server = stack.enter_context(
                P4RuntimeServer(device, p4runtime, DEFAULT_DEVICE_ID, inject=runner.inject, spare=new_device, **access)
            )
        protocol = "P4Runtime" if bfruntime is None else "BF Runtime"
        serve_until_signal(f"switch {here}, {protocol} at {server.address}")


def _read(program: Path) -> bytes:
    try:
        return program.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Cannot read the program {program}: {error.strerror}.") from error


def port_at(option: str, text: str, example: str) -> tuple[int, str]:
    """Return port and name of an option ``port@name``. Raises ConfigurationError."""
    number, _, name = text.partition("@")
    if not number.isdecimal() or not name:
        raise ConfigurationError(
            f"Invalid --{option} {text!r}: expected port@name.", f"For example --{option} {example}."
        )
    return int(number), name


main = typer_main("switch", switch)
