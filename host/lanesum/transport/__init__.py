# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Transport: rounds of packets over UDP, with congestion control over a job's slots.

Vocabulary: docs/native-transport.md, "The worker's transport".
"""

from lanesum.transport.options import SessionOptions
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket
from lanesum.transport.udp import UdpTransport

__all__ = ["JobTicket", "RoundSequence", "RoundState", "SessionOptions", "TransportStats", "UdpTransport"]
