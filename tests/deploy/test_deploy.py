# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/ name files, commands, options and ports that exist, and give services few privileges."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from lanesum import environment
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc import controller as rpc
from lanesum_control.cli import configuration
from lanesum_control.cli.tree import commands
from lanesum_fabric.topology import load
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = DEPLOY / "kubernetes"
JOB = MANIFESTS / "job"
PORTS = {
    "server": {UDP_PORT, rpc.DEFAULT_SERVER_PORT},
    "controller": {rpc.DEFAULT_PORT},
    "switch": {9559},
    "worker": set(),
}
# Ports that Linux gives to clients, by default (net.ipv4.ip_local_port_range).
CLIENT_PORTS = range(32768, 61000)
# Highest exposure in tenths that `systemd-analyze security` may find; 100 is a service without any restriction.
MAX_EXPOSURE = 20


def check_command(words: list[str]) -> str:
    """Check a command line of ``lanesum``: the command and its options exist. Return the command."""
    if words[0] == "--config":
        words = words[2:]
    (known,) = (one for one in commands(words[0]) if one.words == (words[0],))
    flags = {flag for option in known.options for flag in option.flags}
    assert {word for word in words[1:] if word.startswith("--")} <= flags
    return words[0]


def check_bounds(container: dict[str, Any]) -> None:
    """Check that a container has a limit of memory, no capabilities, and a file system that it cannot write."""
    assert container["resources"]["limits"]["memory"]
    context = container["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]} and context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"]


def read_unit(path: Path) -> ConfigParser:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(path)
    return unit


def test_default_ports_are_not_among_those_of_clients() -> None:
    """A client's connection may hold such a port when the service starts."""
    assert set.union(*PORTS.values()).isdisjoint(CLIENT_PORTS)


def test_units_are_those_of_commands_that_serve() -> None:
    assert [path.stem for path in UNITS] == ["lanesum-controller", "lanesum-server", "lanesum-switch"]
    for path in UNITS:
        unit = read_unit(path)
        command, *words = shlex.split(unit["Service"]["ExecStart"])
        assert command == "/opt/lanesum/bin/lanesum" and words[:2] == ["--config", "/etc/lanesum/lanesum.toml"]
        assert f"lanesum-{check_command(words)}" == path.stem == unit["Service"]["StateDirectory"]
        assert re.fullmatch("[1-9]G", unit["Service"]["MemoryMax"]) and int(unit["Service"]["TasksMax"]) > 0
        assert unit["Service"]["Restart"] == "on-failure" and unit["Unit"]["StartLimitIntervalSec"] == "0"
    settings = tomllib.loads((DEPLOY / "lanesum.toml").read_text())
    for command, option in (("controller", "state"), ("server", "journal")):
        assert settings[command][option].startswith(f"/var/lib/lanesum-{command}/")
    drop_in = (DEPLOY / "systemd" / "tls.conf").read_text()
    assert set(re.findall(r"^LoadCredential=(\S+):", drop_in, re.MULTILINE)) == {"ca.crt", "tls.crt", "tls.key"}
    assert f"Environment={environment.TLS}=%d" in drop_in


