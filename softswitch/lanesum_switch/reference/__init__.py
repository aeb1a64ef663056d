# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reference switch: the lanesum program in plain Python, an executable specification of ``p4src/``."""

from lanesum_switch.reference.slots import TofinoSlotTable
from lanesum_switch.reference.switch import ReferenceSwitch

__all__ = ["ReferenceSwitch", "TofinoSlotTable"]
