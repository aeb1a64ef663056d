# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation server: the destination of all contributions; it sums those that no switch consumed."""

from lanesum.server.aggregator import Aggregator
from lanesum.server.jobs import MemberIndex, ServerJob
from lanesum.server.slot_table import ServerDecision
from lanesum.server.udp import AggregationServer

__all__ = ["AggregationServer", "Aggregator", "MemberIndex", "ServerDecision", "ServerJob"]
