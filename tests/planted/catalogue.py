# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All planted bugs: those in source form, and the mutants of the simulator."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import FunctionType

from tests.planted.bug import Bug
from tests.planted.codec_bugs import CODEC_BUGS
from tests.planted.control_bugs import CONTROL_BUGS
from tests.planted.host_bugs import HOST_BUGS
from tests.planted.switch_bugs import SWITCH_BUGS
from tests.planted.transport_bugs import TRANSPORT_BUGS
from tests.simulator.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent
BUGS: tuple[Bug, ...] = CODEC_BUGS + TRANSPORT_BUGS + HOST_BUGS + CONTROL_BUGS + SWITCH_BUGS
#: Area of the simulator's mutants, which ``tests/simulator/test_simulator_mutants.py`` plants.
SIMULATOR = "simulator"
SIMULATOR_TEST = "tests/simulator/test_simulator_mutants.py"


def mutated_function(mutant: Mutant) -> FunctionType:
    """Return the function that a mutant of the simulator replaces."""
    found = inspect.getattr_static(mutant.owner, mutant.function)
    if isinstance(found, property):
        found = found.fget
    function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    assert isinstance(function, FunctionType)
    return function


__all__ = ["BUGS", "MUTANTS", "ROOT", "SIMULATOR", "SIMULATOR_TEST", "mutated_function"]
