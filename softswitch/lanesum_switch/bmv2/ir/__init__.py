# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Intermediate representation of a program: typed objects between loader and compiler.

``bmv2.loader`` makes it from the BMv2 JSON, ``tna`` from TNA programs; ``compiler`` turns it into Python.
"""

from lanesum_switch.bmv2.ir.expressions import *  # noqa: F403
from lanesum_switch.bmv2.ir.program import *  # noqa: F403
