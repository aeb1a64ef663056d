# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum doctor``: report what lanesum uses on this machine, and what is missing."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from lanesum.cli.app import ArgumentParser
from lanesum.doctor import Finding, Severity, examine, usable

_COLORS = {Severity.OK: "32", Severity.NOTE: "33", Severity.PROBLEM: "1;31"}
_MIN_TEXT_WIDTH = 40


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    options = ArgumentParser(
        prog="lanesum doctor",
        description="Report what lanesum uses on this machine and why, and what to do about problems. "
        "The exit status is 1 if there is one.",
    )
    options.add_argument("--json", action="store_true", help="print JSON")
    options.add_argument("--controller", help="check its switches, servers, and the path from this machine to them")
    options.add_argument("--job", help="say why this job is slow, or summed by the server")
    return options


def main(argv: Sequence[str]) -> int:
    """Print every finding; return 1 if one of them is a problem."""
    options = parser().parse_args(argv)
    findings = examine(options.controller, options.job)
    fine = usable(findings)
    if options.json:
        print(json.dumps({"usable": fine, "checks": [asdict(finding) for finding in findings]}, indent=2))
    else:
        print(table(findings))
        print("lanesum can be used." if fine else "lanesum cannot be used until the problems are solved.")
    return 0 if fine else 1


def table(findings: Sequence[Finding]) -> str:
    """Return the findings as text: status, name, and the text, wrapped on a terminal only."""
    terminal = sys.stdout.isatty()
    name_width = max(len(finding.name) for finding in findings)
    status_width = max(len(finding.status) for finding in findings)
    indent = status_width + name_width + 4
    width = max(shutil.get_terminal_size().columns - indent, _MIN_TEXT_WIDTH)
    lines = []
    for finding in findings:
        text = f"{finding.what} {finding.next_step}".strip()
        # Long words are paths and commands, which a reader copies.
        wrapped = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) if terminal else [text]
        status = f"{finding.status:<{status_width}}"
        if terminal:
            status = f"\x1b[{_COLORS[finding.status]}m{status}\x1b[0m"
        lines.append(f"{status}  {finding.name:<{name_width}}  {wrapped[0]}")
        lines += [" " * indent + line for line in wrapped[1:]]
    return "\n".join(lines)
