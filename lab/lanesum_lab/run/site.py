# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of a topology, started with the commands of users: switches, servers, controller, relays and trainings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.launch.supervisor import Child, Supervisor
from lanesum.rpc import controller as rpc
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.processor_time import processor_s
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.targets import SwitchProcess
from lanesum_lab.targets.embedded import EMBEDDED, lanesum_command
from lanesum_switch.faults.topology_names import CONTROLLER

JOB = "main"


@dataclass(frozen=True, slots=True)
class Scratch:
    """Files that the processes of one run share; socket files work across network namespaces."""

    folder: Path

    @property
    def state(self) -> Path:
        """State file of the controller."""
        return self.folder / "controller.sqlite"

    def journal(self, server: str) -> Path:
        """Return the journal of a server process."""
        return self.folder / f"journal-{server}"

    @property
    def steps(self) -> Path:
        """File with the number of completed training steps."""
        return self.folder / "steps"

    @property
    def fault_counts(self) -> Path:
        """Folder of the fault injectors' counters."""
        return self.folder / "faults"


def relay_command(plan: RunPlan, scratch: Scratch, *arguments: str) -> list[str]:
    """Return the command line of a relay; ``lanesum_switch.cli.relay`` describes ``arguments``."""
    options = ["--plan", str(plan.options.faults), "--counts", str(scratch.fault_counts)]
    return [sys.executable, "-m", "lanesum_switch.cli.relay", *arguments, *options]


def training_arguments(plan: RunPlan) -> list[str]:
    """Return the arguments of every worker's training process."""
    return [
        "-m",
        "lanesum_lab.train.rank",
        "digits",
        "--compare",
        "--by",
        plan.options.codec,
        "--epochs",
        str(plan.options.epochs),
        "--seed",
        str(plan.options.seed),
        "--deadline",
        str(plan.options.deadline_s),
        "--out",
        str(plan.out),
        "--target",
        plan.target,
        "--topology",
        plan.topology.name,
        "--no-table",
        *([] if plan.link_mbit is None else ["--link-mbit", f"{plan.link_mbit:g}"]),
    ]


