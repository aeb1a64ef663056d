# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The manifest that ties compiled P4 programs to their sources. Needs none of the packages that read such programs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

MANIFEST = "manifest.json"


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
