# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies: hosts, switches and links."""

from lanesum_fabric.topology.builder import TopologyBuilder
from lanesum_fabric.topology.files import TopologyError, available, load
from lanesum_fabric.topology.model import Node, Topology, TopologyLink

__all__ = ["Node", "Topology", "TopologyBuilder", "TopologyError", "TopologyLink", "available", "load"]
