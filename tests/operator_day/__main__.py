# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Work an operator's day, and print what each step cost: ``python -m tests.operator_day``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from lanesum._internal.output_file import write_file
from tests.control_plane import postgresql_server
from tests.operator_day.day import Step, opened

ROW = "| {:24} | {:>7} | {:>7} | {:>8} | {:>7} | {:>5} |"


def say(step: Step) -> None:
    """Print a step as a row."""
    times = f"{step.seconds:.1f}", f"{step.pause_s:.1f}"
    print(ROW.format(step.name, *times, step.sessions, step.rounds, step.wrong), flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 if a sum was wrong or a job was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.operator_day", description=__doc__)
    parser.add_argument("--jobs", type=int, default=60, help="number of jobs of two workers (60)")
    parser.add_argument("--json", type=Path, help="write the report there")
    options = parser.parse_args(arguments)
    if postgresql_server.MISSING:
        print(f"One controller on SQLite: {postgresql_server.MISSING}.")
    print(ROW.format("step", "s", "pause s", "sessions", "rounds", "wrong"))
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="lanesum-day-") as folder, opened(Path(folder), options.jobs) as day:
        day.run(say)
        report = day.end()
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.json, json.dumps(report, indent=1) + "\n")
    lost = ", ".join(report["lost_jobs"]) or "none"
    print(f"{report['rounds']} sums of {report['jobs']} jobs, {report['wrong']} wrong; lost jobs: {lost}")
    return 1 if report["wrong"] or report["lost_jobs"] else 0


if __name__ == "__main__":
    sys.exit(main())
