# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entities that only other people's programs have: action profiles, digests, meters and idle timeouts.

The server imports this package alone, and not its modules. ``HANDLERS`` is the registry of its entities.
"""

from lanesum_switch.p4runtime.other_programs.entities import HANDLERS, OtherEntities, SweepOwner
from lanesum_switch.p4runtime.other_programs.meters import (
    check_meter_update,
    check_rates,
    parse_meter_config,
    write_meter_config,
)
from lanesum_switch.p4runtime.other_programs.profiles import OneShot, ProfileManager, profile_of
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler

__all__ = [
    "HANDLERS",
    "OneShot",
    "OtherEntities",
    "ProfileManager",
    "Scheduler",
    "SweepOwner",
    "check_meter_update",
    "check_rates",
    "parse_meter_config",
    "profile_of",
    "write_meter_config",
]