def problems_of(units: list[Path]) -> list[str]:
    """Return the problems that systemd finds in these units, without those of units of the machine."""
    command = ["systemd-analyze", "verify", "--man=no", *units]
    result = subprocess.run(command, capture_output=True, text=True)
    return [line for line in result.stderr.splitlines() if "lanesum-" in line]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_units_are_valid_and_have_few_privileges(tmp_path: Path) -> None:
    copies = []
    for path in UNITS:
        copies.append(tmp_path / path.name)
        copies[-1].write_text(path.read_text().replace("/opt/lanesum/bin/lanesum", sys.executable))
    assert problems_of(copies) == []
    wrong = tmp_path / "lanesum-wrong.service"
    wrong.write_text(copies[0].read_text().replace("ProtectHome=", "ProtectHomes="))
    (problem,) = problems_of([wrong])
    assert "ProtectHomes" in problem
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager"]
    for path in copies:
        result = subprocess.run([*command, path], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr


def test_install_service_keeps_files_that_are_there(tmp_path: Path) -> None:
    command = tmp_path / "opt/lanesum/bin/lanesum"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!{tmp_path}/opt/lanesum/bin/python\n")
    command.chmod(0o755)
    topology = tmp_path / "etc/lanesum/topology.yaml"
    topology.parent.mkdir(parents=True)
    topology.write_text("name: mine\n")
    make = ["make", "--silent", "install-service", f"DESTDIR={tmp_path}", "SERVICES=server controller"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    units = {f"etc/systemd/system/lanesum-{name}.service" for name in ("server", "controller")}
    assert installed == {*units, "etc/lanesum/lanesum.toml", "etc/lanesum/topology.yaml", "opt/lanesum/bin/lanesum"}
    assert topology.read_text() == "name: mine\n"
    # Below DESTDIR, pip writes scripts whose first line names a folder that the installed machine lacks.
    assert command.read_text() == "#!/opt/lanesum/bin/python\n"


def test_container_file_names_files_and_commands_that_exist() -> None:
    path = DEPLOY / "containers" / "Containerfile"
    text = path.read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    stages: dict[str, dict[str, list[str]]] = {}
    assert lines.pop(0) == ["ARG", "PYTHON=python:3.11-slim"]
    for instruction, rest in lines:
        if instruction == "FROM":
            image, _, name = rest.split()
            assert image == "${PYTHON}" or image in stages
            stages[name] = {}
        stages[name].setdefault(instruction, []).append(rest)
    assert set(stages) == {"build", "base", *PORTS}
    for name, ports in PORTS.items():
        stage = stages[name]
        assert check_command(yaml.safe_load(stage["CMD"][-1])) == (name if name != "worker" else "doctor")
        assert {int(port.split("/")[0]) for rest in stage.get("EXPOSE", []) for port in rest.split()} == ports
        assert stage.get("USER", stages["base"]["USER"])[-1] == "10001:10001", f"{name} runs as root"
    projects = re.findall(r" \./(\S+)", stages["build"]["RUN"][-1])
    for project in projects:
        assert (ROOT / project / "pyproject.toml").is_file(), project
    ignored = path.with_name("Containerfile.dockerignore").read_text().splitlines()
    patterns = [line for line in ignored if line and not line.startswith("#")]
    assert all((ROOT / line[1:]).exists() for line in patterns if line.startswith("!"))
    # Data files of the packages are links out of their folders; links and targets are copied.
    links = [link for one in projects for link in (ROOT / one).glob("lanesum_*/share/**/*") if link.is_symlink()]
    needed = {one.relative_to(ROOT) for link in links for one in (link, link.resolve())}
    assert links and not [str(one) for one in needed if is_left_out(one, patterns)]
    assert is_left_out(Path("host/native/build/x.o"), patterns) and is_left_out(Path("docs/jobs.md"), patterns)


def is_left_out(path: Path, patterns: list[str]) -> bool:
    """Return True if a .dockerignore leaves a path out: the last pattern decides that matches it or a folder above."""
    left_out = False
    for pattern in patterns:
        expression = "".join(
            {"**/": "(.*/)?", "*": "[^/]*"}.get(one, re.escape(one))
            for one in re.split(r"(\*\*/|\*)", pattern.removeprefix("!"))
        )
        if any(re.fullmatch(expression, str(one)) for one in (path, *path.parents)):
            left_out = not pattern.startswith("!")
    return left_out


def manifests(name: str) -> list[dict[str, Any]]:
    """Return the manifests of one service, without those that Kustomize generates."""
    folder = MANIFESTS / name
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert kustomization["namespace"] == f"lanesum-{name}" and kustomization["images"] == [{"name": f"lanesum-{name}"}]
    (generator,) = kustomization["configMapGenerator"]
    assert generator["name"] == "lanesum" and all((folder / file).is_file() for file in generator["files"])
    return [one for file in kustomization["resources"] for one in yaml.safe_load_all((folder / file).read_text())]


def all_manifests() -> list[dict[str, Any]]:
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
    assert kustomization["resources"] == ["controller", "server"]
    return [one for name in kustomization["resources"] for one in manifests(name)]


@pytest.mark.parametrize(("command", "level"), [("controller", "restricted"), ("server", "privileged")])
def test_manifests_run_commands_with_few_privileges(command: str, level: str) -> None:
    name = f"lanesum-{command}"
    configuration.check(str(MANIFESTS / command / "lanesum.toml"))
    settings = tomllib.loads((MANIFESTS / command / "lanesum.toml").read_text())
    assert set(settings) == {command}, "settings of another service"
    found = {one["kind"]: one for one in manifests(command)}
    assert set(found) == {"Namespace", "Service", "StatefulSet"}
    assert found["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == level
    assert {one["metadata"]["name"] for one in found.values()} == {name}
    one, service = found["StatefulSet"], found["Service"]["spec"]
    pod = one["spec"]["template"]
    # The network of the node is the one privilege that the level "restricted" would refuse.
    assert pod["spec"].get("hostNetwork", False) == (level == "privileged")
    (container,) = pod["spec"]["containers"]
    assert check_command(container["args"]) == command and container["image"] == name
    check_bounds(container)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    listens = {
        int(settings[command][key].rpartition(":")[2]) for key in ("listen", "control") if key in settings[command]
    }
    assert set(ports.values()) == PORTS[command] == listens
    (port,) = service["ports"]
    assert service["selector"] == pod["metadata"]["labels"] == one["spec"]["selector"]["matchLabels"]
    assert port["port"] == ports[port["targetPort"]] == ports[container["readinessProbe"]["tcpSocket"]["port"]]
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    claimed = {claim["metadata"]["name"] for claim in one["spec"]["volumeClaimTemplates"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == {*volumes, *claimed}
    assert volumes["tls"]["secret"]["secretName"] == f"{name}-tls"
    mounted = tuple(mount["mountPath"] for mount in container["volumeMounts"])
    paths = [value for value in settings[command].values() if isinstance(value, str) and value.startswith("/")]
    assert paths and all(path.startswith(mounted) for path in paths)


def test_manifests_controller_names_the_servers_service() -> None:
    load(MANIFESTS / "controller" / "topology.yaml")
    settings = tomllib.loads((MANIFESTS / "controller" / "lanesum.toml").read_text())
    assert settings["controller"]["server"] == [f"lanesum-server.lanesum-server:{rpc.DEFAULT_SERVER_PORT}"]


def job_manifests() -> list[dict[str, Any]]:
    """Return the manifests of the training Job."""
    files = yaml.safe_load((JOB / "kustomization.yaml").read_text())["resources"]
    return [one for file in files for one in yaml.safe_load_all((JOB / file).read_text())]


def test_job_runs_commands_with_few_privileges() -> None:
    found = {one["kind"]: one for one in job_manifests()}
    assert set(found) == {"Namespace", "Service", "Job"}
    job, service = found["Job"]["spec"], found["Service"]
    pod = job["template"]["spec"]
    assert service["spec"]["selector"] == job["template"]["metadata"]["labels"]
    assert pod["securityContext"]["runAsNonRoot"]
    (doctor,), (train,) = pod["initContainers"], pod["containers"]
    assert [check_command(one["args"]) for one in (doctor, train)] == ["doctor", "launch"]
    values = {one["name"]: one.get("value") for one in train["env"]}
    assert values["WORLD_SIZE"] == str(job["completions"]) == str(job["parallelism"])
    assert values["MASTER_ADDR"] == f"{found['Job']['metadata']['name']}-0.{service['metadata']['name']}"
    assert pod["subdomain"] == service["metadata"]["name"]
    assert values[environment.CONTROLLER] == f"lanesum-controller.lanesum-controller:{rpc.DEFAULT_PORT}"
    folder = next(mount["mountPath"] for mount in train["volumeMounts"] if mount["name"] == "tls")
    assert values[environment.TLS] == folder and Path(values[environment.TOKEN_FILE] or "").parent == Path(folder)
    for one in (doctor, train):
        assert one["image"] == "lanesum-worker"
        check_bounds(one)
        assert {mount["name"] for mount in one["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomization_builds_all_manifests() -> None:
    built = subprocess.run(["kubectl", "kustomize", MANIFESTS], capture_output=True, text=True, check=True)
    kinds = [one["kind"] for one in yaml.safe_load_all(built.stdout)]
    assert sorted(kinds) == sorted([*(one["kind"] for one in all_manifests()), *["ConfigMap"] * 2])
    built = subprocess.run(["kubectl", "kustomize", JOB], capture_output=True, text=True, check=True)
    assert {one["kind"] for one in yaml.safe_load_all(built.stdout)} == {one["kind"] for one in job_manifests()}


def test_manifests_fit_the_schemas_of_kubernetes() -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for one in [*all_manifests(), *job_manifests()]:
        schemas.validate(one, "1.31", strict=True)
        with pytest.raises(schemas.ValidationError):
            schemas.validate({**one, "metadata": {"nmae": "x"}}, "1.31", strict=True)


def run_script(name: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment_ = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run([DEPLOY / "slurm" / name], capture_output=True, text=True, env=environment_)


@pytest.mark.parametrize("status", [0, 1])
def test_prolog_on_unusable_node_fails(tmp_path: Path, status: int) -> None:
    command = tmp_path / "lanesum"
    command.write_text(f'#!/bin/sh\necho "problem of $1"\nexit {status}\n')
    command.chmod(0o755)
    result = run_script("prolog", LANESUM_COMMAND=str(command), SLURMD_NODENAME="n7")
    assert result.returncode == status
    assert result.stderr == ("lanesum: node n7 cannot be used\nproblem of doctor\n" if status else "")


def test_task_prolog_exports_known_settings_only(tmp_path: Path) -> None:
    settings = tmp_path / "slurm.conf"
    settings.write_text("LD_PRELOAD=evil.so\nLANESUM_CONTROLLER=10.0.0.9:19551")
    given = {"LANESUM_SLURM_SETTINGS": str(settings), "SLURM_JOB_ID": "42"}
    lines = ["export LANESUM_CONTROLLER=10.0.0.9:19551", "export LANESUM_JOB=slurm-42"]
    assert run_script("task-prolog", **given).stdout.splitlines() == lines
    assert run_script("task-prolog", LANESUM_JOB="mine", **given).stdout.splitlines() == lines[:1]
    missing = {**given, "LANESUM_SLURM_SETTINGS": str(tmp_path / "none")}
    assert run_script("task-prolog", **missing).stdout == ""


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_pass_shellcheck() -> None:
    scripts = sorted((DEPLOY / "slurm").iterdir())
    result = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True)
    assert scripts and result.returncode == 0, result.stdout
