# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled P4 programs that lanesum ships, as a controller and a switch take them."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, DEFAULT_ACCUMULATOR_WORDS
from lanesum_control import resources
from lanesum_control.capabilities import Capabilities, slots_of
from lanesum_control.p4info import P4InfoNames
from lanesum_control.tofino.chips import PIPES
from lanesum_control.tofino.device_check import check_device_config
from lanesum_control.tofino.profiles import Chip
from lanesum_control.tofino.profiles import profile as profile_of

BUILD_FOLDER = "p4src/build"
TOFINO_BUILD_FOLDER = f"{BUILD_FOLDER}/tofino"


@dataclass(frozen=True)
class CompiledPipeline:
    """One build of the program for ``accumulator_words`` words per packet.

    ``json_path``: what a switch is given; for a chip, the print-out that the embedded switch runs.
    ``chip``: None for BMv2. ``pipes``: those of the chip that are known to run it, or all that it can have.
    ``contents``: of the file at ``json_path``, where it was read already.
    """

    accumulator_words: int
    json_path: Path
    p4info_path: Path
    chip: Chip | None = None
    pipes: tuple[int, ...] = tuple(range(PIPES))
    contents: bytes | None = field(default=None, repr=False)

    @functools.cached_property
    def program(self) -> bytes:
        """The BMv2 JSON. Read once: what is pushed stays what ``cookie`` speaks of, whatever becomes of the files."""
        return self.json_path.read_bytes() if self.contents is None else self.contents

    @functools.cached_property
    def p4info(self) -> str:
        """The P4Info, as text."""
        return self.p4info_path.read_text()

    @functools.cached_property
    def names(self) -> P4InfoNames:
        """The P4Info, by name."""
        return P4InfoNames.from_text(self.p4info)

    @functools.cached_property
    def capabilities(self) -> Capabilities:
        """What the program does for jobs."""
        return Capabilities.of(self.names)

    @property
    def target(self) -> str:
        """What runs it, for people."""
        return "BMv2" if self.chip is None else self.chip.title

    @property
    def make(self) -> str:
        """The command that builds it."""
        return "make p4" if self.chip is None else "make tofino"

    @property
    def slots(self) -> int:
        """Slots of a switch that runs it; of one pipe where registers are each pipe's own."""
        return slots_of(self.names)

    def cookie(self) -> int:
        """64 bits that tell this build from every other one; a switch gives them back."""
        digest = hashlib.sha256(self.program + self.p4info.encode()).digest()
        return int.from_bytes(digest[:8], "big")


def bmv2_pipeline(accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS) -> CompiledPipeline:
    """The committed BMv2 build. Raises ConfigurationError for a size that is not built."""
    if accumulator_words not in BUILT_ACCUMULATOR_WORDS:
        built = ", ".join(map(str, BUILT_ACCUMULATOR_WORDS))
        raise ConfigurationError(f"No program is built for {accumulator_words} words per packet; built: {built}.")
    folder = resources.directory(BUILD_FOLDER)
    stem = f"bmv2-w{accumulator_words}"
    return CompiledPipeline(accumulator_words, folder / f"{stem}.json", folder / f"{stem}.p4info.txtpb")


def tofino_pipeline(profile: str, device_config: Path | None = None) -> CompiledPipeline:
    """The committed build of the program for Tofino.

    ``device_config``: the binary as a chip's agent takes it (see ``device_config.py``); without one the program is the
    print-out that the embedded switch runs. Raises ConfigurationError for a profile that there is not or that is not
    built, for no such file, and for one that is not of this profile's build (see ``device_check.py``).
    """
    built = profile_of(profile)
    folder = resources.directory(BUILD_FOLDER) / "tofino"
    printed, p4info = folder / f"{profile}.printed.p4", folder / f"{profile}.p4info.txtpb"
    if not printed.exists():
        raise ConfigurationError(f"No program is built for Tofino profile {profile}.", "Build it: make tofino.")
    if device_config is None:
        return CompiledPipeline(built.accumulator_words, printed, p4info, built.chip)
    if not device_config.is_file():
        raise ConfigurationError(f"There is no device config {device_config}.", "Build it: make tofino.")
    contents = device_config.read_bytes()
    pipes = check_device_config(contents, profile, folder, device_config).pipes or range(PIPES)
    return CompiledPipeline(built.accumulator_words, device_config, p4info, built.chip, tuple(pipes), contents)
