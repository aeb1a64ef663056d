# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Servers, switches and the controller of a topology as processes, started with the commands of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanesum.launch.supervisor import Child, Supervisor
from lanesum.rpc import controller as rpc
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.processor_time import processor_s
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.targets import SwitchProcess
from lanesum_lab.targets.embedded import EMBEDDED, lanesum_command
from lanesum_switch.faults.topology_names import CONTROLLER

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
    controller_options: Sequence[str] = (),
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
            faults = ("--faults", plan.faults_source, "--fault-counts", str(scratch.fault_counts))
        for name in plan.switches:
            ports = None if interfaces is None else interfaces(name)
            site.start_switch(name, *faults, interfaces=ports, command=plan.switch.command)
        options += plan.switch.controller_options
    for server, host in plan.servers.items():
        site.start_server(server, host, "--journal", str(scratch.journal(server)))
    site.start_controller(plan.topology.controller, "--state", str(scratch.state), *options, *controller_options)
    return site
