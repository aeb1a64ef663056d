# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Runner of `make run`: start switches, servers, controller and workers, train, and stop all of them."""
