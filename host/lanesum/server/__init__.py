# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation server: what packets are addressed to, and who sums them where no switch does."""

from lanesum.server.aggregator import Aggregator
from lanesum.server.jobs import Place, ServerJob
from lanesum.server.ledger import Decision
from lanesum.server.udp import AggregationServer

__all__ = ["AggregationServer", "Aggregator", "Decision", "Place", "ServerJob"]
