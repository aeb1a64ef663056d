# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Differences between the committed builds of P4 programs and their manifests, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lanesum_fabric.program.manifest import BUILDS, FLAGS, MANIFEST, digests, sha256, source_files
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER
from lanesum_fabric.tofino.chips import PROFILES
from lanesum_lab.builds import tofino


def bmv2_problems(p4src: Path) -> list[str]:
    """Compare the BMv2 builds with their manifest."""
    out = p4src / "build"
    manifest = json.loads((out / MANIFEST).read_text())
    problems = _file_problems(manifest, p4src, out, source_files(p4src), "make p4")
    files = {str(path.relative_to(out)) for path in (*out.glob("bmv2-*"), *(out / "test").iterdir())}
    problems += [f"{name} belongs to no build: delete it" for name in sorted(files - manifest["outputs"].keys())]
    return problems + _option_problems(manifest, "builds", BUILDS, FLAGS, "make p4")


def tofino_problems(root: Path) -> list[str]:
    """Compare the Tofino builds with their manifest."""
    p4src, out = root / "p4src", root / TOFINO_BUILD_FOLDER
    manifest = json.loads((out / MANIFEST).read_text())
    problems = _file_problems(manifest, p4src, out, source_files(p4src, "tofino"), "make tofino")
    files = {path.name for path in out.iterdir()} - {MANIFEST}
    problems += [f"{name} is of no profile: delete it" for name in sorted(files - manifest["outputs"].keys())]
    return problems + _option_problems(manifest, "profiles", PROFILES, tofino.FLAGS, "make tofino")


def _file_problems(
    manifest: dict[str, Any], p4src: Path, out: Path, sources: Iterable[Path], command: str
) -> list[str]:
    current = digests(p4src, sources)
    problems = [
        f"source {name} is not the one that was compiled: run `{command}`"
        for name in sorted(current.keys() | manifest["sources"].keys())
        if current.get(name) != manifest["sources"].get(name)
    ]
    problems += [
        f"output {name} is not the compiler's: run `{command}`, never edit it"
        for name, digest in manifest["outputs"].items()
        if not (out / name).exists() or sha256(out / name) != digest
    ]
    return problems


def _option_problems(
    manifest: dict[str, Any], key: str, known: Iterable[Any], flags: Sequence[str], command: str
) -> list[str]:
    problems = []
    if manifest[key] != {one.name: list(one.defines) for one in known}:
        problems.append(f"the {key} are not those that were compiled: run `{command}`")
    if manifest["flags"] != list(flags):
        problems.append(f"the compiler's flags are not those that were given: run `{command}`")
    return problems
