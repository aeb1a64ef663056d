# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Server, controller and switch of ``lanesum launch`` on one machine, on addresses of their own below 127.0.0.0/8.

Each is a process of the command of its own package, so this module imports none of them.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
from pathlib import Path

from lanesum.cli.app import entry_point
from lanesum.errors import ConfigurationError
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.spec import MAX_WORKERS, UDP_PORT

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


def check(switch: str, workers: int) -> None:
    """Check that the parts can be started here. Raises ConfigurationError, MissingToolError."""
    if switch == "bmv2":
        raise ConfigurationError(
            "BMv2 has no ports on loopback: it needs network interfaces, and so root.",
            "Choose --switch embedded, which runs the same program; or lanesum run --switch bmv2.",
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
    behind = switch != "none"
    topology.write_text(json.dumps(_topology(block, workers, switched=behind)))
    control, p4runtime = f"unix:{folder}/server.sock", f"unix:{folder}/switch.sock"
    controller = f"unix:{folder}/controller.sock"  # only the user of this launch enters the folder
    network = ["--topology", str(topology), "--loopback"]
    if behind:
        supervisor.start("switch", _command("switch", *network, "--p4runtime", p4runtime))
    listen = f"{block.host(_SERVER)}:{UDP_PORT + behind}"
    supervisor.start("server", _command("server", "--listen", listen, "--control", control))
    switches = ["--switch", p4runtime] if behind else []
    listening = ["--listen", controller, "--state", str(folder / "controller.db")]
    command = _command("controller", *network, *listening, "--server", control, *switches)
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
