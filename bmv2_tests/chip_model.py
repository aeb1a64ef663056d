# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Targets ``tofino1-w32-model``, ...: the assembled binary of a profile on the register-accurate model of its chip."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.program.pipelines import CompiledPipeline, tofino_pipeline
from lanesum_fabric.tofino.chips import PROFILES, TofinoProfile
from lanesum_lab.builds.checks import COMPILER
from lanesum_lab.builds.tofino import ASSEMBLER, build_profile
from lanesum_lab.tofino_model.__main__ import BUILD_VARIABLE
from lanesum_lab.tofino_model.chips import MODELS
from lanesum_lab.tofino_model.switch import ModelSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from tests.reference.slots import TofinoSlotTable
from tests.reference.switch import PortFrame

from .control import SwitchUnderTest
from .in_process import InProcessTarget
from .target import DEVICE_ID, Clock, Queues

#: Profiles by the name of their target of the suite.
MODEL_PROFILES = {f"{profile.name}-model": profile for profile in PROFILES if profile.chip in MODELS}
P4_SOURCES = Path(__file__).parent.parent / "p4src"


class ModelTarget(InProcessTarget):
    """The model behind a P4Runtime server. Time stands still on it: no lease ends."""

    slot_table = TofinoSlotTable
    num_schedules = 5
    min_frame_bytes = 60  # of Ethernet, without the frame check
    trailer_bytes = 4
    clock: Clock | None = None
    stopped = True

    def __init__(
        self, name: str, switch: ModelSwitch, connection: SwitchConnection, pipeline: CompiledPipeline
    ) -> None:
        self.name, self.switch = name, switch
        self.accumulator_words = pipeline.accumulator_words
        self.queue_depth = Queues()
        self._pipeline = pipeline
        self._control = SwitchUnderTest.with_pipeline(connection, pipeline)

    @property
    def control(self) -> SwitchUnderTest:
        return self._control

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        return self.exchange_all([(port, frame)])

    def exchange_all(self, frames: Sequence[PortFrame]) -> list[PortFrame]:
        return [(out.port, out.frame) for out in self.switch.process_batch(frames)]

    def decisions(self) -> dict[str, int]:
        return self.control.decisions()

    def push_again(self) -> ModelTarget:
        return ModelTarget(self.name, self.switch, self.control.connection, self._pipeline)


def obstacle(profile: TofinoProfile) -> str:
    """Return the reason why the profile's model cannot run on this machine; empty where it can."""
    harness = MODELS[profile.chip].program
    needed = (harness,) if BUILD_VARIABLE in os.environ else (harness, COMPILER, ASSEMBLER)
    missing = [tool for tool in needed if shutil.which(tool) is None]
    return f"{missing[0]} is not on PATH" if missing else ""


@functools.cache
def build_folder(profile: TofinoProfile) -> Path:
    """Return the folder with binary and ``context.json``; without one that exists, build it, once in a process."""
    if BUILD_VARIABLE in os.environ:
        return Path(os.environ[BUILD_VARIABLE]) / profile.name
    folder = tempfile.mkdtemp(prefix="lanesum-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build_profile(profile, P4_SOURCES, Path(folder)).binary.parent


def assembly_of(profile: TofinoProfile) -> str:
    """Return the profile's assembly; skip the test, with the reason, where there is none or no assembler."""
    reason = obstacle(profile) or ("" if shutil.which(ASSEMBLER) else f"{ASSEMBLER} is not on PATH")
    if reason:
        pytest.skip(reason)
    path = build_folder(profile).parent / "pipe" / "main.bfa"
    if not path.exists():
        pytest.skip(f"{BUILD_VARIABLE} names a folder without assembly")
    return path.read_text()


def assemble(profile: TofinoProfile, assembly: str, folder: Path) -> Path:
    """Assemble a changed program of the profile in an empty folder; return it, as a build for the model."""
    source = folder / "main.bfa"
    source.write_text(assembly)
    (folder / "logs").mkdir()
    subprocess.run([ASSEMBLER, "-o", str(folder), str(source)], check=True, capture_output=True)
    shutil.copy(build_folder(profile) / "context.json", folder)
    return folder


@contextlib.contextmanager
def model_switch(profile: TofinoProfile, build: Path | None = None, **options: Any) -> Iterator[ModelSwitch]:
    """Start the model with a build of the sources; skip the test, with the reason, where it cannot run.

    Args:
        build: folder with another binary and its ``context.json``.
        options: those of ``TofinoSwitch``.
    """
    reason = obstacle(profile)
    if reason:
        pytest.skip(reason)
    chip = MODELS[profile.chip]
    harness = shutil.which(chip.program)
    assert harness is not None
    with ModelSwitch(harness, build or build_folder(profile), chip, **options) as switch:
        yield switch


@contextlib.contextmanager
def model_target(name: str, build: Path | None = None) -> Iterator[ModelTarget]:
    """Start the model of a target behind a P4Runtime server; see ``model_switch``."""
    profile = MODEL_PROFILES[name]
    with contextlib.ExitStack() as cleanup:
        switch = cleanup.enter_context(model_switch(profile, build))
        address = f"unix:{cleanup.enter_context(tempfile.TemporaryDirectory(prefix='lanesum-'))}/p4runtime"
        cleanup.enter_context(P4RuntimeServer(switch, address, DEVICE_ID))
        connection = cleanup.enter_context(SwitchConnection(address, device_id=DEVICE_ID))
        yield ModelTarget(name, switch, connection, tofino_pipeline(profile.name))
