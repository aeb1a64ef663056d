# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``make p4``: compile ``p4src/bmv2`` and write ``p4src/build`` with its manifest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lanesum.errors import LanesumError, MissingToolError
from lanesum_fabric import resources
from lanesum_fabric.program.manifest import BUILDS, COMPILER, FLAGS, Bmv2Build, version_of, write_manifest


class CompileError(LanesumError):
    """The compiler rejected the program; the message contains its output."""


def without_source_info(node: Any) -> Any:
    """Return BMv2 JSON without line references: they are most of its size, and switches do not use them."""
    if isinstance(node, dict):
        return {key: without_source_info(value) for key, value in node.items() if key != "source_info"}
    if isinstance(node, list):
        return [without_source_info(item) for item in node]
    return node


def compile_build(compiler: str, p4src: Path, build: Bmv2Build, out: Path) -> list[Path]:
    """Compile one build into ``out``; return the JSON and the P4Info. Raises CompileError."""
    json_path, p4info_path = (out / name for name in build.outputs)
    json_path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "main.json"
        command = [compiler, *FLAGS, *build.defines, "bmv2/main.p4", "-o", str(raw)]
        command += ["--p4runtime-files", str(p4info_path)]
        result = subprocess.run(command, cwd=p4src, capture_output=True, text=True)
        if result.returncode != 0 or not raw.exists():
            raise CompileError(f"{COMPILER} rejected bmv2/main.p4 of build {build.name}:\n{result.stderr}")
        sys.stderr.write(result.stderr)
        program = without_source_info(json.loads(raw.read_text()))
    program["program"] = "bmv2/main.p4"
    # One line for each action and table: the file is small, and a diff shows what changed.
    lines = [f"{json.dumps(key)}: {_one_level(value)}" for key, value in program.items()]
    json_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return [json_path, p4info_path]


def _one_level(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = (json.dumps(item, separators=(",", ":")) for item in value)
        return "[\n  " + ",\n  ".join(items) + "\n]"
    return json.dumps(value, separators=(",", ":"))


def build_all(p4src: Path) -> None:
    """Compile every build and write the manifest.

    Raises:
        MissingToolError: the compiler is not on PATH.
        CompileError: the compiler rejected the program.
    """
    compiler = shutil.which(COMPILER)
    if compiler is None:
        raise MissingToolError(
            f"{COMPILER} is not on PATH.",
            "Install p4c (docs/tools.md says where it comes from); the committed build needs no compiler to run.",
        )
    out = p4src / "build"
    outputs = [path for build in BUILDS for path in compile_build(compiler, p4src, build, out)]
    write_manifest(out, version_of(COMPILER, compiler), {build.name: build.defines for build in BUILDS}, outputs)


def main() -> int:
    """Rebuild the checkout's programs; return the exit status."""
    root = resources.checkout_root()
    if root is None:
        print("`make p4` needs a checkout of the repository.", file=sys.stderr)
        return 2
    try:
        build_all(root / "p4src")
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
