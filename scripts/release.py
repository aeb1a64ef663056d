# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the versions of all packages with a tag and the changelog: ``scripts/release.py check|notes vX.Y.Z``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECTS = ("host", "host/native", "fabric", "control_plane", "softswitch", "lab")
_SECTION = re.compile(r"^## (?P<version>\S+), (?P<date>.+)\n(?P<notes>(?:(?!## ).*\n?)*)", re.MULTILINE)


def problems(root: Path, tag: str) -> list[str]:
    """Return one line for each version that differs from the tag, and for a changelog without date."""
    version = tag.removeprefix("v")
    found = {}
    for project in PROJECTS:
        found[project] = tomllib.loads((root / project / "pyproject.toml").read_text())["project"]["version"]
    lines = [
        f"{project} has version {one}, but the tag is {tag}." for project, one in found.items() if f"v{one}" != tag
    ]
    section = _SECTION.search((root / "CHANGELOG.md").read_text())
    if section is None or section["version"] != version:
        lines.append(f"CHANGELOG.md does not begin with version {version}.")
    elif not re.fullmatch(r"\d{4}-\d{2}-\d{2}", section["date"]):
        lines.append(f"CHANGELOG.md says '{section['date']}' for version {version}: give the date as YYYY-MM-DD.")
    return lines


def notes(root: Path, tag: str) -> str:
    """Return the changelog of a version. Raises LookupError if there is none."""
    for section in _SECTION.finditer((root / "CHANGELOG.md").read_text()):
        if f"v{section['version']}" == tag:
            return section["notes"].strip() + "\n"
    raise LookupError(f"CHANGELOG.md has no version {tag.removeprefix('v')}.")


def main(arguments: list[str]) -> int:
    """Check the versions or print the notes; return 1 if a version differs."""
    command, tag = arguments
    root = Path(__file__).resolve().parents[1]
    if command == "notes":
        print(notes(root, tag), end="")
        return 0
    found = problems(root, tag)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
