# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Builds of the P4 program for BMv2, and the manifest that ties them to their sources.

The module imports none of the packages that read compiled programs.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, DEFAULT_ACCUMULATOR_WORDS

MANIFEST = "manifest.json"
COMPILER = "p4c-bm2-ss"
# Unused constants belong to the protocol: its P4 header lists all of them for every program.
FLAGS = ("--std", "p4-16", "--Wdisable=unused")


@dataclass(frozen=True, slots=True)
class Bmv2Build:
    """One build of ``p4src/bmv2``.

    Attributes:
        with_faults: test build with fault tables, which lose packets on request. Production builds have none.
    """

    accumulator_words: int
    with_faults: bool = False

    @property
    def name(self) -> str:
        """Path of the outputs below ``p4src/build``, without suffix. Wheels do not contain the folder ``test``."""
        return f"test/bmv2-w{self.accumulator_words}-faults" if self.with_faults else f"bmv2-w{self.accumulator_words}"

    @property
    def outputs(self) -> tuple[str, str]:
        """Paths of the BMv2 JSON and the P4Info below ``p4src/build``."""
        return f"{self.name}.json", f"{self.name}.p4info.txtpb"

    @property
    def defines(self) -> tuple[str, ...]:
        """Options of the compiler."""
        size = f"-DACCUMULATOR_WORDS={self.accumulator_words}"
        return (size, "-DWITH_FAULTS") if self.with_faults else (size,)


BUILDS = (*map(Bmv2Build, BUILT_ACCUMULATOR_WORDS), Bmv2Build(DEFAULT_ACCUMULATOR_WORDS, with_faults=True))


def source_files(p4src: Path, target: str = "bmv2") -> list[Path]:
    """Return the P4 sources of the program for ``target`` (``bmv2`` or ``tofino``), in a fixed order."""
    return sorted([*(p4src / "shared").glob("*.p4"), *(p4src / target).glob("*.p4")])


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each path, by its name relative to ``folder``."""
    return {str(path.relative_to(folder)): sha256(path) for path in paths}


def version_of(name: str, compiler: str) -> str:
    """Return name and version of the compiler at the path ``compiler``; the path itself is left out."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    return " ".join([name, *(version.stdout + version.stderr).split()[1:]])


def write_manifest(out: Path, compiler: str, builds: Mapping[str, Iterable[str]], outputs: Iterable[Path]) -> None:
    """Write the manifest of the BMv2 builds.

    Args:
        out: ``p4src/build``.
        compiler: name and version.
        builds: options of the compiler, by build.
        outputs: files of all builds.
    """
    manifest = {
        "compiler": compiler,
        "flags": list(FLAGS),
        "builds": {name: list(defines) for name, defines in builds.items()},
        "sources": digests(out.parent, source_files(out.parent)),
        "outputs": digests(out, outputs),
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
