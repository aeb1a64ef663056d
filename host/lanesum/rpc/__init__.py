# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Remote calls between workers, controller and servers: JSON messages over gRPC."""
