# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Target ``tofino-model``: the assembled binary of a profile on the register-accurate model of its chip."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_control.client import SwitchConnection
from lanesum_control.pipelines import CompiledPipeline, tofino_pipeline
from lanesum_control.switch import P4RuntimeSwitch
from lanesum_control.tofino.build import ASSEMBLER, COMPILER, build_profile
from lanesum_control.tofino.profiles import PROFILES, TOFINO_1
from lanesum_lab.tofino_model.harness import PROGRAM
from lanesum_lab.tofino_model.switch import ModelSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.reference.switch import PortFrame
from lanesum_switch.reference.tofino_slots import TofinoSlotTable

from .in_process import InProcessTarget
from .target import DEVICE_ID, Clock, Queues

NAME = "tofino-model"
#: Profile that runs on the model: for its chip, without recirculation.
MODEL_PROFILE = next(profile for profile in PROFILES if profile.chip is TOFINO_1 and profile.passes == 1)
#: Variable that names the folder with the binaries of ``make tofino``, to save a build of the sources.
BUILD_VARIABLE = "LANESUM_TOFINO_BINARIES"
P4_SOURCES = Path(__file__).parent.parent / "p4src"


class ModelTarget(InProcessTarget):
    """The model behind a P4Runtime server. Time stands still on it: no lease ends."""

    name = NAME
    slot_table = TofinoSlotTable
    num_schedules = 5
    min_frame_bytes = 60  # of Ethernet, without the frame check
    trailer_bytes = 4
    clock: Clock | None = None
    stopped = True

    def __init__(self, switch: ModelSwitch, connection: SwitchConnection, pipeline: CompiledPipeline) -> None:
        self.switch = switch
        self.accumulator_words = pipeline.accumulator_words
        self.queue_depth = Queues()
        self._pipeline = pipeline
        self._control = P4RuntimeSwitch.with_pipeline(connection, pipeline)

    @property
    def control(self) -> P4RuntimeSwitch:
        return self._control

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return [(out.port, out.frame) for out in self.switch.process(port, frame)]

    def decisions(self) -> dict[str, int]:
        self.switch.read_counters()
        return self.control.decisions()

    def push_again(self) -> ModelTarget:
        return ModelTarget(self.switch, self.control.connection, self._pipeline)


def obstacle() -> str:
    """Return the reason why the model cannot run on this machine; empty where it can."""
    needed = (PROGRAM,) if BUILD_VARIABLE in os.environ else (PROGRAM, COMPILER, ASSEMBLER)
    missing = [tool for tool in needed if shutil.which(tool) is None]
    return f"{missing[0]} is not on PATH" if missing else ""


def _build(folder: Path) -> Path:
    """Return the folder with binary and ``context.json``; without one that exists, build it."""
    if BUILD_VARIABLE in os.environ:
        return Path(os.environ[BUILD_VARIABLE]) / MODEL_PROFILE.name
    return build_profile(MODEL_PROFILE, P4_SOURCES, folder).binary.parent


@contextlib.contextmanager
def model_target() -> Iterator[ModelTarget]:
    """Start the model with a build of the sources; skip the test, with the reason, where it cannot run."""
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    harness = shutil.which(PROGRAM)
    assert harness is not None
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        switch = cleanup.enter_context(ModelSwitch(harness, _build(folder)))
        address = f"unix:{folder}/p4runtime"
        cleanup.enter_context(P4RuntimeServer(switch, address, DEVICE_ID))
        connection = cleanup.enter_context(SwitchConnection(address, device_id=DEVICE_ID))
        yield ModelTarget(switch, connection, tofino_pipeline(MODEL_PROFILE.name))
