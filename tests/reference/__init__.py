# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reference switch: the lanesum program in plain Python, an executable specification of ``p4src/``."""

from lanesum_lab.targets import SwitchTarget
from tests.reference.slots import SlotTable, TofinoSlotTable


def slot_table_of(target: SwitchTarget) -> type[SlotTable]:
    """Return the decisions of a target's program; the controller's options choose the program."""
    return TofinoSlotTable if "--tofino" in target.controller_options else SlotTable
