# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fleets of the topology star4: on loopback side by side, each with addresses of its own, or in Mininet."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lanesum._internal.udp_socket import Address
from lanesum.launch.supervisor import Supervisor
from lanesum_fabric.topology import Topology, load
from lanesum_lab.bench.fleet import Fleet
from lanesum_lab.bench.places import free_block
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.mininet_net import MininetNetwork, mininet_network
from lanesum_lab.run.plan import make_plan
from lanesum_lab.run.site import At, here

TOPOLOGY = "star4"
LOSS = "loss"


@contextlib.contextmanager
def loopback_fleet(
    folder: Path,
    *,
    number: int,
    loss: float | None,
    controller_options: Sequence[str] = (),
    at: At = here,
) -> Iterator[Fleet]:
    """Run the whole path as processes on 127.0.0.0/8.

    Args:
        folder: folder for its files; made here.
        number: number of the fleet in this process.
        loss: fraction of packets lost on every link in both directions; 0 keeps the injectors, None has none.
        controller_options: more options of the controller.
        at: see ``Fleet``.
    """
    folder.mkdir()
    topology = folder / "topology.yaml"
    topology.write_text(relocated(load(TOPOLOGY), number))
    faults = None
    if loss is not None:
        faults = folder / "faults.yaml"
        faults.write_text(json.dumps({"seed": 1, "rules": [{"name": LOSS, "kind": "drop", "probability": loss}]}))
    plan = make_plan(
        topology=str(topology),
        runner="loopback",
        workers=None,
        codec="fixed",
        epochs=1,
        out=folder,
        faults=None if faults is None else str(faults),
    )
    with Supervisor(folder / "logs") as supervisor:
        fleet = Fleet(plan, Scratch(folder), supervisor, at=at, controller_options=controller_options)
        try:
            yield fleet
        finally:
            fleet.close()


@contextlib.contextmanager
def mininet_fleet(
    folder: Path, logs: Path, *, rates_mbit: Mapping[str, float], workers: int | None = None
) -> Iterator[tuple[Fleet, MininetNetwork]]:
    """Run the whole path with an embedded switch in Mininet, without segmentation offloads. Needs root.

    Args:
        folder: folder for its files.
        logs: folder for the logs.
        rates_mbit: rate of the link of each of these nodes; the others have no limit.
        workers: number of workers that take part; None for all.
    """
    fields = load(TOPOLOGY).model_dump(mode="json", exclude_none=True)
    for link in fields["links"]:
        for name in rates_mbit.keys() & link["endpoints"]:
            link["rate_mbit"] = rates_mbit[name]
    topology = folder / "topology.yaml"
    topology.write_text(json.dumps(fields))
    plan = make_plan(
        topology=str(topology),
        runner="mininet",
        switch="embedded",
        workers=workers,
        codec="fixed",
        epochs=1,
        out=folder,
    )
    with mininet_network(plan.topology) as network, Supervisor(logs) as supervisor:
        network.switch_offloads_off()
        fleet = Fleet(plan, Scratch(folder), supervisor, at=network.command, interfaces=network.switch_interfaces)
        try:
            yield fleet, network
        finally:
            fleet.close()


def relocated(topology: Topology, number: int) -> str:
    """Return the topology with unused addresses, as JSON, which is YAML too. Raises BenchError."""
    fields = topology.model_dump(mode="json", exclude_none=True)

    def move(block: int) -> Address:
        for node in fields["nodes"].values():
            if "ip" in node:
                first, _, *rest = node["ip"].split(".")
                node["ip"] = ".".join([first, str(block), *rest])
        return Topology.model_validate(fields).server_backend(loopback=True)

    free_block(move, 7 * number)
    return json.dumps(fields)
