# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Server, controller and switch of ``lanesum launch`` on one machine, on addresses of their own below 127.0.0.0/8.

Each is a process of a command, so this module imports none of them. Entry points of packages add kinds of switches.
"""

from __future__ import annotations

import importlib.metadata
import json
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lanesum.cli.app import entry_point
from lanesum.errors import ConfigurationError
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.spec import MAX_WORKERS, UDP_PORT

#: Group of entry points: functions that return switch kinds by name.
GROUP = "lanesum.switches"
_SECOND_OCTETS = range(64, 128)  # topologies for loopback use 127.0 and 127.19, switches 127.255
_ATTEMPTS = 100  # to claim one of 16,384 blocks
_SERVER, _CONTROLLER, _CLAIM = 250, 251, 252  # last octets; workers have 1 to 32


class Block:
    """256 addresses on loopback that no other launch of this machine uses, until ``close``.

    Raises ConfigurationError if there are none.
    """

    def __init__(self) -> None:
        for _ in range(_ATTEMPTS):
            self.network = f"127.{secrets.choice(_SECOND_OCTETS)}.{secrets.randbelow(256)}"
            self._claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                self._claim.bind((self.host(_CLAIM), UDP_PORT))
                return
            except OSError as error:
                self._claim.close()
                why = error
        raise ConfigurationError(
            f"UDP port {UDP_PORT} cannot be used on loopback, at {self.host(_CLAIM)} for example: {why.strerror}.",
            f"Stop the process with this port at all addresses (ss -ulpn 'sport = :{UDP_PORT}'), or: ip link set lo up",
        )

    def host(self, number: int) -> str:
        """Return an address."""
        return f"{self.network}.{number}"

    def close(self) -> None:
        """Release the addresses."""
        self._claim.close()


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """A kind of switch that launch can start.

    Attributes:
        command: returns the command line on loopback, from topology file, name and P4Runtime address of the switch.
        controller_options: options of the controller that choose its program.
        obstacle: reason why it cannot be started here; empty if it can.
    """

    command: Callable[[str, str, str], list[str]]
    controller_options: tuple[str, ...] = ()
    obstacle: str = ""


def kinds() -> dict[str, SwitchKind]:
    """Return the kinds of switches by name: the embedded one, and those of the installed packages."""

    def embedded(topology: str, name: str, p4runtime: str) -> list[str]:
        return _command("switch", "--topology", topology, "--loopback", "--name", name, "--p4runtime", p4runtime)

    found = {"embedded": SwitchKind(embedded)}
    for point in importlib.metadata.entry_points(group=GROUP):
        found = {**found, **point.load()(), "embedded": found["embedded"]}
    return found


def check(switch: str, workers: int) -> None:
    """Check that the parts can be started here. Raises ConfigurationError, MissingToolError."""
    known = {} if switch == "none" else kinds()
    if known and switch not in known:
        raise ConfigurationError(f"There is no switch {switch!r}.", f"Known switches: none, {', '.join(known)}.")
    if known and known[switch].obstacle:
        raise ConfigurationError(
            f"{known[switch].obstacle}.",
            f"Choose --switch embedded, which runs the same program; or lanesum run --switch {switch}.",
        )
    if workers > MAX_WORKERS:
        raise ConfigurationError(f"{workers} workers are more than the {MAX_WORKERS} of one switch.")
    for command in ("controller", *(["switch"] if switch != "none" else [])):
        entry_point(command)


def start(supervisor: Supervisor, block: Block, folder: Path, switch: str, workers: int) -> str:
    """Start the parts; return the address of the controller.

    Raises ProcessFailedError if a part ends, or the controller does not become ready.
    """
    topology = folder / "topology.json"
    kind = None if switch == "none" else kinds()[switch]
    topology.write_text(json.dumps(_topology(block, workers, switched=kind is not None)))
    control, p4runtime = f"unix:{folder}/server.sock", f"unix:{folder}/switch.sock"
    controller = f"unix:{folder}/controller.sock"  # only the user of this launch enters the folder
    if kind is not None:
        supervisor.start("switch", kind.command(str(topology), "s1", p4runtime))
    listen = f"{block.host(_SERVER)}:{UDP_PORT + (kind is not None)}"
    supervisor.start("server", _command("server", "--listen", listen, "--control", control))
    switches = [] if kind is None else ["--switch", p4runtime, *kind.controller_options]
    listening = ["--listen", controller, "--state", str(folder / "controller.db"), "--server", control]
    command = _command("controller", "--topology", str(topology), "--loopback", *listening, *switches)
    supervisor.wait_ready(supervisor.start("controller", command))
    return controller


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "lanesum.cli", *arguments]


def _topology(block: Block, workers: int, *, switched: bool) -> dict[str, object]:
    """Return a topology with one switch or none. With --loopback, hosts below 10 have the same addresses below 127."""

    def node(kind: str, number: int) -> dict[str, str]:
        return {"kind": kind, "ip": "10." + block.host(number).partition(".")[2]}

    nodes = {f"w{number}": node("worker", number) for number in range(1, workers + 1)}
    nodes |= {"server": node("server", _SERVER), "controller": node("controller", _CONTROLLER)}
    if not switched:
        return {"name": "launch", "nodes": nodes}
    links = [{"endpoints": [f"s1:{port}", host]} for port, host in enumerate(nodes, start=1)]
    return {"name": "launch", "nodes": {"s1": {"kind": "switch"}, **nodes}, "links": links}
