# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The packages as wheels: what they hold and need, and the host library without the others."""

from __future__ import annotations

import contextlib
import dataclasses
import email
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from lanesum.cli.app import COMMANDS, GROUP
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_fabric.topology import load
from tests.paths import ROOT

pytestmark = pytest.mark.long

PROJECTS = {
    "lanesum": "host",
    "lanesum-fabric": "fabric",
    "lanesum-control": "control_plane",
    "lanesum-switch": "softswitch",
    "lanesum-lab": "lab",
}
MAX_HOST_LINES = 25_795
# Packages of other projects that share an environment with lanesum. Lower bounds keep the resolver from trying years of
# releases before it reports a conflict.
NEIGHBOURS = ("onnx>=1.23", "torchft>=0.2", "opentelemetry-exporter-otlp>=1.45")
# Packages that pip installs with lanesum.
_HOST_PACKAGES = ("numpy", "numpy.libs", "grpc", "typing_extensions.py")

WORKER = """
import sys
import numpy as np
from lanesum.joining import join
from lanesum.session import Session

worker = int(sys.argv[2])
with Session(join(controller=sys.argv[1], job="train", worker=worker), codec="fixed") as session:
    print(session.all_reduce(np.full(5000, 1.5 + worker, np.float32)).sum())
"""


# Builds the projects below a folder, one after the other: source distributions, and wheels of those.
_BUILD = """
import os, sys, tarfile
from pathlib import Path
from setuptools import build_meta

folder = Path(sys.argv[1])
for project in sys.argv[2:]:
    os.chdir(folder / "src" / project)
    archive = folder / build_meta.build_sdist(str(folder))
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    os.chdir(folder / "unpacked" / archive.name.removesuffix(".tar.gz"))
    build_meta.build_wheel(str(folder))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheels built from source distributions of copies of the projects: a build leaves files in its folder."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in PROJECTS.values():
        ignored = shutil.ignore_patterns("native", "*.egg-info", "__pycache__")
        shutil.copytree(ROOT / project, folder / "src" / project, ignore=ignored)
        shutil.rmtree(folder / "src" / project / "build", ignore_errors=True)
    subprocess.run([sys.executable, "-c", _BUILD, folder, *PROJECTS.values()], check=True, capture_output=True)
    return {name: next(folder.glob(f"{name.replace('-', '_')}-*.whl")) for name in PROJECTS}


def read(wheel: Path, suffix: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(f".dist-info/{suffix}"))
        return archive.read(name).decode()


def test_wheel_of_the_host_library_is_small(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["lanesum"]) as archive:
        modules = [name for name in archive.namelist() if name.endswith(".py")]
        lines = sum(archive.read(name).count(b"\n") for name in modules)
    assert {name.split("/")[0] for name in modules} == {"lanesum"}
    assert lines <= MAX_HOST_LINES


@pytest.mark.parametrize("name", PROJECTS)
def test_wheel_runs_on_any_machine_and_has_licence(wheels: dict[str, Path], name: str) -> None:
    """A wheel of pure Python needs no compiler where it is installed."""
    assert wheels[name].name.endswith("-py3-none-any.whl")
    assert read(wheels[name], "licenses/LICENSE") == (ROOT / "LICENSE").read_text()


def requirements(wheel: Path) -> list[Requirement]:
    found = email.message_from_string(read(wheel, "METADATA")).get_all("Requires-Dist") or []
    return [Requirement(one) for one in found]


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("lanesum", {"numpy", "grpcio"}),
        (
            "lanesum-fabric",
            {
                "finsy",
                "googleapis-common-protos",
                "lanesum",
                "prometheus-client",
                "protobuf",
                "pydantic",
                "pyyaml",
                "typer",
            },
        ),
        ("lanesum-control", {"cryptography", "lanesum", "lanesum-fabric", "pydantic", "rich", "shtab", "typer"}),
        ("lanesum-switch", {"lanesum", "lanesum-fabric"}),
        (
            "lanesum-lab",
            {"lanesum", "lanesum-fabric", "lanesum-control", "lanesum-switch", "matplotlib", "scikit-learn", "simpy"},
        ),
    ],
)
def test_requirements_of_wheel_have_no_pins(wheels: dict[str, Path], name: str, needs: set[str]) -> None:
    found = requirements(wheels[name])
    assert {one.name for one in found if "extra ==" not in str(one.marker)} == needs
    assert not [one for one in found if "==" in str(one.specifier)], "exact versions live in constraints.txt"


def test_required_protobuf_loads_the_modules_of_p4runtime(wheels: dict[str, Path]) -> None:
    """Generated modules state the version of their compiler, below which protobuf refuses to load them."""
    stated = re.search(r"# Protobuf Python Version: (\S+)", Path(str(p4runtime_pb2.__file__)).read_text())
    assert stated is not None
    (wanted,) = [one.specifier for one in requirements(wheels["lanesum-fabric"]) if one.name == "protobuf"]
    assert wanted == SpecifierSet(f">={stated[1]}")


@pytest.mark.parametrize(
    "imports",
    [
        "lanesum_fabric.protobufs, google.rpc.status_pb2, google.rpc.error_details_pb2",
        "google.rpc.status_pb2, lanesum_fabric.protobufs",
        "finsy, lanesum_fabric.protobufs",
        "lanesum_fabric.protobufs, lanesum_switch.p4runtime, opentelemetry.exporter.otlp.proto.http.trace_exporter",
    ],
)
def test_modules_of_p4runtime_load_beside_other_protobufs(imports: str) -> None:
    """A process has one definition of ``google/rpc/status.proto``; finsy and googleapis-common-protos both bring it."""
    code = f"import {imports}; s = lanesum_fabric.protobufs.status_pb2.Status(code=5); print(s.code)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "5\n", done.stderr


def test_controller_and_switch_do_not_import_finsys_client() -> None:
    code = (
        "import sys, lanesum_control.controller.controller, lanesum_switch.p4runtime; sys.exit('finsy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_commands_of_wheels_match_command_table(wheels: dict[str, Path]) -> None:
    found = {}
    for name, wheel in wheels.items():
        points = ConfigParser()
        points.read_string(read(wheel, "entry_points.txt"))
        if points.has_section(GROUP):
            found.update(dict.fromkeys(points[GROUP], name))
    assert found == {command: known.distribution for command, known in COMMANDS.items()}


@pytest.mark.parametrize(
    ("name", "folder", "package"),
    [
        ("lanesum-fabric", "p4src/build", "lanesum_fabric"),
        ("lanesum-fabric", "p4src/build/tofino", "lanesum_fabric"),
        ("lanesum-fabric", "topologies", "lanesum_fabric"),
        ("lanesum-switch", "faults", "lanesum_switch"),
        ("lanesum-lab", "wireshark", "lanesum_lab"),
    ],
)
def test_wheel_holds_its_data_files(wheels: dict[str, Path], name: str, folder: str, package: str) -> None:
    with zipfile.ZipFile(wheels[name]) as archive:
        held = set(archive.namelist())
    files = [path.name for path in (ROOT / folder).iterdir() if path.is_file()]
    assert files
    assert {f"{package}/share/{folder}/{file}" for file in files} <= held


@pytest.fixture(scope="module")
def bare(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages as after ``pip install lanesum`` in an empty environment."""
    folder = tmp_path_factory.mktemp("bare")
    with zipfile.ZipFile(wheels["lanesum"]) as archive:
        archive.extractall(folder)
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parents[1]
    for name in _HOST_PACKAGES:
        if (installed / name).exists():
            (folder / name).symlink_to(installed / name)
    return folder


