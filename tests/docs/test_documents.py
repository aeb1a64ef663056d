# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Documents are true: files, names and links exist, and the commands that they show run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lanesum.cli import launch
from tests.command_line import invoke
from tests.docs.names import PACKAGE_ROOTS, defines, file_names, identifiers, resolves, tracked_files
from tests.paths import ROOT

DOCUMENTS = sorted(ROOT / name for name in tracked_files() if name.endswith(".md"))
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
_SOURCE = re.compile(r"(?P<path>[\w./-]+\.(?:pyi?|cpp|hpp|inl|p4|pml|ya?ml|toml|md))\b(?::(?P<symbol>[^\W\d][\w.]*))?")
_FOLDERS = tuple(sorted({name.split("/")[0] for name in tracked_files() if "/" in name}))
_FOLDER = re.compile(rf"(?:{'|'.join(map(re.escape, _FOLDERS))})/[\w./-]*")
_DOTTED = re.compile(rf"(?<![\w./-])(?:{'|'.join(PACKAGE_ROOTS)})(?:\.\w+)+")
_CREATED = re.compile(r"^- `[^`]+` \(new\)", re.MULTILINE)
# Mixed case, or words joined by underscores: names of code, where plain words may be anything.
_NAME = re.compile(r"(?<![\w.-])_?(?:[A-Z]+[a-z0-9]+(?:[A-Z]+[a-z0-9]*)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b")
# Names of other projects, formulas, and placeholders.
OTHERS = {"PIP_EXTRA_INDEX_URL", "stratum_bfrt", "bf_switchd", "x_k", "NAME.cpp", "fuzz_NAME.cpp", "fuzz_NAME"}
# Names of PostgreSQL.
OTHERS |= {"pg_dump", "pg_restore", "target_session_attrs"}
# Filters of Wireshark.
OTHERS |= set(re.findall(r'"(lanesum\.[a-z_.]+)"', (ROOT / "wireshark" / "lanesum.lua").read_text()))
# Names of Stratum's chassis configuration.
OTHERS |= {"chassis_config_file", "singleton_ports", "speed_bps", "config_params", "ADMIN_STATE_ENABLED", "FEC_MODE_ON"}
# The style page shows names as examples.
NAMED = [path for path in DOCUMENTS if path.name != "style.md"]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def inline_code(path: Path) -> list[str]:
    """The code spans of a page, without its code blocks and the files that the reader of a recipe creates."""
    return _CODE.findall(_CREATED.sub("", _FENCED.sub("", _COMMENT.sub("", path.read_text()))))


def commands(path: Path) -> list[str]:
    text = "\n".join(_SHELL.findall(path.read_text())).replace("\\\n", " ")
    return [line.split(" #")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def test_documents_every_folder_is_found() -> None:
    names = {relative(path) for path in DOCUMENTS}
    pages = ("architecture", "protocol", "codecs", "training", "style", "decisions/README", "extending/README")
    assert names >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "host/README.md", "benchmarks/results/README.md"}
    assert names >= {f"docs/{page}.md" for page in pages}


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_targets_exist(document: Path) -> None:
    for target in _LINK.findall(_FENCED.sub("", document.read_text())):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{relative(document)} links to {target}"


@pytest.mark.parametrize("document", NAMED, ids=relative)
def test_files_and_their_symbols_exist(document: Path) -> None:
    for span in inline_code(document):
        for found in _SOURCE.finditer(span):
            path = found["path"]
            if path.split("/")[0] in _FOLDERS:
                assert (ROOT / path).exists(), f"{relative(document)} names {path}"
            elif path.endswith((".py", ".p4", ".cpp", ".hpp", ".inl", ".pml")):
                assert path in file_names() or path in OTHERS, f"{relative(document)} names {path}"
            if found["symbol"]:
                assert defines(ROOT / path, found["symbol"]), f"{relative(document)} names {span}"
        for folder in _FOLDER.findall(span):
            assert (ROOT / folder).exists(), f"{relative(document)} names {folder}"


@pytest.mark.parametrize("document", NAMED, ids=relative)
def test_names_of_code_exist(document: Path) -> None:
    """A name that stands in no file is that of something that was renamed or deleted."""
    for span in inline_code(document):
        for dotted in _DOTTED.findall(span):
            assert resolves(dotted) or dotted in OTHERS, f"{relative(document)} names {dotted}"
        for name in _NAME.findall(span):
            assert name in identifiers() or name in OTHERS, f"{relative(document)} names {name} in `{span}`"


def test_architecture_names_every_part() -> None:
    spans = inline_code(ROOT / "docs" / "architecture.md")
    walk = {found["path"].split("/")[0] for span in spans for found in _SOURCE.finditer(span) if found["symbol"]}
    assert walk >= {"host", "p4src", "fabric", "control_plane", "softswitch"}


def test_readme_commands_are_make_targets() -> None:
    readme = commands(ROOT / "README.md")
    assert {"make run", "make test"} <= set(readme)
    assert {command.split()[0] for command in readme} == {"make"}


def test_make_targets_exist() -> None:
    """One call for all of them, because each call compares the timestamps of all C++ sources."""
    lines = [command for path in DOCUMENTS for command in commands(path) if command.split()[0] == "make"]
    targets = {word for line in lines for word in shlex.split(line)[1:] if "=" not in word}
    assert targets >= {"run", "test", "native-sanitize", "fuzz", "soak"}
    result = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


# Each command with the first page that shows it.
RUNNABLE = {
    command: relative(path)
    for path in reversed(DOCUMENTS)
    for command in commands(path)
    if command.split()[0] in ("lanesum", "python", ".venv/bin/python")
}


def test_documents_show_commands() -> None:
    assert len(RUNNABLE) >= 5


@pytest.mark.parametrize("command", RUNNABLE)
def test_commands_run(command: str) -> None:
    """Run the commands of ``sh`` blocks.

    Of servers, benchmarks and the doctor only the options are checked, and of pytest only that it finds tests.
    """
    words = shlex.split(command)
    if words[0] == "lanesum":
        if words[1] in (
            "switch",
            "server",
            "controller",
            "run",
            "launch",
            "job",
            "bench",
            "capture",
            "doctor",
            "certs",
            "token",
            "top",
        ) or words[1:3] == ["topology", "diff"]:
            check_options(words[1:])
        else:
            result = invoke(words[1:])
            assert result.exit_code == 0, f"{RUNNABLE[command]}: {command}\n{result.output}"
        return
    words[0] = sys.executable
    if words[1:3] == ["-m", "pytest"]:
        words += ["--collect-only", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "starting")}
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, f"{RUNNABLE[command]}: {command}\n{result.stdout}{result.stderr}"


def check_options(words: list[str]) -> None:
    """Parse a launch; compare the options of another command line with those that its ``--help`` lists."""
    if words[0] == "launch":
        launch.parser().parse_args(words[1:])
        return
    subcommands = [word for word in words[:2] if not word.startswith("-")]
    if words[0] in ("switch", "server", "run", "top", "capture"):
        subcommands = subcommands[:1]
    result = invoke([*subcommands, "--help"])
    assert result.exit_code == 0, result.output
    for option in (word.split("=")[0] for word in words if word.startswith("--")):
        assert option in result.output, f"{option} is no option of lanesum {' '.join(subcommands)}"


def test_published_figures_are_those_of_the_results() -> None:
    script = ROOT / "benchmarks" / "publish.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
