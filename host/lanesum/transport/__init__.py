# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Transport: rounds of packets over UDP with a sliding window over a job's slots."""

from lanesum.transport.rounds import RoundSequence
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket
from lanesum.transport.udp import UdpTransport
from lanesum.transport.window import RoundWindow

__all__ = ["JobTicket", "RoundSequence", "RoundWindow", "TransportStats", "UdpTransport"]
