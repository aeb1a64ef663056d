# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Wire protocol: packet format, packing and unpacking, lane operations."""

from lanesum.protocol.lanes import Combine, LaneOp, LaneShape
from lanesum.protocol.packet import ChunkBatch, Header, Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, UDP_PORT, VERSION, Flag, Kind

__all__ = [
    "HEADER_BYTES",
    "UDP_PORT",
    "VERSION",
    "ChunkBatch",
    "Combine",
    "Flag",
    "Header",
    "Kind",
    "LaneOp",
    "LaneShape",
    "Packet",
    "PacketError",
]