def isolated(bare: Path, *arguments: str) -> list[str]:
    """A command line of Python that sees the standard library and the packages in ``bare``, nothing else."""
    start = f"import sys; sys.path.append({str(bare)!r}); "
    return [sys.executable, "-E", "-S", "-c", start + arguments[0], *arguments[1:]]


def test_command_of_a_missing_package_names_it(bare: Path) -> None:
    code = "from lanesum.cli.app import main; sys.exit(main(sys.argv[1:]))"
    shown = subprocess.run(isolated(bare, code, "--help"), capture_output=True, text=True, cwd=bare)
    assert shown.returncode == 0 and "pip install lanesum-lab" in shown.stdout
    refused = subprocess.run(isolated(bare, code, "run"), capture_output=True, text=True, cwd=bare)
    assert refused.returncode == 3
    assert "The command 'run' is not installed: it comes with lanesum-lab. pip install lanesum-lab" in refused.stderr
    doctor = subprocess.run(isolated(bare, code, "doctor"), capture_output=True, text=True, cwd=bare)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "lanesum can be used." in doctor.stdout


@contextlib.contextmanager
def running_server(bare: Path, control: str) -> Iterator[None]:
    code = "from lanesum.cli.app import main; sys.exit(main(sys.argv[1:]))"
    command = isolated(bare, code, "server", "--listen", "127.19.0.97:19541", "--control", control)
    process = subprocess.Popen(command, cwd=bare, stderr=subprocess.PIPE)
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=120)


