# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``make p4``: compile ``p4src/bmv2`` for every packet size and write ``p4src/build`` with its manifest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lanesum.errors import LanesumError, MissingToolError
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS
from lanesum_control import resources
from lanesum_control.manifest import MANIFEST, sha256, source_files

COMPILER = "p4c-bm2-ss"
# Unused constants are the protocol's: the header file lists all of them for every program.
FLAGS = ("--std", "p4-16", "--Wdisable=unused")


class CompileError(LanesumError):
    """p4c refused the program; the message carries what it said."""


def without_source_info(node: Any) -> Any:
    """The BMv2 JSON without line references: they are most of its size and change nothing."""
    if isinstance(node, dict):
        return {key: without_source_info(value) for key, value in node.items() if key != "source_info"}
    if isinstance(node, list):
        return [without_source_info(item) for item in node]
    return node


def compile_program(compiler: str, p4src: Path, accumulator_words: int, out: Path) -> list[Path]:
    """Compile one packet size into ``out``; returns the JSON and the P4Info. Raises CompileError."""
    stem = f"bmv2-w{accumulator_words}"
    json_path, p4info_path = out / f"{stem}.json", out / f"{stem}.p4info.txtpb"
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "main.json"
        command = [
            compiler,
            *FLAGS,
            f"-DACCUMULATOR_WORDS={accumulator_words}",
            "bmv2/main.p4",
            "-o",
            str(raw),
        ]
        command += ["--p4runtime-files", str(p4info_path)]
        result = subprocess.run(command, cwd=p4src, capture_output=True, text=True)
        if result.returncode != 0 or not raw.exists():
            raise CompileError(f"{COMPILER} refused bmv2/main.p4 with {accumulator_words} words:\n{result.stderr}")
        sys.stderr.write(result.stderr)
        program = without_source_info(json.loads(raw.read_text()))
    # One action or table a line: small, and a diff still shows what changed.
    program["program"] = "bmv2/main.p4"
    lines = [f"{json.dumps(key)}: {_one_level(value)}" for key, value in program.items()]
    json_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return [json_path, p4info_path]


def _one_level(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = (json.dumps(item, separators=(",", ":")) for item in value)
        return "[\n  " + ",\n  ".join(items) + "\n]"
    return json.dumps(value, separators=(",", ":"))


def build(p4src: Path) -> None:
    """Compile every size and write the manifest. Raises MissingToolError without p4c, CompileError."""
    compiler = shutil.which(COMPILER)
    if compiler is None:
        raise MissingToolError(
            f"{COMPILER} is not on PATH.",
            "Install p4c (p4lang publishes packages and sources); the committed build needs no compiler to run.",
        )
    out = p4src / "build"
    out.mkdir(exist_ok=True)
    outputs = []
    for accumulator_words in BUILT_ACCUMULATOR_WORDS:
        outputs += compile_program(compiler, p4src, accumulator_words, out)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    # The program names itself by its full path first, which says nothing about the compiler.
    words = (version.stdout + version.stderr).split()
    manifest = {
        "compiler": " ".join([COMPILER, *words[1:]]),
        "flags": list(FLAGS),
        "sources": {str(path.relative_to(p4src)): sha256(path) for path in source_files(p4src)},
        "outputs": {path.name: sha256(path) for path in outputs},
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def main() -> int:
    root = resources.checkout_root()
    if root is None:
        print("make p4 runs in a checkout of the repository.", file=sys.stderr)
        return 2
    try:
        build(root / "p4src")
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
