# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Flip bits in certified rounds, and a tenth as many in other ones: ``python -m tests.flips``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lanesum._internal.output_file import write_file
from tests.flips.campaign import TARGETS, run_processes
from tests.flips.report import DOCUMENT, document, to_json


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 if a worker got a wrong sum of a certified round."""
    parser = argparse.ArgumentParser(prog="python -m tests.flips", description=__doc__)
    parser.add_argument("--flips", type=int, default=100_000, help="number of flips (100,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and flips (0)")
    parser.add_argument("--processes", type=int, default=2, help="processes, with consecutive seeds (2)")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target; repeatable")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--report", action="store_true", help="write the tables of the committed results into the page")
    options = parser.parse_args(arguments)
    if options.report:
        write_file(DOCUMENT, document(DOCUMENT.read_text()))
        return 0

    targets = tuple(options.target or TARGETS)
    certified = run_processes(options.flips, options.seed, options.processes, targets=targets)
    plain = run_processes(options.flips // 10, options.seed, options.processes, certified=False, targets=targets)
    results = to_json(certified, plain, options.seed, options.processes)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.out, json.dumps(results, indent=1) + "\n")
    print(
        f"{certified.flips:,} flips in {certified.wall_s:.0f} s: {certified.wrong} wrong sums; "
        f"without check words {plain.wrong:,} of {plain.flips:,}"
    )
    return 1 if certified.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
