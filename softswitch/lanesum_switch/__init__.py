# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Embedded P4 switch: runs v1model and TNA programs in a Python process, and serves P4Runtime and BF Runtime.

The names below are loaded on first use, so that programs without P4Runtime do not import gRPC. README.md shows how to
use them; ``lanesum_switch.api`` has the classes of tables, entries and errors.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanesum_switch.bfruntime import BfRuntimeServer
    from lanesum_switch.dataplane import EmbeddedSwitch
    from lanesum_switch.faults import FaultInjector, FaultPlan
    from lanesum_switch.p4runtime import P4RuntimeServer
    from lanesum_switch.ports import AfPacketPort, FaultyPort, MemoryPort, PortRunner, UdpPort, UdpPortConfig
    from lanesum_switch.tna.switch import TofinoSwitch

_MODULES = {
    "AfPacketPort": "lanesum_switch.ports",
    "BfRuntimeServer": "lanesum_switch.bfruntime",
    "EmbeddedSwitch": "lanesum_switch.dataplane",
    "FaultInjector": "lanesum_switch.faults",
    "FaultPlan": "lanesum_switch.faults",
    "FaultyPort": "lanesum_switch.ports",
    "MemoryPort": "lanesum_switch.ports",
    "P4RuntimeServer": "lanesum_switch.p4runtime",
    "PortRunner": "lanesum_switch.ports",
    "TofinoSwitch": "lanesum_switch.tna.switch",
    "UdpPort": "lanesum_switch.ports",
    "UdpPortConfig": "lanesum_switch.ports",
}

__all__ = [
    "AfPacketPort",
    "BfRuntimeServer",
    "EmbeddedSwitch",
    "FaultInjector",
    "FaultPlan",
    "FaultyPort",
    "MemoryPort",
    "P4RuntimeServer",
    "PortRunner",
    "TofinoSwitch",
    "UdpPort",
    "UdpPortConfig",
]


def __getattr__(name: str) -> Any:
    """Load a public name. Raises AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
