# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reference switch: the lanesum program in plain Python, an executable specification of ``p4src/``."""

from lanesum_switch.reference.switch import ReferenceSwitch
from lanesum_switch.reference.tofino_slots import TofinoSlotTable

__all__ = ["ReferenceSwitch", "TofinoSlotTable"]
