# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Target ``tofino-model``: the assembled binary of a profile on the register-accurate model of its chip."""

from __future__ import annotations

import sys

from lanesum_fabric.tofino.chips import profile
from lanesum_lab.targets import SwitchProcess, SwitchTarget, register
from lanesum_lab.targets.embedded import process_options
from lanesum_lab.targets.tofino import pipeline_of
from lanesum_lab.tofino_model.chips import MODELS

PROFILE = profile("tofino1-w32")


def command(process: SwitchProcess) -> list[str]:
    """Return the command line of the model."""
    return [sys.executable, "-m", "lanesum_lab.tofino_model", "--profile", PROFILE.name, *process_options(process)]


TOFINO_MODEL = register(
    SwitchTarget(
        name="tofino-model",
        description=f"model of the chip with {PROFILE.name}",
        pipeline=pipeline_of(PROFILE),
        command=command,
        executable=MODELS[PROFILE.chip].program,
        injects_faults=False,
        controller_options=("--tofino", PROFILE.name),
    )
)