def training_environment(controller: str, interface: str, scratch: Scratch) -> dict[str, str]:
    """Return the environment of a worker; gloo uses ``interface``, temporary files end with the run."""
    return {
        environment.CONTROLLER: controller,
        environment.JOB: JOB,
        "GLOO_SOCKET_IFNAME": interface,
        "TP_SOCKET_IFNAME": interface,
        "TMPDIR": str(scratch.folder),
        # Workers share the machine's cores.
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        # An aborted worker writes the stacks of its threads to its log.
        "PYTHONFAULTHANDLER": "1",
        # Hosts have no names: torch would warn about every connection.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def rank_environment(rank: int, workers: int, master: tuple[str, int]) -> dict[str, str]:
    """Return the variables that torchrun sets; a run starts its workers without it, one per host."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": master[0],
        "MASTER_PORT": str(master[1]),
    }


_START_S = 120.0

#: Returns a command with a prefix that runs it at a host or switch.
At = Callable[[str, list[str]], list[str]]


def here(_node: str, command: list[str]) -> list[str]:
    """Return ``command`` as it is: all nodes are this machine."""
    return command


class Site:
    """Processes of one topology. Start switches first, then servers, then the controller.

    Control sockets are files of the folder, which also works across network namespaces.

    Args:
        loopback: use the addresses below 127.0.0.0/8.
        at: runs a command at a node.
        environment: variables of all processes.
        prefix: beginning of the names of the processes at the supervisor.
        relayed: a relay has the servers' address on loopback, where no switch has it.
    """

    def __init__(
        self,
        topology: str,
        folder: Path,
        supervisor: Supervisor,
        *,
        loopback: bool = True,
        at: At = here,
        environment: Mapping[str, str] = {},
        prefix: str = "",
        relayed: bool = False,
    ) -> None:
        self.switches: dict[str, str] = {}
        self.servers: dict[str, str] = {}
        self.parts: dict[str, Child] = {}
        self.controller = f"unix:{folder / CONTROLLER}.sock"
        self._topology, self._folder, self._supervisor, self._prefix = topology, folder, supervisor, prefix
        self._loopback, self._at, self._environment, self._relayed = loopback, at, environment, relayed

    def start_switch(
        self,
        name: str,
        *options: str,
        interfaces: Mapping[int, str] | None = None,
        command: Callable[[SwitchProcess], list[str]] = EMBEDDED.command,
    ) -> None:
        """Start a switch of the topology, by default the embedded one; without ``interfaces`` it is on loopback."""
        self.switches[name] = f"unix:{self._folder / name}.sock"
        process = SwitchProcess(
            name=name, topology=self._topology, p4runtime=self.switches[name], interfaces=interfaces, faults=options
        )
        self._start(name, name, command(process))

    def start_server(self, name: str, host: str, *options: str) -> None:
        """Start the aggregation server of a host."""
        self.servers[name] = f"unix:{self._folder / name}.sock"
        command = lanesum_command("server", "--topology", self._topology, "--host", host)
        command += ["--control", self.servers[name], *options]
        if self._loopback:
            command += ["--loopback", *(["--behind-switch"] if self.switches or self._relayed else [])]
        self._start(name, host, command)

    def start_controller(self, host: str, *options: str) -> None:
        """Start the controller of all parts at a host; ``admit`` waits for it."""
        command = lanesum_command("controller", "--topology", self._topology, "--listen", self.controller)
        command += [word for address in self.servers.values() for word in ("--server", address)]
        command += [word for name, address in self.switches.items() for word in ("--switch", f"{name}={address}")]
        # A network of namespaces is for its site alone.
        command += ["--loopback" if self._loopback else "--insecure", *options]
        self._start(CONTROLLER, host, command)

    def _start(self, name: str, node: str, command: Sequence[str]) -> None:
        command = self._at(node, list(command))
        self.parts[name] = self._supervisor.start(self._prefix + name, command, environment=self._environment)

    def wait_ready(self) -> None:
        """Wait until the controller serves. Raises ProcessFailedError."""
        self._supervisor.wait_ready(self.parts[CONTROLLER], _START_S)

    def admit(self, name: str, hosts: Sequence[str], **request: Any) -> None:
        """Admit a job that stays until it is removed. Raises ProcessFailedError, ControllerError."""
        self.wait_ready()
        # One call with a long timeout: an attempt that timed out may still have been carried out.
        rpc.call(self.controller, rpc.ADMIT, {"name": name, "workers": list(hosts), "lease_s": 0, **request}, _START_S)

    def remove(self, name: str) -> None:
        """Remove a job. Raises ControllerError."""
        rpc.call(self.controller, rpc.REMOVE, {"job": name}, _START_S)

    def server_cpu_s(self) -> float:
        """Return the processor seconds of all servers so far."""
        return sum(processor_s(self.parts[name].process.pid) for name in self.servers)

    def broken(self) -> int:
        """Return the number of datagrams that no server could handle because of a bug."""
        return sum(RemoteServer(address).status().broken for address in self.servers.values())


def start_plan(
    plan: RunPlan,
    scratch: Scratch,
    supervisor: Supervisor,
    *,
    at: At = here,
    interfaces: Callable[[str], Mapping[int, str]] | None = None,
    relayed: bool = False,
) -> Site:
    """Start the switches, servers and controller of a plan.

    ``interfaces`` returns those of a switch by port; None on loopback. The other arguments are those of ``Site``.
    """
    site = Site(
        plan.topology_source,
        scratch.folder,
        supervisor,
        loopback=plan.runner == "loopback",
        at=at,
        relayed=relayed,
    )
    options: list[str] = []
    if plan.switch is not None:
        faults: tuple[str, ...] = ()
        if plan.faults is not None and plan.switch.injects_faults:
            faults = ("--faults", str(plan.options.faults), "--fault-counts", str(scratch.fault_counts))
        for name in plan.switches:
            ports = None if interfaces is None else interfaces(name)
            site.start_switch(name, *faults, interfaces=ports, command=plan.switch.command)
        options += plan.switch.controller_options
    for server, host in plan.servers.items():
        site.start_server(server, host, "--journal", str(scratch.journal(server)))
    site.start_controller(plan.topology.controller, "--state", str(scratch.state), *options)
    return site
