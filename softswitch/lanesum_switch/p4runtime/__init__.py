# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""P4Runtime over gRPC for the embedded switch, with the behaviour of BMv2's simple_switch_grpc."""

from .server import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
