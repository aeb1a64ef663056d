# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Audit of the packages that lanesum depends on, without a network: ``make audit``.

``dependencies.toml`` has the reviewed licence of every pinned package, and the versions below which vulnerabilities are
known. The audit compares it with ``constraints.txt``, with the metadata of the installed packages, and their files with
the hashes that their wheels recorded. It cannot find vulnerabilities that were published after the review.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.paths import ROOT

#: Packages that run in production, and those of a worker alone.
PRODUCTION = ("lanesum", "lanesum-fabric", "lanesum-control", "lanesum-switch")
WORKER = ("lanesum",)
EVERYTHING = (*PRODUCTION, "lanesum-lab[dev]")

# Licences whose conditions an Apache-2.0 work meets by keeping notices. MPL-2.0 covers its own files only.
_PERMISSIVE = frozenset(
    (
        "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
        "CNRI-Python", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
    )
)  # fmt: skip
# Packages of the laboratory alone, which are not distributed with lanesum.
_LABORATORY = frozenset(("GPL-2.0-only",))
_HASH_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The reviewed packages.

    Attributes:
        licences: SPDX expressions by normalized name.
        minimum: lowest versions without a known vulnerability, by normalized name.
        pinned: versions of ``constraints.txt``, by normalized name.
    """

    licences: dict[str, str]
    minimum: dict[str, str]
    pinned: dict[str, str]

    @classmethod
    def read(cls, root: Path) -> Reviewed:
        """Read the files of a checkout."""
        found = tomllib.loads((root / "dependencies.toml").read_text())
        lines = (root / "constraints.txt").read_text().split()
        return cls(
            {canonicalize_name(name): str(licence) for name, licence in found["licences"].items()},
            {canonicalize_name(name): str(version) for name, version in found["minimum"].items()},
            {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)},
        )


def closure(roots: Iterable[str]) -> set[str]:
    """Return the normalized names of the installed packages that ``roots`` require, with the roots themselves."""
    waiting = [Requirement(root) for root in roots]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key in seen:
            continue
        try:
            requires = metadata.requires(wanted.name) or []
        except metadata.PackageNotFoundError:  # optional, and not installed here
            continue
        seen.add(key)
        for requirement in map(Requirement, requires):
            extras = wanted.extras or {""}
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in extras):
                waiting.append(requirement)
    return {name for name, _ in seen}


def problems(reviewed: Reviewed) -> Iterator[str]:
    """Yield what does not match the review, except for files."""
    own = {canonicalize_name(project) for project in (*PRODUCTION, "lanesum-lab", "lanesum-native")}
    for name in sorted(reviewed.pinned.keys() - reviewed.licences.keys()):
        yield f'{name} is pinned and not reviewed. Add to dependencies.toml: {name} = "{_stated_licence(name)}"'
    for name in sorted(reviewed.licences.keys() - reviewed.pinned.keys()):
        yield f"{name} is in dependencies.toml and not in constraints.txt. Remove it from one, or add it to the other."
    production = closure(PRODUCTION) - own
    for name in sorted(closure(EVERYTHING) - own):
        if name not in reviewed.pinned:
            yield f"{name} is required and not pinned. Add to constraints.txt: {name}=={metadata.version(name)}"
        elif Version(metadata.version(name)).public != Version(reviewed.pinned[name]).public:
            yield f"{name} {metadata.version(name)} is installed, but {reviewed.pinned[name]} is pinned; make setup."
        stated, licence = _stated_licence(name), reviewed.licences.get(name, "")
        if licence and (("GPL" in stated) != ("GPL" in licence) or (_is_expression(name) and stated != licence)):
            yield f"{name} states the licence {stated!r}, and was reviewed with {licence!r}. Review it again."
    for name, licence in sorted(reviewed.licences.items()):
        allowed = _PERMISSIVE if name in production else _PERMISSIVE | _LABORATORY
        if not _is_allowed(licence, allowed):
            yield f"The licence {licence!r} of {name} does not allow its use here. Use another package."
    for name, version in sorted(reviewed.minimum.items()):
        if name not in reviewed.pinned or Version(reviewed.pinned[name]) < Version(version):
            yield f"{name} {reviewed.pinned.get(name)} has known vulnerabilities. Pin at least {version}."


def _is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Return True if an SPDX expression without parentheses has only allowed parts; of alternatives, one suffices."""
    return any(all(part in allowed for part in one.split(" AND ")) for one in expression.split(" OR "))


def _is_expression(name: str) -> bool:
    return bool(metadata.metadata(name).json.get("license_expression"))


def _stated_licence(name: str) -> str:
    """Return the licence as the metadata of an installed package has it."""
    try:
        found = metadata.metadata(name).json
    except metadata.PackageNotFoundError:
        return ""
    classifiers = [one.rpartition(" :: ")[2] for one in found.get("classifier", []) if one.startswith("License ::")]
    line = str(found.get("license", "")).strip().partition("\n")[0]
    return str(found.get("license_expression") or " ".join([*classifiers, line]).strip())


def changed_files(names: Iterable[str]) -> Iterator[str]:
    """Yield the installed files of packages that differ from the hashes of their wheels, or are missing."""
    for name in sorted(names):
        distribution = metadata.distribution(name)
        for file in distribution.files or ():
            # RECORD itself, compiled bytecode, and scripts, which name the interpreter, have other contents.
            if file.hash is None or file.hash.mode != "sha256" or ".." in file.parts:
                continue
            path = Path(str(distribution.locate_file(file)))
            if not path.exists() or _digest(path) != file.hash.value:
                yield f"{name}: {path} is not the file of the wheel. Install it again: make clean setup."


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK):
            digest.update(chunk)
    return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")


def main() -> int:
    """Print the problems; return the exit status."""
    reviewed = Reviewed.read(ROOT)
    installed = closure(EVERYTHING)
    found = [*problems(reviewed), *changed_files(name for name in installed if name in reviewed.pinned)]
    print(
        "\n".join(found) or f"{len(reviewed.pinned)} pinned packages are as reviewed; {len(installed)} are installed."
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
