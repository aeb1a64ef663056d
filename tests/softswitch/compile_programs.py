# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compile the committed test programs ``programs/*.p4`` to JSON without ``source_info``.

Run ``python tests/softswitch/compile_programs.py`` where p4c-bm2-ss is on PATH; ``P4C`` names another compiler command.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from lanesum_lab.builds.bmv2 import without_source_info

PROGRAMS = Path(__file__).parent / "programs"


def main(names: list[str]) -> None:
    """Compile the named programs, or all of them."""
    compiler = shlex.split(os.environ.get("P4C", "p4c-bm2-ss"))
    for source in sorted(PROGRAMS.glob("*.p4")):
        if names and source.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "out.json"
            subprocess.run([*compiler, str(source), "-o", str(target)], check=True)
            program = without_source_info(json.loads(target.read_text()))
        program.pop("program")  # the path of this run
        program["program"] = source.name
        (PROGRAMS / f"{source.stem}.json").write_text(json.dumps(program, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
