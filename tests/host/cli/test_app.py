# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ``lanesum`` command line: dispatch to entry points, help, errors and signals."""

from __future__ import annotations

import importlib.metadata
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lanesum.cli import app
from lanesum.cli.app import COMMANDS, GROUP, command, usage
from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from tests.command_line import invoke
from tests.paths import ROOT

PROJECTS = ("host", "control_plane", "softswitch", "lab")
SERVE = ("server", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0")

Install = Callable[[str, Callable[[Sequence[str]], int]], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that installs one command and removes all others."""

    def put(name: str, main: Callable[[Sequence[str]], int]) -> None:
        point = importlib.metadata.EntryPoint(name, f"{__name__}:installed", GROUP)
        monkeypatch.setattr(sys.modules[__name__], "installed", main, raising=False)

        def entry_points(*, group: str, name: str | None = None) -> list[importlib.metadata.EntryPoint]:
            return [point] if group == GROUP and name in (None, point.name) else []

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)

    return put


def test_commands_are_the_entry_points_of_their_packages() -> None:
    provided = {}
    for folder in PROJECTS:
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        for name, target in project["entry-points"][GROUP].items():
            assert name not in provided, f"two packages provide {name!r}"
            provided[name] = project["name"]
            assert target.split(".")[0] == project["name"].replace("-", "_")
    assert provided == {name: known.distribution for name, known in COMMANDS.items()}


def test_installed_entry_points_are_loadable_commands() -> None:
    points = importlib.metadata.entry_points(group=GROUP)
    assert {point.name for point in points} == set(COMMANDS)
    assert all(callable(command(point.name)) for point in points)


def test_main_passes_arguments_and_returns_the_status(install: Install) -> None:
    received: list[Sequence[str]] = []

    def main(arguments: Sequence[str]) -> int:
        received.append(arguments)
        return 7

    install("job", main)
    assert invoke(["job", "list", "--json"]).exit_code == 7
    assert received == [["list", "--json"]]


@pytest.mark.parametrize(
    ("typed", "meant"), [("swich", "switch"), ("contoller", "controller"), ("docter", "doctor"), ("jobs", "job")]
)
def test_command_with_typo_raises_with_suggestion(typed: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"No such command '{typed}'\. Did you mean '{meant}'\?"):
        command(typed)


def test_unknown_command_is_an_error_of_one_line() -> None:
    result = invoke(["fly"])
    assert result.exit_code == ConfigurationError.exit_code
    assert result.output == "lanesum: No such command 'fly'. See lanesum --help.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_of_missing_package_names_the_package(install: Install, name: str) -> None:
    install("another", lambda _: 0)
    with pytest.raises(MissingToolError) as caught:
        command(name)
    distribution = COMMANDS[name].distribution
    assert caught.value.what == f"The command {name!r} is not installed: it comes with {distribution}."
    assert caught.value.next_step == f"pip install {distribution}"


def test_command_whose_import_fails_names_the_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("run", "lanesum_lab.cli.run:main", GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    monkeypatch.setitem(sys.modules, "lanesum_lab.cli.run", None)
    with pytest.raises(MissingToolError, match=r"'run' cannot be loaded: .*lanesum_lab\.cli\.run.* lanesum-lab"):
        command("run")


def test_version_is_that_of_the_package() -> None:
    result = invoke(["--version"])
    assert (result.exit_code, result.output) == (0, f"lanesum {importlib.metadata.version('lanesum')}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_version_of_command_is_that_of_its_package(name: str) -> None:
    result = invoke([name, "--version"])
    distribution = COMMANDS[name].distribution
    assert (result.exit_code, result.output) == (0, f"{distribution} {importlib.metadata.version(distribution)}\n")


def test_configuration_file_without_its_package_names_the_package(install: Install) -> None:
    install("doctor", lambda _: 0)
    result = invoke(["--config", "lanesum.toml", "doctor"])
    assert result.exit_code == MissingToolError.exit_code
    assert "Configuration files need the package lanesum-control. pip install lanesum-control" in result.output


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["-h"], 0), ([], 2)])
def test_help_lists_every_command(arguments: list[str], status: int) -> None:
    result = invoke(arguments)
    assert result.exit_code == status
    for name, known in COMMANDS.items():
        assert f"  {name} " in result.output and known.summary in result.output


def test_usage_names_the_packages_of_missing_commands(install: Install) -> None:
    install("doctor", lambda _: 0)
    lines = {line.split()[0]: line for line in usage().splitlines() if line.startswith("  ")}
    assert "pip install" not in lines["doctor"]
    for name in set(COMMANDS) - {"doctor"}:
        assert lines[name].endswith(f"(pip install {COMMANDS[name].distribution})")


def test_help_imports_no_other_package() -> None:
    program = "import sys; from lanesum.cli.app import main; main(['--help']); print(*sorted(sys.modules), sep='\\n')"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in result.stdout.splitlines()}
    assert "lanesum" in loaded
    assert not loaded & {"lanesum_control", "lanesum_switch", "lanesum_lab", "grpc", "numpy", "torch", "typer"}


def test_error_of_command_is_printed_with_next_step(install: Install) -> None:
    def main(_arguments: Sequence[str]) -> int:
        raise LanesumError("It broke.", "Mend it.")

    install("job", main)
    result = invoke(["job"])
    assert (result.exit_code, result.output) == (LanesumError.exit_code, "lanesum: It broke. Mend it.\n")


def test_bug_in_a_command_keeps_its_traceback(install: Install) -> None:
    install("job", lambda arguments: len(arguments) // 0)
    with pytest.raises(ZeroDivisionError):
        invoke(["job"])


@pytest.mark.parametrize(("code", "status"), [(None, 0), (0, 0), (3, 3), ("text", 1)])
def test_exit_of_a_command_is_its_status(install: Install, code: Any, status: int) -> None:
    install("job", lambda _: sys.exit(code))
    assert invoke(["job"]).exit_code == status


def test_interrupted_command_has_the_status_of_shells(install: Install) -> None:
    def main(_arguments: Sequence[str]) -> int:
        raise KeyboardInterrupt

    install("job", main)
    result = invoke(["job"])
    assert (result.exit_code, result.output) == (
        app.EXIT_INTERRUPTED,
        "lanesum: interrupted; all parts were stopped.\n",
    )


@pytest.mark.parametrize(("sent", "status", "said"), [(signal.SIGTERM, 143, ""), (signal.SIGINT, 130, "interrupted")])
def test_signal_ends_a_server_without_traceback(sent: signal.Signals, status: int, said: str) -> None:
    command_line = [sys.executable, "-m", "lanesum.cli", *SERVE]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = r"127\.0\.0\.1:\d+"
        ready = rf"lanesum is ready: server at {address}, for controllers at {address}\n"
        assert re.fullmatch(ready, running.stdout.readline())
        running.send_signal(sent)
        _, errors = running.communicate(timeout=250)
    assert running.returncode == status
    assert "Traceback" not in errors and said in errors
