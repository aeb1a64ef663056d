# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of switches, by the address of a switch."""

from __future__ import annotations

from lanesum.errors import ConfigurationError
from lanesum_control.switches.bfruntime.connection import BfRuntimeConnection, forwarding_config
from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.pipelines import CompiledPipeline

#: In front of the address of a switch that is programmed over BF Runtime; without it, over P4Runtime.
BF_RUNTIME = "bfruntime:"


def protocol_of(address: str, pipeline: CompiledPipeline) -> tuple[type[SwitchConnection], str]:
    """Return the class of connections to a switch, and its address without protocol.

    Raises ConfigurationError if the switches of the protocol do not run ``pipeline``.
    """
    if not address.startswith(BF_RUNTIME):
        return SwitchConnection, address
    forwarding_config(pipeline)
    return BfRuntimeConnection, address.removeprefix(BF_RUNTIME)


def check_address(address: str) -> None:
    """Check the form of a switch's address. Raises ConfigurationError."""
    bare = address.removeprefix(BF_RUNTIME)
    if not bare.startswith("unix:") and not bare.rpartition(":")[2].isdecimal():
        raise ConfigurationError(
            f"{address!r} is no address of a switch.", "Give host:port or unix:path, after bfruntime: for BF Runtime."
        )
