# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a switch: network interfaces (AF_PACKET), UDP sockets and memory, and the loop that serves them."""

from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.port import MemoryPort, Port, PortError
from lanesum_switch.ports.runner import PortRunner, queue_depths
from lanesum_switch.ports.udp import UdpPort, UdpPortConfig

__all__ = [
    "AfPacketPort",
    "FaultyPort",
    "MemoryPort",
    "Port",
    "PortError",
    "PortRunner",
    "UdpPort",
    "UdpPortConfig",
    "queue_depths",
]
