# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entities that only other people's programs have: action profiles, digests, meters and idle timeouts.

The server imports this package alone, and not its modules.
"""

from lanesum_switch.p4runtime.other_programs.digests import DigestManager
from lanesum_switch.p4runtime.other_programs.meters import (
    check_meter_update,
    check_rates,
    parse_meter_config,
    write_meter_config,
)
from lanesum_switch.p4runtime.other_programs.profiles import OneShot, ProfileManager
from lanesum_switch.p4runtime.other_programs.scheduler import IdleMonitor, Scheduler

__all__ = [
    "DigestManager",
    "IdleMonitor",
    "OneShot",
    "ProfileManager",
    "Scheduler",
    "check_meter_update",
    "check_rates",
    "parse_meter_config",
    "write_meter_config",
]
