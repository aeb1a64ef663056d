# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Measure the kernels of thc on the GPU of this machine: ``python benchmarks/gpu.py --json``.

It requires PyTorch with CUDA, Triton and NumPy; lanesum need not be installed. Without a GPU it exits with status 2.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.extend(str(folder.parent) for folder in Path(__file__).resolve().parents[1].glob("*/lanesum*/"))

from lanesum.errors import LanesumError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--coordinates", type=int, default=1 << 26, help="of the vector, a multiple of 4096")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.coordinates < 4096 or given.coordinates % 4096 or given.repeats < 1:
        parser.error("--coordinates is a multiple of 4096, --repeats at least 1")
    try:
        from lanesum_lab.bench.devices import device
        from lanesum_lab.bench.figures import machine

        there = device("cuda")
        from gpu_kernels import measure

        figures = {"machine": machine(), **measure(there, given.coordinates, given.repeats)}
    except LanesumError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(figures, indent=1) if given.json else table(figures))
    return 0


def table(figures: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = [f"{figures['device']['name']}, {figures['coordinates']:,} coordinates"]
    for one in figures["timings"]:
        share = f"{one['bytes']:6.2f} B {one['bandwidth'] / 1e9:7.0f} GB/s {one['share']:4.0%}"
        lines.append(f"{one['what']:18} {one['by']:8} {one['ns']:8.4f} ns {share}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
