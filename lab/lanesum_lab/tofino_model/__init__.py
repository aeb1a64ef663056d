# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The register-accurate model of Tofino 1 as a switch: the assembled binary processes packets; see ``switch``."""
