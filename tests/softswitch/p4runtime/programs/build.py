# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compile the test programs: ``python build.py`` with p4c-bm2-ss on PATH. The results are committed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from lanesum_lab.builds.bmv2 import without_source_info

HERE = Path(__file__).parent


def build(source: Path) -> None:
    output = source.with_suffix(".json")
    p4info = source.with_suffix(".p4info.txtpb")
    command = ["p4c-bm2-ss", "--p4runtime-files", p4info.name, "-o", output.name, source.name]
    subprocess.run(command, cwd=HERE, check=True)
    stripped = without_source_info(json.loads(output.read_text()))
    output.write_text(json.dumps(stripped, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.p4")):
        build(path)
