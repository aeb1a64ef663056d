# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum switch``, ``lanesum server`` and ``lanesum controller``: the long-running processes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from lanesum import rpc
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS

Topology = Annotated[str, typer.Option(help="Shipped topology or YAML file.")]
Loopback = Annotated[bool, typer.Option("--loopback", help="Hosts at their addresses below 127.0.0.0/8, over UDP.")]


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
    program: Annotated[Path | None, typer.Option(help="BMv2 JSON to load at once; else P4Runtime pushes one.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the program's random numbers.")] = 0,
    faults: Annotated[str | None, typer.Option(help="Fault plan: shipped one or YAML file.")] = None,
    fault_counts: Annotated[Path | None, typer.Option(help="Folder where the faults are counted.")] = None,
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
    from lanesum_switch.ports.runner import PortRunner

    if loopback == bool(interface):
        raise ConfigurationError("The switch needs ports.", "Give either --loopback or --interface port@name.")
    device = EmbeddedSwitch(seed=seed)
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
    ports = (
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
            spare=lambda: EmbeddedSwitch(seed=seed),
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
    listen: Annotated[str, typer.Option(help="Address of the controller for workers: host:port.")] = (
        f"127.0.0.1:{rpc.DEFAULT_PORT}"
    ),
    words: Annotated[int, typer.Option(min=2, help="Accumulator words per packet.")] = DEFAULT_ACCUMULATOR_WORDS,
    loopback: Loopback = False,
) -> None:
    """Sum jobs without a switch: the aggregation server and a controller for it, at the topology's server address."""
    from lanesum.server import AggregationServer
    from lanesum_control.controller import Controller
    from lanesum_control.server_only import ServerOnly
    from lanesum_control.service import ControllerService
    from lanesum_control.topology import load

    network = load(topology)
    address = network.server_address(loopback=loopback)
    hosts = network.host_ports(loopback=loopback)
    with AggregationServer(address) as aggregation:
        jobs = Controller(ServerOnly(aggregation, words), hosts, address, accumulator_words=words)
        with ControllerService(jobs, listen):
            _wait_for_signal()


def controller(
    topology: Topology = "star4",
    switch: Annotated[str, typer.Option(help="P4Runtime address of the switch: host:port or unix:path.")] = (
        "127.0.0.1:9559"
    ),
    listen: Annotated[str, typer.Option(help="Address for workers: host:port.")] = f"127.0.0.1:{rpc.DEFAULT_PORT}",
    words: Annotated[int, typer.Option(help="Accumulator words per packet: which build of the program.")] = (
        DEFAULT_ACCUMULATOR_WORDS
    ),
    loopback: Loopback = False,
) -> None:
    """Push the P4 program to the switch, then admit jobs and hand out tickets."""
    from lanesum_control.client import SwitchConnection
    from lanesum_control.controller import Controller
    from lanesum_control.pipelines import bmv2_pipeline
    from lanesum_control.service import ControllerService
    from lanesum_control.switch import P4RuntimeSwitch
    from lanesum_control.topology import load

    network = load(topology)
    server = network.server_address(loopback=loopback)
    pipeline = bmv2_pipeline(words)
    with SwitchConnection(switch) as connection:
        device = P4RuntimeSwitch.with_pipeline(connection, pipeline)
        hosts = network.host_ports(loopback=loopback)
        with ControllerService(Controller(device, hosts, server, accumulator_words=words), listen):
            _wait_for_signal()
