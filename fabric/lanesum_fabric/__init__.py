# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Description of the network for controller and embedded switch: topologies, P4 programs, table entries, messages."""
