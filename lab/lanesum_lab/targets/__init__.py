# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switch targets: one record for each kind of switch that runs the lanesum program.

Runner, command line, benchmarks, conformance suite and simulator read this registry. A new target is a module of this
package that calls :func:`register`, and a line in ``_BUILT_IN`` below; docs/extending/switch-target.md has the steps.
"""

from __future__ import annotations

import importlib

from lanesum.errors import ConfigurationError
from lanesum_lab.targets.target import SwitchProcess, SwitchTarget

__all__ = ["SwitchProcess", "SwitchTarget", "get", "names", "register", "targets"]

_BUILT_IN = ("embedded", "bmv2", "tofino", "tofino_model")

_targets: dict[str, SwitchTarget] = {}


def register(target: SwitchTarget) -> SwitchTarget:
    """Add a target and return it. Raises ConfigurationError if its name is taken."""
    if target.name in _targets:
        raise ConfigurationError(f"Switch target {target.name!r} is registered already.", "Choose another name.")
    _targets[target.name] = target
    return target


def targets() -> tuple[SwitchTarget, ...]:
    """Return all targets in the order of their registration."""
    for name in _BUILT_IN:
        importlib.import_module(f"lanesum_lab.targets.{name}")
    return tuple(_targets.values())


def names() -> list[str]:
    """Return the names of all targets."""
    return [target.name for target in targets()]


def get(name: str) -> SwitchTarget:
    """Return the target ``name``. Raises ConfigurationError, with the known names, if there is none."""
    known = {target.name: target for target in targets()}
    if name not in known:
        raise ConfigurationError(f"There is no switch {name!r}.", f"Known switches: {', '.join(known)}, none.")
    return known[name]
