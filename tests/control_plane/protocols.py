# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of switches: an embedded switch behind a server of each, and the pipelines that it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum_control.switches.bfruntime.connection import BfRuntimeConnection
from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.program.pipelines import CompiledPipeline, bmv2_pipeline, tofino_pipeline
from lanesum_switch.bfruntime import BfRuntimeServer
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch


@dataclass(frozen=True)
class Protocol:
    """A protocol, with functions that return a switch, its server, and two pipelines."""

    name: str
    prefix: str
    connection: type[SwitchConnection]
    switch: Callable[..., Any]
    server: Callable[..., Any]
    pipeline: Callable[[], CompiledPipeline]
    other_pipeline: Callable[[], CompiledPipeline]

    def __str__(self) -> str:
        return self.name


P4RUNTIME = Protocol(
    "P4Runtime",
    "",
    SwitchConnection,
    EmbeddedSwitch,
    functools.partial(P4RuntimeServer, device_id=1),
    bmv2_pipeline,
    functools.partial(bmv2_pipeline, 32),
)
BF_RUNTIME = Protocol(
    "BF Runtime",
    "bfruntime:",
    BfRuntimeConnection,
    TofinoSwitch,
    functools.partial(BfRuntimeServer, spare=TofinoSwitch),
    functools.partial(tofino_pipeline, "tofino1-w32"),
    functools.partial(tofino_pipeline, "tofino1-w256"),
)
PROTOCOLS = (P4RUNTIME, BF_RUNTIME)


class Process:
    """A switch process: program, entries and session end with it."""

    def __init__(self, folder: Path, protocol: Protocol = P4RUNTIME, name: str = "s1") -> None:
        self.protocol = protocol
        self.address = f"unix:{folder / name}.sock"
        self.start()

    def start(self) -> None:
        self.device = self.protocol.switch()
        self.server = self.protocol.server(self.device, self.address)
        self.server.__enter__()

    def stop(self) -> None:
        self.server.__exit__(None, None, None)

    def remote(self, pipeline: CompiledPipeline | None = None, **options: Any) -> RemoteSwitch:
        """Return the switch of a controller that is not connected yet."""
        return RemoteSwitch(self.protocol.prefix + self.address, pipeline or self.protocol.pipeline(), **options)
