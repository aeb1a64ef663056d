# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Embedded P4 switch: runs v1model and TNA programs in a Python process, and serves P4Runtime and BF Runtime.

The names below are loaded on first use, so that programs without P4Runtime do not import gRPC. README.md shows how to
use them; ``lanesum_switch.api`` has the classes of tables, entries and errors.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanesum_switch.bfruntime import BfRuntimeServer as BfRuntimeServer
    from lanesum_switch.dataplane import EmbeddedSwitch as EmbeddedSwitch
    from lanesum_switch.faults import FaultInjector as FaultInjector
    from lanesum_switch.faults import FaultPlan as FaultPlan
    from lanesum_switch.p4runtime import P4RuntimeServer as P4RuntimeServer
    from lanesum_switch.ports import AfPacketPort as AfPacketPort
    from lanesum_switch.ports import FaultyPort as FaultyPort
    from lanesum_switch.ports import MemoryPort as MemoryPort
    from lanesum_switch.ports import PortRunner as PortRunner
    from lanesum_switch.ports import UdpPort as UdpPort
    from lanesum_switch.ports import UdpPortConfig as UdpPortConfig
    from lanesum_switch.tna.switch import TofinoSwitch as TofinoSwitch

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

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Load a public name. Raises AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
