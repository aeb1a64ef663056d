# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Target ``embedded``: the BMv2 JSON in the embedded switch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum_lab.targets import SwitchProcess, SwitchTarget, register
from lanesum_switch.dataplane import EmbeddedSwitch

if TYPE_CHECKING:
    from lanesum_fabric.program.pipelines import CompiledPipeline


def lanesum_command(*arguments: str) -> list[str]:
    """Return a command line of ``lanesum`` under this interpreter."""
    return [sys.executable, "-m", "lanesum.cli", *arguments]


def process_options(process: SwitchProcess) -> list[str]:
    """Return the options of ``lanesum switch`` for its topology, address and ports."""
    interfaces = process.interfaces
    ports = ["--loopback"] if interfaces is None else [f"--interface={port}@{at}" for port, at in interfaces.items()]
    return ["--topology", process.topology, "--name", process.name, "--p4runtime", process.p4runtime, *ports]


def command(process: SwitchProcess) -> list[str]:
    """Return the command line of the embedded switch."""
    return lanesum_command("switch", *process_options(process), *process.faults)


def pipeline(accumulator_words: int | None) -> CompiledPipeline:
    """Return the committed BMv2 build. Raises ConfigurationError for a size that is not built."""
    from lanesum_fabric.program.pipelines import bmv2_pipeline

    return bmv2_pipeline(DEFAULT_ACCUMULATOR_WORDS if accumulator_words is None else accumulator_words)


# The packets per second of a target are those of this size.
CONTROLLER_OPTIONS = ("--words", str(DEFAULT_ACCUMULATOR_WORDS))

EMBEDDED = register(
    SwitchTarget(
        name="embedded",
        description="embedded switch",
        pipeline=pipeline,
        command=command,
        device=EmbeddedSwitch,
        packets_per_s=25_000,
        controller_options=CONTROLLER_OPTIONS,
    )
)