def test_host_library_alone_joins_reduces_and_serves(bare: Path, tmp_path: Path) -> None:
    control = f"unix:{tmp_path}/server.sock"
    with running_server(bare, control):
        network = Network.of(load("star4"), loopback=True)
        network = dataclasses.replace(network, servers=(("127.19.0.97", 19541),))
        controller = Controller(network, [RemoteServer(control)], connect_timeout_s=120.0)
        try:
            controller.admit(JobRequest("train", ("w1", "w2"), codec="fixed"))
            with ControllerService(controller, "127.0.0.1:0") as service:
                address = f"127.0.0.1:{service.port}"
                workers = [
                    subprocess.Popen(isolated(bare, WORKER, address, str(worker)), stdout=subprocess.PIPE, cwd=bare)
                    for worker in range(2)
                ]
                sums = [float(worker.communicate(timeout=250)[0]) for worker in workers]
        finally:
            controller.close()
    np.testing.assert_allclose(sums, 5000 * (1.5 + 2.5), rtol=1e-6)


@pytest.fixture(scope="module")
def index() -> list[str]:
    """Command line of pip in the network of the machine; skip if pip finds no package index there.

    Parallel test processes have network namespaces without a network, but the process that started them has not.
    """
    parent = f"--net=/proc/{os.getppid()}/ns/net"
    prefix = ["nsenter", parent] if "PYTEST_XDIST_WORKER" in os.environ else []
    pip = [*prefix, sys.executable, "-m", "pip", "--disable-pip-version-check"]
    probe = [*pip, "--retries", "0", "--timeout", "15", "index", "versions", "opentelemetry-exporter-otlp"]
    answer = subprocess.run(probe, capture_output=True, text=True)
    if answer.returncode != 0:
        pytest.skip(f"no package index: {answer.stderr.strip().splitlines()[-1]}")
    return pip


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment over the installed packages.

    An installed version does not bind the resolver, which may choose every other one. It saves the download of PyTorch.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    places = {"base": str(folder), "platbase": str(folder)}
    installed = sysconfig.get_path("purelib")
    over = Path(sysconfig.get_path("purelib", "venv", places)) / "installed.pth"
    over.write_text(f"import site; site.addsitedir({installed!r})\n")
    return folder


def install(index: list[str], environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*index, "--python", str(environment), "install", "--only-binary", ":all:", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_packages_install_beside_packages_of_other_projects(
    wheels: dict[str, Path], index: list[str], environment: Path
) -> None:
    """Versions that suit all packages suit each of them alone."""
    answer = install(index, environment, "--dry-run", *map(str, wheels.values()), *NEIGHBOURS)
    assert answer.returncode == 0, answer.stdout


def test_resolver_reports_package_pinning_old_protobuf(
    wheels: dict[str, Path], index: list[str], environment: Path, tmp_path: Path
) -> None:
    """The test above can fail, with the words of pip."""
    wheel = wheels["lanesum-fabric"]
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(tmp_path / wheel.name, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".dist-info/METADATA"):
                content, changed = re.subn(rb"(?m)^Requires-Dist: protobuf.*$", b"Requires-Dist: protobuf<4", content)
                assert changed == 1
            target.writestr(name, content)
    pinned = str(tmp_path / wheel.name)
    answer = install(index, environment, "--dry-run", str(wheels["lanesum"]), pinned, *NEIGHBOURS)
    assert answer.returncode != 0
    assert "lanesum-fabric 0.1.0 depends on protobuf<4" in answer.stdout, answer.stdout


@pytest.fixture(scope="module")
def shared(index: list[str], environment: Path) -> Path:
    """The virtual environment after an installation of packages of other projects."""
    wanted = [one for one in NEIGHBOURS if not one.startswith("torchft")]
    answer = install(index, environment, *wanted, "googleapis-common-protos")
    assert answer.returncode == 0, answer.stdout
    return environment


@pytest.mark.parametrize("order", [1, -1], ids=["lanesum first", "lanesum last"])
def test_controller_and_other_projects_share_a_process(shared: Path, order: int) -> None:
    """Generated modules register messages in one pool, which refuses a second definition of a name."""
    modules = [
        "lanesum_control.switches.client",
        "google.rpc.status_pb2",
        "onnx",
        "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    ]
    code = "\n".join(f"import {module}" for module in modules[::order])
    answer = subprocess.run([shared / "bin" / "python", "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("command", "work"),
    [
        ("lanesum_switch.cli.switch", "lanesum_switch.dataplane"),
        ("lanesum_lab.cli.run", "lanesum_lab.run.plan"),
        ("lanesum_control.cli.config", "shtab"),
    ],
)
def test_command_imports_its_work_when_it_runs(command: str, work: str) -> None:
    """Completion, help and configuration import all commands."""
    check = f"import sys, {command}; sys.exit({work!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
