# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compile kernels to machine code without a GPU, in a process in which Triton does not interpret.

``python compiling.py MODULE``: compiles the ``CASES`` of a module of this folder, and prints their ``facts``.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.paths import ROOT

CAPABILITIES = (80, 90)


@dataclass(frozen=True)
class Case:
    """A kernel: module and name, types of its arguments by name, and compile-time constants."""

    module: str
    name: str
    types: Mapping[str, str]
    constants: Mapping[str, Any]
    capability: int
    options: Mapping[str, Any] = field(default_factory=lambda: {"enable_fp_fusion": False})


def compiled(cases_of: str, cache: Path) -> list[dict[str, Any]]:
    """Return the ``facts`` of all ``CASES`` of a module, in order; raise CalledProcessError if one does not compile."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", __name__, cases_of]
    ended = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return found


def facts(case: Case) -> dict[str, Any]:
    """Return machine code's size, registers of a thread, spilled and shared bytes, and floating-point instructions.

    Arrays are assumed to have the alignment of PyTorch's.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(case.module), case.name)
    signature = {name: case.types.get(name, "constexpr") for name in kernel.arg_names}
    constants = {(kernel.arg_names.index(name),): value for name, value in case.constants.items()}
    assert {name for name, kind in signature.items() if kind == "constexpr"} == set(case.constants), case
    aligned = {(index,): [["tt.divisibility", 16]] for index, kind in enumerate(signature.values()) if kind[0] == "*"}
    target = GPUTarget("cuda", case.capability, 32)
    made = triton.compile(ASTSource(kernel, signature, constants, aligned), target=target, options=dict(case.options))
    return {
        **_resources(made.asm["cubin"], triton.knobs.nvidia.cuobjdump.path),
        "kernel": f"{case.name} for {case.capability}",
        "bytes": len(made.asm["cubin"]),
        "shared": made.metadata.shared,
        "instructions": sorted(_instructions(made.asm["ptx"].splitlines())),
    }


def _resources(machine_code: bytes, tool: str) -> dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(machine_code)
        file.flush()
        told = subprocess.run([tool, "-res-usage", file.name], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {key: int(re.findall(rf"{key}:(\d+)", told)[-1]) for key in ("REG", "STACK", "LOCAL")}
    return {"registers": found["REG"], "spilled": found["STACK"] + found["LOCAL"]}


def _instructions(lines: Iterable[str]) -> set[str]:
    words = (word for line in lines for word in line.split()[:2])
    return {word for word in words if ".f32" in word or ".f64" in word}


if __name__ == "__main__":
    print(json.dumps([facts(case) for case in importlib.import_module(f"tests.host.gpu.{sys.argv[1]}").CASES]))
