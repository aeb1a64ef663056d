# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hook of MkDocs: the documentation site has the repository's own tree of pages, so that their links work unchanged.

Pages that are made of the sources are added: all errors, and the reference of the Python interface.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.docs import error_table

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

# Modules of the reference, in its order.
API = (
    "lanesum.session",
    "lanesum.torch",
    "lanesum.torchft",
    "lanesum.codecs",
    "lanesum.joining",
    "lanesum.errors",
    "lanesum.server",
    "lanesum_control.controller.controller",
    "lanesum_fabric.topology",
    "lanesum_switch.api",
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand patterns of the navigation, and add the pages that it does not name."""
    root = Path(config.config_file_path).parent
    made = ["docs/errors.md", *(f"docs/api/{module}.md" for module in API)]
    config.nav = navigation(config.nav or [], [*tracked_pages(root), *made])
    return config


def navigation(entries: list[Any], pages: list[str]) -> list[Any]:
    """Return entries of a navigation with patterns expanded; a last section has the pages that no entry names.

    Raises ValueError for an entry that names no page.
    """
    left = dict.fromkeys(pages)
    for entry in _leaves(entries):
        if "*" not in entry:
            if entry not in left:
                raise ValueError(f"the navigation names {entry}, which is no page, or names it twice")
            del left[entry]
    expanded = _expand(entries, left)
    return [*expanded, {"More": list(left)}] if left else expanded


def _leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for one in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _leaves(one)


def _expand(entries: list[Any], left: dict[str, None]) -> list[Any]:
    expanded: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            expanded.append(
                {name: _expand(below, left) if isinstance(below, list) else below for name, below in entry.items()}
            )
        elif "*" in entry:
            found = [page for page in left if fnmatch.fnmatch(page, entry)]
            expanded += found
            for page in found:
                del left[page]
        else:
            expanded.append(entry)
    return expanded


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of the documentation's folder by pages and linked files of the whole repository."""
    from mkdocs.structure.files import File

    root = Path(config.config_file_path).parent
    for file in list(files):
        if file.abs_src_path is not None and Path(file.abs_src_path).is_relative_to(config.docs_dir):
            files.remove(file)
    pages = tracked_pages(root)
    for path in (*pages, *linked_files(root, pages)):
        files.append(File.generated(config, path, abs_src_path=str(root / path)))
    files.append(File.generated(config, "docs/errors.md", content=error_table.page(error_table.modules(root))))
    for module in API:
        files.append(File.generated(config, f"docs/api/{module}.md", content=f"# `{module}`\n\n::: {module}\n"))
    return files


def tracked_pages(root: Path) -> list[str]:
    """Return the Markdown files of the repository, except templates."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", ":!.github"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()


def linked_files(root: Path, pages: list[str]) -> list[str]:
    """Return the other files that pages link to: pictures, sources and tests."""
    return sorted({target for page in pages for target in _targets(root, page)} - set(pages))


def _targets(root: Path, page: str) -> Iterator[str]:
    for target in _LINK.findall((root / page).read_text()):
        path = (root / page).parent / target
        if "://" not in target and path.is_file():
            yield str(path.resolve().relative_to(root.resolve()))
