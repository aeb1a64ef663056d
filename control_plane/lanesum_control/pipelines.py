# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled P4 programs that lanesum ships: BMv2 JSON, P4Info and the manifest that ties them to their sources."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from lanesum import resources
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, DEFAULT_ACCUMULATOR_WORDS
from lanesum_control.capabilities import Capabilities, slots_of
from lanesum_control.p4info import P4InfoNames
from lanesum_control.tofino import Chip
from lanesum_control.tofino import profile as profile_of

BUILD_FOLDER = "p4src/build"
TOFINO_BUILD_FOLDER = f"{BUILD_FOLDER}/tofino"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class CompiledPipeline:
    """One build of the program for ``accumulator_words`` words per packet.

    ``json_path``: what a switch is given; for a chip, the print-out that the embedded switch runs.
    ``chip``: None for BMv2.
    """

    accumulator_words: int
    json_path: Path
    p4info_path: Path
    chip: Chip | None = None

    @functools.cached_property
    def program(self) -> bytes:
        """The BMv2 JSON. Read once: what is pushed stays what ``cookie`` speaks of, whatever becomes of the files."""
        return self.json_path.read_bytes()

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
    print-out that the embedded switch runs. Raises ConfigurationError for a profile that is not built, or no such file.
    """
    folder = resources.directory(BUILD_FOLDER) / "tofino"
    printed, p4info = folder / f"{profile}.printed.p4", folder / f"{profile}.p4info.txtpb"
    if not printed.exists():
        raise ConfigurationError(f"No program is built for Tofino profile {profile}.", "Build it: make tofino.")
    if device_config is not None and not device_config.is_file():
        raise ConfigurationError(f"There is no device config {device_config}.", "Build it: make tofino.")
    built = profile_of(profile)
    return CompiledPipeline(built.accumulator_words, device_config or printed, p4info, built.chip)


def source_files(p4src: Path) -> list[Path]:
    """The P4 sources of the BMv2 program, in a fixed order."""
    return sorted([*(p4src / "shared").glob("*.p4"), *(p4src / "bmv2").glob("*.p4")])


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest_problems(p4src: Path) -> list[str]:
    """What the manifest in ``p4src/build`` says that is not so; empty when sources and outputs agree with it."""
    manifest = json.loads((p4src / "build" / MANIFEST).read_text())
    problems = []
    current = {str(path.relative_to(p4src)): sha256(path) for path in source_files(p4src)}
    for name in sorted(current.keys() | manifest["sources"].keys()):
        if current.get(name) != manifest["sources"].get(name):
            problems.append(f"source {name} is not the one that was compiled: run `make p4`")
    for name, digest in manifest["outputs"].items():
        path = p4src / "build" / name
        if not path.exists() or sha256(path) != digest:
            problems.append(f"output {name} is not the compiler's: run `make p4`, never edit it")
    return problems
