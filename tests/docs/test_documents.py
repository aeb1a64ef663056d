# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Documents are true: files, functions and links exist, and the commands that they show run."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lanesum_control.resources import checkout_root
from tests.command_line import invoke

ROOT = checkout_root() or Path()
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
_REFERENCE = re.compile(r"`([\w./-]+\.(?:py|p4)):([\w.]+)`")
_PATH = re.compile(
    r"`((?:p4src|host|control_plane|softswitch|bmv2_tests|topologies|faults|models|docs|benchmarks|tests)/[\w./-]*)`"
)
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_names(path: Path) -> set[str]:
    """Functions, classes and ``Class.method`` of a module."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return names


def p4_names(path: Path) -> set[str]:
    return set(re.findall(r"^(?:control|parser) (\w+)\(", path.read_text(), re.MULTILINE))


def commands(path: Path) -> list[str]:
    lines = [line for block in _SHELL.findall(path.read_text()) for line in block.splitlines()]
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def test_there_are_documents() -> None:
    names = {relative(path) for path in DOCUMENTS}
    assert names >= {"README.md", "docs/architecture.md", "docs/protocol.md", "docs/codecs.md", "docs/training.md"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_files_functions_and_links_exist(document: Path) -> None:
    text = document.read_text()
    for name, symbol in _REFERENCE.findall(text):
        path = ROOT / name
        assert path.exists(), f"{relative(document)} names {name}"
        names = p4_names(path) if path.suffix == ".p4" else python_names(path)
        assert symbol in names, f"{relative(document)} names {name}:{symbol}"
    for name in _PATH.findall(text):
        assert (ROOT / name).exists(), f"{relative(document)} names {name}"
    for target in _LINK.findall(text):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{relative(document)} links to {target}"


def test_the_walk_names_every_part() -> None:
    walk = {name.split("/")[0] for name, _ in _REFERENCE.findall((ROOT / "docs" / "architecture.md").read_text())}
    assert walk >= {"host", "p4src", "control_plane", "softswitch"}


def test_readme_commands_are_make_targets() -> None:
    readme = commands(ROOT / "README.md")
    assert {"make run", "make test"} <= set(readme)
    for command in readme:
        words = shlex.split(command)
        assert words[0] == "make", command
        # -n: the targets exist and expand; make run and make test run in tests of their own.
        result = subprocess.run([*words, "-n"], cwd=ROOT, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


MAKE = sorted({command for path in DOCUMENTS for command in commands(path) if command.split()[0] == "make"})


def test_make_targets_exist() -> None:
    """All at once: each takes a look at every source of the compiled part."""
    targets = [word for command in MAKE for word in shlex.split(command)[1:] if "=" not in word]
    assert {"run", "test", "native-sanitize", "fuzz", "soak"} <= set(targets)
    result = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


LANESUM = [
    (relative(path), command)
    for path in DOCUMENTS
    for command in commands(path)
    if command.split()[0] in ("lanesum", "python")
]


def test_some_commands_are_shown() -> None:
    assert len(LANESUM) >= 5


@pytest.mark.parametrize(("document", "command"), LANESUM, ids=[command for _, command in LANESUM])
def test_commands_run(document: str, command: str, tmp_path: Path) -> None:
    """Commands in ``sh`` blocks; those that serve until they are stopped, or judge the machine, only have
    their options checked."""
    words = shlex.split(command)
    if words[0] == "lanesum":
        words = [sys.executable, "-m", "lanesum.cli", *words[1:]]
        if words[3] in ("switch", "server", "controller", "run", "job", "bench", "doctor"):
            check_options(words[3:])
            return
    else:
        words[0] = sys.executable
    environment = {**os.environ, "PYTHONPATH": ""}
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment, timeout=250)
    assert result.returncode == 0, f"{document}: {command}\n{result.stderr}"
    assert tmp_path.exists()


def check_options(words: list[str]) -> None:
    """Every option exists: the command line is parsed with ``--help`` behind it."""
    subcommands = [word for word in words[:2] if not word.startswith("-")]
    if words[0] in ("switch", "server", "controller", "run"):
        subcommands = subcommands[:1]
    result = invoke([*subcommands, "--help"])
    assert result.exit_code == 0, result.output
    for option in (word.split("=")[0] for word in words if word.startswith("--")):
        assert option in result.output, f"{option} is no option of lanesum {' '.join(subcommands)}"


def test_published_figures_are_the_measured_ones() -> None:
    script = ROOT / "benchmarks" / "publish.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
