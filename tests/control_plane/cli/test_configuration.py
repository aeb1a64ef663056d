# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration file: precedence, errors, schema; the tree of commands that it, its page and shells are made of."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer.main

from lanesum import environment
from lanesum.cli import server
from lanesum.cli.app import command
from lanesum.errors import ConfigurationError
from lanesum_control.cli import job
from lanesum_control.cli.completion import script
from lanesum_control.cli.configuration import arguments, check
from lanesum_control.cli.tree import commands, installed
from lanesum_fabric.cli.options import TyperMain
from tests.command_line import invoke
from tests.paths import ROOT

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes a configuration file; no variable of the caller is set."""
    for name in (environment.TLS, environment.CONTROLLER, environment.CONFIG):
        monkeypatch.delenv(name, raising=False)

    def put(text: str) -> str:
        path = tmp_path / "lanesum.toml"
        path.write_text(text)
        return str(path)

    return put


@pytest.mark.parametrize(
    ("given", "variable", "text", "used"),
    [
        (["--tls", "option"], "variable", '[server]\ntls = "file"', Path("option")),
        ([], "variable", '[server]\ntls = "file"', Path("variable")),
        ([], None, '[server]\ntls = "file"', Path("file")),
        ([], None, "[server]\nthreads = 2", None),
    ],
)
def test_option_precedes_environment_precedes_file_precedes_default(
    write: Write, monkeypatch: pytest.MonkeyPatch, given: list[str], variable: str | None, text: str, used: Path | None
) -> None:
    if variable is not None:
        monkeypatch.setenv(environment.TLS, variable)
    line = arguments(write(text), ["server", *given])
    assert server.parser().parse_args(line[1:]).tls == used


def test_environment_of_a_typer_option_precedes_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(job.rpc, "jobs_by_name", lambda address: asked.append(address) or {})
    path = write('[job.list]\ncontroller = "file:1"')
    line = ["--config", path, "job", "list", "--json"]
    assert invoke([*line, "--controller", "option:1"]).exit_code == 0
    assert invoke(line).exit_code == 0
    monkeypatch.setenv(environment.CONTROLLER, "variable:1")
    assert invoke(line).exit_code == 0
    assert asked == ["option:1", "file:1", "variable:1"]


def test_variable_names_the_file_for_one_command_only(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(job.rpc, "jobs_by_name", lambda address: asked.append(address) or {})
    monkeypatch.setenv(environment.CONFIG, write('[job.list]\ncontroller = "file:1"'))
    assert invoke(["job", "list", "--json"]).exit_code == invoke(["job", "list", "--json"]).exit_code == 0
    assert asked == ["file:1", f"127.0.0.1:{job.rpc.DEFAULT_PORT}"]


def test_repeatable_option_given_replaces_that_of_the_file(write: Write) -> None:
    path = write('[controller]\nswitch = ["a=h:1", "b=h:2"]\nwords = 16')
    assert arguments(path, ["controller"]) == ["controller", "--switch=a=h:1", "--switch=b=h:2", "--words=16"]
    assert arguments(path, ["controller", "--switch=c=h:3"]) == ["controller", "--words=16", "--switch=c=h:3"]


def test_flags_of_file_are_given_or_turned_off(write: Write) -> None:
    path = write("[controller]\nclient-certs = false\nloopback = true\ninsecure = false")
    assert arguments(path, ["controller"]) == ["controller", "--loopback", "--no-client-certs"]


def test_subcommand_has_the_options_of_its_table(write: Write) -> None:
    path = write("[job.admit]\nslots = 256\nlease = 30\n[job.remove]\ncontroller = '-h:1'")
    assert arguments(path, ["job", "admit", "train"]) == ["job", "admit", "--slots=256", "--lease=30", "train"]
    assert arguments(path, ["job", "remove", "train"]) == ["job", "remove", "--controller=-h:1", "train"]
    assert arguments(path, ["doctor"]) == ["doctor"]


WRONG = [
    ("[servr]", "no command is called 'servr'. Allowed: launch, run,"),
    ("[server]\nthread = 2", "unknown key server.thread. Allowed: listen, topology, host,"),
    ("[server]\nthreads = '2'", "invalid server.threads='2': input should be a valid integer."),
    ("[server]\nthreads = true", "invalid server.threads=True: input should be a valid integer."),
    ("[server]\noffload = 'no'", "invalid server.offload='no': input should be 'auto', 'on' or 'off'."),
    ("server = 2", "invalid server=2: expected a table."),
    ("[server]\nloopback = 1", "invalid server.loopback=1: input should be a valid boolean."),
    ("[server", "is no TOML file: Expected ']'"),
    ("x = " + "[" * 9999, "is no TOML file: "),
    ("x = '" + "x" * (1 << 20) + "'", "it has more than 1048576 bytes"),
    ("x = '\udcff'", "is no TOML file: 'utf-8' codec can't decode"),
    ("[server]\nthreads = 0x" + "f" * 5000, "is no TOML file: Exceeds the limit"),
]


@pytest.mark.parametrize(("text", "problem"), WRONG, ids=range(len(WRONG)))
def test_wrong_file_raises_with_file_key_and_expectation(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "lanesum.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigurationError) as caught:
        arguments(str(path), ["server"])
    assert str(path) in str(caught.value) and problem in str(caught.value)


def test_missing_file_raises_with_its_name() -> None:
    result = invoke(["--config", "/nowhere.toml", "doctor"])
    assert result.exit_code == ConfigurationError.exit_code
    assert "Cannot read the configuration file /nowhere.toml: No such file or directory." in result.output
    assert "--config needs a file and a command." in invoke(["--config", "doctor"]).output


def test_check_covers_commands_that_do_not_run(write: Write) -> None:
    path = write("[controller]\nanswer-dscp = 64\n[job.admit]\nslot = 3")
    assert arguments(path, ["server"]) == ["server"]
    with pytest.raises(ConfigurationError) as caught:
        check(path)
    assert "invalid controller.answer-dscp=64: input should be less than or equal to 63." in str(caught.value)
    assert "unknown key job.admit.slot. Allowed: workers, controller," in str(caught.value)


def test_check_ignores_commands_of_packages_not_installed(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.cli.configuration.installed", lambda: ["server"])
    check(write("[switch]\nloopback = true\n[server]\nthreads = 2"))
    with pytest.raises(ConfigurationError, match=r"no command is called 'swich'"):
        check(write("[swich]"))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("[controller]\nlog-format = 'xml'", "controller.log-format='xml': input should be 'text' or 'json'."),
        ("[certs.issue]\nrole = 'root'", "role='root': input should be 'operator', 'tenant' or 'worker'."),
    ],
)
def test_check_names_the_choices_of_a_typer_option(write: Write, text: str, allowed: str) -> None:
    check(write(text.replace("xml", "json").replace("root", "tenant")))
    with pytest.raises(ConfigurationError) as caught:
        check(write(text))
    assert allowed in str(caught.value)


@pytest.mark.parametrize("name", installed())
def test_every_argument_and_option_is_described(name: str) -> None:
    for one in commands(name):
        assert [part.name for part in (*one.arguments, *one.options) if not part.help] == []


def test_shipped_file_and_schema_agree_with_the_commands() -> None:
    schema = json.loads((ROOT / "deploy" / "lanesum.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    shipped = ROOT / "deploy" / "lanesum.toml"
    check(str(shipped))
    validator.validate(tomllib.loads(shipped.read_text()))
    for text, _ in WRONG[:7]:
        assert not validator.is_valid(tomllib.loads(text)), text


def options_of(parser: Any) -> set[str]:
    if isinstance(parser, argparse.ArgumentParser):
        return {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}
    return {name for part in parser.params for name in (*part.opts, *part.secondary_opts) if name.startswith("-")}


@pytest.mark.parametrize("name", installed())
def test_tree_has_the_options_of_the_parsers(name: str) -> None:
    main = command(name)
    parsers: dict[tuple[str, ...], Any]
    if isinstance(main, TyperMain):
        app = typer.main.get_command(main.app)
        parsers = {(name, one): parser for one, parser in getattr(app, "commands", {}).items()}
        if main.app.registered_callback is not None or not parsers:
            parsers[(name,)] = app
    else:
        parsers = {(name,): sys.modules[main.__module__].parser()}
    completions = {"--install-completion", "--show-completion"}
    found = {one.words: {*(f for part in one.options for f in (*part.flags, part.off) if f)} for one in commands(name)}
    assert found == {words: options_of(parser) - completions - {"--help"} for words, parser in parsers.items()}


def test_completion_of_bash_finds_commands_options_and_values() -> None:
    lines = [script("bash")]
    for words in (
        "con",
        "job ad",
        "server --offl",
        "server --offload o",
        "controller --no-cl",
        "switch --log-format j",
    ):
        line = ["lanesum", *words.split()]
        last, before = line[-1], line[-2]
        lines += [
            f"COMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}; COMPREPLY=()",
            f"_shtab_lanesum lanesum '{last}' '{before}'; echo ${{COMPREPLY[@]}}",
        ]
    result = subprocess.run(["bash"], input="\n".join(lines), capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == [
        "controller config",
        "admit",
        "--offload",
        "on off",
        "--no-client-certs",
        "json",
    ]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_of_other_shells_names_every_command(shell: str) -> None:
    text = script(shell)
    assert all(one.words[-1] in text for name in installed() for one in commands(name))
