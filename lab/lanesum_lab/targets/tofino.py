# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets ``tofino1-w32`` and the other profiles: the TNA program in the embedded switch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from lanesum.errors import ConfigurationError
from lanesum_fabric.tofino.chips import PROFILES, TofinoProfile
from lanesum_lab.targets import SwitchProcess, SwitchTarget, embedded, register
from lanesum_switch.tna.switch import TofinoSwitch

if TYPE_CHECKING:
    from lanesum_fabric.program.pipelines import CompiledPipeline


def command(process: SwitchProcess) -> list[str]:
    """Return the command line of the embedded switch for TNA programs."""
    return [*embedded.command(process), "--tofino"]


def pipeline_of(profile: TofinoProfile) -> Callable[[int | None], CompiledPipeline]:
    """Return the function that returns the compiled profile, and refuses other sizes. Processes can exchange it."""
    return functools.partial(_pipeline, profile)


def _pipeline(profile: TofinoProfile, accumulator_words: int | None) -> CompiledPipeline:
    from lanesum_fabric.program.pipelines import tofino_pipeline

    if accumulator_words not in (None, profile.accumulator_words):
        raise ConfigurationError(
            f"Profile {profile.name} sums {profile.accumulator_words} words per packet, not {accumulator_words}."
        )
    return tofino_pipeline(profile.name)


def _target(profile: TofinoProfile) -> SwitchTarget:
    return SwitchTarget(
        name=profile.name,
        description=f"embedded switch with {profile.name}",
        pipeline=pipeline_of(profile),
        command=command,
        device=TofinoSwitch,
        controller_options=("--tofino", profile.name),
    )


TOFINO = tuple(register(_target(profile)) for profile in PROFILES)
