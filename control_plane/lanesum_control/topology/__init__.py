# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies: hosts, switches and links."""

from lanesum_control.topology.builder import TopologyBuilder
from lanesum_control.topology.files import TopologyError, available, load
from lanesum_control.topology.model import Link, Node, Topology

__all__ = ["Link", "Node", "Topology", "TopologyBuilder", "TopologyError", "available", "load"]
