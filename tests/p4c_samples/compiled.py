# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as ``p4c-bm2-ss`` compiles them: BMv2 JSON and P4Info."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from json import loads as load
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from lanesum_fabric.protobufs import p4info_pb2
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

COMPILER = "p4c-bm2-ss"


class CompileError(Exception):
    """The compiler refused a program; the text is the first line of its message."""


class CompiledProgram:
    """A program for both switches."""

    def __init__(self, name: str, json: bytes, p4info: str) -> None:
        self.name = name
        self.json = json
        self.p4info = p4info_pb2.P4Info()
        text_format.Merge(p4info, self.p4info)
        # p4c describes tables that it optimizes away: BMv2 fails at their first entry, the embedded switch at the push.
        compiled = {table["name"] for pipeline in load(json)["pipelines"] for table in pipeline["tables"]}
        _keep(self.p4info.tables, lambda table: table.preamble.name in compiled)
        used = {ref.id for table in self.p4info.tables for ref in table.action_refs}
        _keep(self.p4info.actions, lambda action: action.preamble.id in used)

    def config(self) -> Any:
        """Return the device config of a push."""
        return p4rt.ForwardingPipelineConfig(p4info=self.p4info, p4_device_config=self.json)


def _keep(objects: Any, is_used: Callable[[Any], bool]) -> None:
    for one in [one for one in objects if not is_used(one)]:
        objects.remove(one)


def compile_program(source: Path, compiler: str) -> CompiledProgram:
    """Compile a v1model program. Raises CompileError."""
    with tempfile.TemporaryDirectory() as scratch:
        program, p4info = Path(scratch, "program.json"), Path(scratch, "program.p4info.txtpb")
        options = ["--std", "p4-16", "--Wdisable", "--p4runtime-files", str(p4info), "-o", str(program)]
        compiled = subprocess.run([compiler, *options, str(source)], capture_output=True, text=True, check=False)
        if compiled.returncode != 0 or not program.exists():
            raise CompileError((compiled.stderr.strip().splitlines() or ["no output"])[0])
        return CompiledProgram(source.stem, program.read_bytes(), p4info.read_text() if p4info.exists() else "")


def samples_of(folder: Path) -> list[Path]:
    """Return the v1model programs of a folder that have packet tests, in the order of their names."""
    sources = sorted(test.with_suffix(".p4") for test in folder.glob("*.stf"))
    return [source for source in sources if source.exists() and "v1model.p4" in source.read_text()]
