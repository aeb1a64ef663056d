# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The wire protocol: packet definition, codecs, lane operations."""

from lanesum.protocol.lanes import LANE_SHAPES, LaneOp, LaneShape
from lanesum.protocol.packet import ChunkBatch, Header, Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, UDP_PORT, VERSION, Flag, Kind

__all__ = [
    "HEADER_BYTES",
    "LANE_SHAPES",
    "UDP_PORT",
    "VERSION",
    "ChunkBatch",
    "Flag",
    "Header",
    "Kind",
    "LaneOp",
    "LaneShape",
    "Packet",
    "PacketError",
]
