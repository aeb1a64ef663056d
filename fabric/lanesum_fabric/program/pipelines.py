# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled P4 programs of lanesum, in the form that a controller pushes to a switch."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum_fabric import resources
from lanesum_fabric.errors import PipelineError
from lanesum_fabric.program.capabilities import Capabilities, slots_of
from lanesum_fabric.program.manifest import BUILDS, Bmv2Build
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.tofino.chips import PIPES, Chip
from lanesum_fabric.tofino.chips import profile as profile_of
from lanesum_fabric.tofino.device_config import check_device_config

BUILD_FOLDER = "p4src/build"
TOFINO_BUILD_FOLDER = f"{BUILD_FOLDER}/tofino"


@dataclass(frozen=True)
class CompiledPipeline:
    """One build of the program.

    Attributes:
        json_path: the program; for a chip the printed program, which the embedded switch runs, or a device config.
        chip: None for BMv2.
        pipes: pipes of the chip that run the program; all pipes where the device config does not name them.
        contents: contents of ``json_path``, where it was read already.
    """

    accumulator_words: int
    json_path: Path
    p4info_path: Path
    chip: Chip | None = None
    pipes: tuple[int, ...] = tuple(range(PIPES))
    contents: bytes | None = field(default=None, repr=False)

    @functools.cached_property
    def program(self) -> bytes:
        """The program's bytes. They are read once, so that the pushed program is the one that ``cookie`` identifies."""
        return self.json_path.read_bytes() if self.contents is None else self.contents

    @functools.cached_property
    def p4info(self) -> str:
        """The P4Info, as text. Raises PipelineError for a file that is no text."""
        try:
            return self.p4info_path.read_text()
        except (OSError, ValueError) as error:
            raise PipelineError(f"Cannot read the P4Info {self.p4info_path}: {error}.") from error

    @functools.cached_property
    def description(self) -> bytes:
        """The bf-rt description of a chip's program. Raises PipelineError for a missing file."""
        path = self.p4info_path.with_name(self.p4info_path.name.removesuffix(".p4info.txtpb") + ".bfrt.json")
        try:
            return path.read_bytes()
        except OSError as error:
            raise PipelineError(f"Cannot read the bf-rt description {path}: {error.strerror}.") from error

    @functools.cached_property
    def names(self) -> P4InfoNames:
        """The P4Info's tables, actions and registers by name."""
        return P4InfoNames.from_text(self.p4info)

    @functools.cached_property
    def capabilities(self) -> Capabilities:
        """The capabilities that the program offers to jobs, read from its P4Info."""
        return Capabilities.of(self.names)

    @property
    def target(self) -> str:
        """Name of the switch or chip, for messages."""
        return "BMv2" if self.chip is None else self.chip.title

    @property
    def make(self) -> str:
        """The command that builds the program."""
        return "make p4" if self.chip is None else "make tofino"

    @property
    def slots(self) -> int:
        """Slots of a switch; slots of one pipe on a chip, where each pipe has its own registers."""
        return slots_of(self.names)

    @functools.cached_property
    def cookie(self) -> int:
        """64 bits that identify this build; P4Runtime returns them when the pipeline is read back."""
        digest = hashlib.sha256(self.program + self.p4info.encode()).digest()
        return int.from_bytes(digest[:8], "big")


def bmv2_pipeline(accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS, *, with_faults: bool = False) -> CompiledPipeline:
    """Return the committed BMv2 build.

    Args:
        with_faults: return the test build, whose fault tables lose packets on request. Only a checkout contains it.

    Raises ConfigurationError: no such build is committed.
    """
    build = Bmv2Build(accumulator_words, with_faults)
    if build not in BUILDS:
        sizes = ", ".join(str(known.accumulator_words) for known in BUILDS if known.with_faults == with_faults)
        tables = " with fault tables" if with_faults else ""
        raise ConfigurationError(
            f"No BMv2 program{tables} for {accumulator_words} words per packet.", f"Built sizes: {sizes}."
        )
    json_path, p4info_path = (resources.directory(BUILD_FOLDER) / name for name in build.outputs)
    if not json_path.exists():
        raise ConfigurationError(f"Missing BMv2 program {json_path}.", "Run lanesum from a checkout.")
    return CompiledPipeline(accumulator_words, json_path, p4info_path)


def tofino_pipeline(profile: str, device_config: Path | None = None) -> CompiledPipeline:
    """Return the committed build of the program for Tofino.

    Args:
        device_config: the binary in the format of a chip's agent (see ``tofino/device_config.py``). Without one the
            program is the printed one, which the embedded switch runs.

    Raises ConfigurationError: the profile is unknown or not built, or the device config is missing or of another build.
    """
    built = profile_of(profile)
    folder = resources.directory(BUILD_FOLDER) / "tofino"
    printed, p4info = folder / f"{profile}.printed.p4", folder / f"{profile}.p4info.txtpb"
    if not printed.exists():
        raise ConfigurationError(f"Missing program of Tofino profile {profile}.", "Build it with `make tofino`.")
    if device_config is None:
        return CompiledPipeline(built.accumulator_words, printed, p4info, built.chip)
    if not device_config.is_file():
        raise ConfigurationError(f"Missing device config {device_config}.", "Build it with `make tofino`.")
    try:
        contents = device_config.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Cannot read the device config {device_config}: {error.strerror}.") from error
    pipes = check_device_config(contents, profile, folder, device_config).pipes or range(PIPES)
    return CompiledPipeline(built.accumulator_words, device_config, p4info, built.chip, tuple(pipes), contents)
