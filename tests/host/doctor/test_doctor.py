# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum doctor`` reports what lanesum uses and what is missing, whatever is missing."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanesum._internal import native
from lanesum._internal.native import Availability
from lanesum.doctor import Finding, Severity, examine, gpus, software, system, usable
from lanesum.protocol.spec import VERSION
from lanesum.transport.constants import DEFAULT_WINDOW
from lanesum.transport.path_check import buffer_bytes
from lanesum.transport.ticket import JobTicket


def doctor(*arguments: str, prelude: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    program = f"{prelude}\nimport sys; from lanesum.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "doctor", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def report(result: subprocess.CompletedProcess[str]) -> tuple[bool, dict[str, dict[str, str]]]:
    assert "Traceback" not in result.stderr, result.stderr
    found = json.loads(result.stdout)
    return found["usable"], {check["name"]: check for check in found["checks"]}


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    assert len({finding.name for finding in findings}) == len(findings), "two checks of one name"
    return {finding.name: finding for finding in findings}


def test_examine_finds_no_problem_here() -> None:
    findings = examine()
    assert usable(findings), [finding for finding in findings if finding.status is Severity.PROBLEM]
    checks = by_name(findings)
    assert checks["protocol"].what == f"Version {VERSION}."
    assert {"Python", "numpy", "transport", "server", "lane operations", "receive buffer", "UDP GSO"} <= set(checks)
    assert all(finding.what.endswith((".", ")")) for finding in findings)


def test_refused_steering_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = system.steering()
    assert (finding.name, finding.status) == ("server threads", Severity.OK)
    monkeypatch.setattr(system, "steer", lambda _sockets: OSError(errno.EPERM, os.strerror(errno.EPERM)))
    (finding,) = system.steering()
    assert finding.status is Severity.NOTE and "by slot: Operation not permitted." in finding.what
    monkeypatch.setattr(system, "_LOOPBACK", ("192.0.2.1", 0))
    assert list(system.steering()) == []  # ``sockets`` reports it


def test_command_prints_every_check_and_the_verdict() -> None:
    result = doctor(LANESUM_NATIVE="off", COLUMNS="200")
    assert result.returncode == 0, result.stderr
    for finding in examine():
        assert finding.name in result.stdout
    assert result.stdout.endswith("lanesum can be used.\n")


def test_controller_checks_without_their_package_are_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    (finding,) = examine("127.0.0.1:1")
    assert (finding.status, finding.next_step) == (Severity.PROBLEM, "pip install lanesum-control")
    assert "need lanesum-control, which is not installed" in finding.what


def test_extension_off_by_choice_needs_no_next_step() -> None:
    fine, checks = report(doctor("--json", LANESUM_NATIVE="off"))
    assert fine
    for name in ("transport", "server"):
        assert checks[name] == {
            "name": name,
            "status": "note",
            "what": "In Python. LANESUM_NATIVE=off.",
            "next_step": "",
        }
    assert checks["lane operations"]["what"] == "By NumPy."


def test_unknown_value_of_variable_is_a_problem() -> None:
    result = doctor("--json", LANESUM_NATIVE="garbage")
    fine, checks = report(result)
    assert (fine, result.returncode) == (False, 1)
    assert checks["native"]["status"] == "problem"
    assert "Invalid LANESUM_NATIVE='garbage': expected one of auto, off, required" in checks["native"]["what"]
    assert "auto" in checks["native"]["next_step"]
    assert "transport" not in checks
    assert doctor(LANESUM_NATIVE="garbage").stdout.endswith("until the problems are solved.\n")


def test_missing_required_extension_is_a_problem() -> None:
    hidden = "import sys; sys.modules['lanesum_native'] = None"
    result = doctor("--json", prelude=hidden, LANESUM_NATIVE="required")
    fine, checks = report(result)
    assert (fine, result.returncode) == (False, 1)
    assert "is not installed" in checks["native"]["what"]
    fine, checks = report(doctor("--json", prelude=hidden, LANESUM_NATIVE="auto"))
    assert fine
    assert checks["transport"]["status"] == "note"
    assert "is not installed" in checks["transport"]["what"]
    assert "./host/native" in checks["transport"]["next_step"]


def test_implementations_report_native_and_lane_level(monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        lane_level = staticmethod(lambda: "avx2")
        lane_levels = staticmethod(lambda: ["baseline", "avx2"])

    core: Any = Core
    monkeypatch.setattr(software, "availability", lambda: Availability(core, "The native extension is installed (x)."))
    checks = by_name([*software.implementations(), *software.lanes()])
    assert {finding.status for finding in checks.values()} == {Severity.OK}
    assert checks["transport"].what == "Native. The native extension is installed (x)."
    assert "level avx2" in checks["lane operations"].what


def test_lanes_of_old_extension_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    core: Any = object()
    monkeypatch.setattr(software, "availability", lambda: Availability(core, "The native extension is installed (x)."))
    (finding,) = software.lanes()
    assert finding.status is Severity.PROBLEM
    assert "older than lanesum" in finding.what


def test_lanes_name_the_level_in_use() -> None:
    found = native.availability()
    if found.core is None:
        pytest.skip(found.reason)
    (finding,) = software.lanes()
    assert f"level {found.core.lane_level()};" in finding.what


def smi(folder: Path, answer: str, status: int = 0) -> None:
    """Write an nvidia-smi with this output and exit status."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {status}\n")
    tool.chmod(0o755)


@pytest.mark.parametrize(("answer", "status"), [("", 0), ("No devices were found", 0), ("NVIDIA-SMI has failed", 9)])
def test_gpus_without_gpu_is_ok(answer: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    smi(tmp_path, answer, status)
    (finding,) = gpus.gpus()
    assert finding.status is Severity.OK and finding.what.startswith("None found by nvidia-smi")


def test_gpus_reports_capability_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("LANESUM_GPU", raising=False)
    smi(tmp_path, "NVIDIA H200, 9.0, 570.10\nTesla V100, 7.0, 570.10")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    good, old = gpus.gpus()
    assert (good.name, good.status) == ("GPU 0", Severity.OK) and good.what.startswith("NVIDIA H200, driver 570.10")
    assert (old.name, old.status) == ("GPU 1", Severity.NOTE)
    assert "7.0; the kernels need 8.0" in old.what and old.next_step == "Set LANESUM_GPU=off."
    monkeypatch.setenv("LANESUM_GPU", "off")
    assert all("copied to the host because of LANESUM_GPU=off" in one.what for one in gpus.gpus())
    monkeypatch.setenv("LANESUM_GPU", "on")
    (wrong,) = gpus.gpus()
    assert wrong.status is Severity.PROBLEM and "LANESUM_GPU='on'" in wrong.what
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "triton" else object())
    (missing,) = gpus.gpus()
    assert missing.status is Severity.NOTE and "triton missing" in missing.what and "[gpu]" in missing.next_step


def granting(size: int) -> Callable[..., socket.socket]:
    class Small(socket.socket):
        def getsockopt(self, *_: Any) -> Any:
            return size

    return lambda *_: Small(socket.AF_INET, socket.SOCK_DGRAM)


def test_sockets_compares_buffers_with_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = JobTicket(job=0, tag=0, worker=0, workers=2, slots=DEFAULT_WINDOW)
    window = buffer_bytes(ticket, DEFAULT_WINDOW)
    for granted, status, says in (
        (window - 1, Severity.PROBLEM, "the default window of 64 packets takes"),
        (window, Severity.NOTE, "windows of 1 workers"),
        (5 * window, Severity.NOTE, "windows of 5 workers"),
        (40 * window, Severity.OK, "windows of 32 workers"),
    ):
        monkeypatch.setattr(system, "open_udp_socket", granting(granted))
        checks = by_name(list(system.sockets()))
        for name, setting in (("receive buffer", "net.core.rmem_max"), ("send buffer", "net.core.wmem_max")):
            assert checks[name].status is status
            assert says in checks[name].what
            assert (f"sysctl -w {setting}=" in checks[name].next_step) == (status is not Severity.OK)


def test_sockets_that_cannot_open_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> socket.socket:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(system, "open_udp_socket", refuse)
    (finding,) = system.sockets()
    assert finding.status is Severity.PROBLEM
    assert "Cannot assign requested address" in finding.what


def test_offload_without_kernel_support_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old(socket.socket):
        def setsockopt(self, *_: Any) -> None:
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")

    monkeypatch.setattr(socket, "socket", Old)
    findings = list(system.offload())
    assert usable(findings)
    assert [finding.status for finding in findings] == [Severity.NOTE, Severity.NOTE]
    assert "Protocol not available" in findings[0].what


def test_missing_packages_are_notes_with_install_command() -> None:
    prelude = "\n".join(
        (
            "import sys, importlib.metadata",
            "sys.modules.update(dict.fromkeys(['torch', 'lanesum_lab']))",
            "import lanesum.cli.app, lanesum.cli.doctor",
            "importlib.metadata.entry_points = lambda **_: []",
            "lanesum.cli.app.command = lambda _: lanesum.cli.doctor.main",
        )
    )
    fine, checks = report(doctor("--json", prelude=prelude))
    assert fine
    for name, package in (("torch", "lanesum[torch]"), ("lanesum-lab", "lanesum-lab")):
        assert checks[name]["status"] == "note"
        assert package in checks[name]["next_step"]


@pytest.mark.parametrize("variable", ["LANESUM_THREADS", "LANESUM_TRANSPORT_THREADS", "LOCAL_WORLD_SIZE"])
def test_threads_of_wrong_variable_name_it_alone(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv("LANESUM_THREADS", raising=False)
    monkeypatch.setenv(variable, "many")
    codec, transport = software.threads()
    findings = {"LANESUM_THREADS": [codec], "LANESUM_TRANSPORT_THREADS": [transport]}.get(variable, [codec, transport])
    for finding in findings:
        text = f"{finding.what} {finding.next_step}"
        assert f"Invalid {variable}='many'" in text and "Correct the variable, or unset it" in text
        assert text.count("LANESUM") == (variable != "LOCAL_WORLD_SIZE")
