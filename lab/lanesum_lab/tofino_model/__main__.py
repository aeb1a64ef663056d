# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m lanesum_lab.tofino_model``: serve the model of a chip as a switch, for ``lanesum run``."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lanesum.cli.signals import serve_until_signal
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum_fabric import resources
from lanesum_fabric.program.capabilities import DEFAULT_DEVICE_ID
from lanesum_fabric.tofino.chips import TofinoProfile, profile
from lanesum_fabric.topology import load
from lanesum_lab.tofino_model.chips import MODELS
from lanesum_lab.tofino_model.switch import ModelSwitch
from lanesum_switch.api import PacketOut
from lanesum_switch.cli.switch import port_at
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import interface_ports, loopback_ports

#: Variable that names the folder with the binaries of ``make tofino``; by default ``out/tofino`` of the checkout.
BUILD_VARIABLE = "LANESUM_TOFINO_BINARIES"


def binaries(of: TofinoProfile) -> Path:
    """Return the folder with a profile's binary and ``context.json``. Raises ConfigurationError if there is none."""
    root = resources.checkout_root()
    folder = Path(os.environ.get(BUILD_VARIABLE, "out/tofino" if root is None else root / "out/tofino")) / of.name
    if not (folder / MODELS[of.chip].binary).exists():
        raise ConfigurationError(
            f"{folder} has no binary of profile {of.name}.",
            f"Run `make tofino`, or set {BUILD_VARIABLE} to its folder.",
        )
    return folder


class _Watched:
    """The switch of the ports. An error of the model ends the process, so that the run ends at once."""

    def __init__(self, switch: ModelSwitch) -> None:
        self._switch = switch

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        try:
            return self._switch.process_batch(packets)
        except LanesumError as error:
            print(error, file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            return []


def serve(arguments: argparse.Namespace) -> None:
    """Serve the model until SIGTERM. Raises LanesumError."""
    wanted = profile(arguments.profile)
    chip = MODELS[wanted.chip]
    harness = shutil.which(chip.program)
    if harness is None:
        raise MissingToolError(f"{chip.program} is not on PATH.", "docs/tofino.md has the requirements.")
    network = load(arguments.topology)
    interfaces = dict(port_at("interface", text, "1@s1-eth1") for text in arguments.interface)
    ports = (
        interface_ports(network, arguments.name, interfaces) if interfaces else loopback_ports(network, arguments.name)
    )
    with (
        ModelSwitch(harness, binaries(wanted), chip) as switch,
        PortRunner(_Watched(switch), ports),
        P4RuntimeServer(switch, arguments.p4runtime, DEFAULT_DEVICE_ID) as server,
    ):
        serve_until_signal(f"model of {wanted.name}, P4Runtime at {server.address}")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the switch of the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="lanesum_lab.tofino_model", description=__doc__)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--topology", required=True)
    parser.add_argument("--name", required=True, help="the switch in its topology")
    parser.add_argument("--p4runtime", required=True, help="address of the P4Runtime server")
    parser.add_argument("--interface", action="append", default=[], help="port@name; without one, ports on loopback")
    parser.add_argument("--loopback", action="store_true", help="ports on loopback")
    try:
        serve(parser.parse_args(argv))
    except LanesumError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
