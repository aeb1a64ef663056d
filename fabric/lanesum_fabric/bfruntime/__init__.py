# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Messages and descriptions of BF Runtime, which controller and embedded switch share."""
