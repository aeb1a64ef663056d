# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Target ``bmv2``: the BMv2 JSON in ``simple_switch_grpc``."""

from __future__ import annotations

import subprocess

from lanesum_lab.targets import SwitchProcess, SwitchTarget, register
from lanesum_lab.targets.embedded import CONTROLLER_OPTIONS, pipeline

PROGRAM = "simple_switch_grpc"


def command(process: SwitchProcess) -> list[str]:
    """Return the command line of BMv2 without a program."""
    from lanesum_fabric.program.capabilities import DEFAULT_DEVICE_ID

    assert process.interfaces is not None, "BMv2 has no ports on loopback"
    links = [option for port, name in process.interfaces.items() for option in ("-i", f"{port}@{name}")]
    server = ["--", "--grpc-server-addr", process.p4runtime]
    return [PROGRAM, "--no-p4", "--device-id", str(DEFAULT_DEVICE_ID), *links, *server]


def version() -> str:
    """Return the version of the program on PATH."""
    return subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout.strip()


BMV2 = register(
    SwitchTarget(
        name="bmv2",
        description="simple_switch_grpc (BMv2)",
        pipeline=pipeline,
        command=command,
        executable=PROGRAM,
        on_loopback=False,
        injects_faults=False,
        packets_per_s=8_000,
        controller_options=CONTROLLER_OPTIONS,
    )
)
