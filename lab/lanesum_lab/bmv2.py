# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BMv2 as a process beside the embedded switch: its program and its command line."""

from __future__ import annotations

from collections.abc import Mapping

PROGRAM = "simple_switch_grpc"


def command(interfaces: Mapping[int, str], p4runtime: str, device_id: int) -> list[str]:
    """The command line of a BMv2 without a program on ``interfaces`` (port -> name), serving at ``p4runtime``."""
    links = [argument for port, name in interfaces.items() for argument in ("-i", f"{port}@{name}")]
    return [PROGRAM, "--no-p4", "--device-id", str(device_id), *links, "--", "--grpc-server-addr", p4runtime]
