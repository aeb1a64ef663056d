# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The command line and wrong input: one message with a next step, exit code not 0, no traceback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lanesum import codecs
from lanesum.cli import main
from lanesum.errors import ConfigurationError
from lanesum_fabric.topology import TopologyBuilder, available
from lanesum_fabric.topology.files import parse
from lanesum_lab import targets
from lanesum_lab.run import plan as plan_module
from lanesum_lab.run.mininet_net import mininet_network
from lanesum_lab.run.options import RunOptions
from lanesum_lab.run.plan import make_plan


def lanesum(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    command = [sys.executable, "-m", "lanesum.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)


Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lanesum_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The same in this process, where a traceback is the exception itself: a process takes a second to start."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["lanesum", *arguments])
        handler = signal.getsignal(signal.SIGTERM)
        try:
            status = main()
        finally:
            signal.signal(signal.SIGTERM, handler)
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return call


def assert_refused(result: subprocess.CompletedProcess[str], *says: str) -> None:
    assert result.returncode not in (0, -2), result.stdout
    assert "Traceback" not in result.stderr, result.stderr
    message = " ".join(result.stderr.split())
    for text in says:
        assert text in message, message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--codec", "zip"), ("no codec 'zip'", ", ".join(codecs.names()))),
        (("run", "--workers", "9"), ("9 workers are asked for, but the topology has 4", "fewer workers")),
        (("run", "--workers", "0"), ("workers = 0 must be at least 1",)),
        (("run", "--epochs", "0"), ("epochs = 0 must be at least 1",)),
        (("run", "--quorum", "5"), ("quorum = 5 is not between 0 and the 4 workers",)),
        (("run", "--rate", "-1"), ("rate = -1 Mbit/s must be positive, or 0",)),
        (("run", "--rate", "10", "--topology", "loopback"), ("cannot have 10 Mbit/s: loopback has no links",)),
        (("run", "--deadline", "0"), ("deadline = 0 must be positive",)),
        (("run", "--faults", "nosuch"), ("Cannot read the fault plan 'nosuch'", "everything-dies, flips, lossy")),
        (("run", "--runner", "cloud"), ("There is no runner 'cloud'", "loopback, mininet")),
        (("run", "--switch", "magic"), ("There is no switch 'magic'", "embedded, bmv2, tofino1-w32")),
        (("run", "--topology", "nowhere"), ("Cannot read the topology 'nowhere'", "star4")),
        (("run", "--bogus"), ("No such option: --bogus",)),
        (("fly",), ("No such command 'fly'",)),
        (("switch",), ("needs ports", "--loopback or --interface")),
        (
            ("switch", "--topology", "tree2x2", "--loopback"),
            ("tree2x2 has several switches", "--name with one of s0, s1, s2"),
        ),
        (("switch", "--name", "s9", "--loopback"), ("star4 has no switch 's9'", "s1")),
        (("server", "--loopback", "--threads", "0"), ("threads = 0", "at least one")),
        (
            ("server", "--loopback", "--offload", "maybe"),
            ("Argument --offload: invalid choice: 'maybe'", "See lanesum server --help"),
        ),
        (("faults", "check", "/nonexistent.yaml"), ("Cannot read the fault plan '/nonexistent.yaml'",)),
        (("switch", "--interface", "eth0"), ("expected port@name",)),
        (("switch", "--interface", "\u00b2@lo"), ("expected port@name",)),
        (("switch", "--interface", "1@nosuchlink0"), ("nosuchlink0",)),
        (("switch", "--loopback", "--program", "/nonexistent.json"), ("Cannot read the program /nonexistent.json",)),
        (("controller", "--words", "48", "--switch", "127.0.0.1:1"), ("No BMv2 program for 48 words", "32, 64, 128")),
        (
            ("controller", "--tofino", "tofino1-w33"),
            ("no Tofino profile 'tofino1-w33'", "tofino1-w32, tofino1-w256, tofino2-w64, tofino2-w256"),
        ),
        (("controller", "--tofino", "tofino1-w32", "--words", "64"), ("--words 64 is not what tofino1-w32 has: 32",)),
        (("controller", "--recirculation", "68"), ("are for --tofino", "Name a profile")),
        (
            ("controller", "--tofino", "tofino1-w32", "--device-config", "/none.bin"),
            ("Missing device config /none.bin",),
        ),
        (
            ("controller", "--tofino", "tofino1-w32", "--recirculation", "7", "--switch", "127.0.0.1:1"),
            ("Port 7 is no recirculation port of Tofino 1", "68, 196, 324, 452"),
        ),
        (("controller", "--switch", "nonsense"), ("is no address of a switch",)),
        (("run", "--out", "/dev/null/run"), ("Cannot create the folder /dev/null/run: Not a directory",)),
        (
            ("switch", "--loopback", "--faults", "lossy", "--fault-counts", "/dev/null/counts"),
            ("Cannot create the folder /dev/null/counts: Not a directory",),
        ),
        (("bench", "codec", "--picture", "/dev/null/codec.png"), ("Cannot write /dev/null/codec.png",)),
        (("job", "trace", "a", "--out", "/dev/null/trace.json"), ("Cannot write /dev/null/trace.json",)),
        (("controller", "--switch", "127.0.0.1:\u00b2"), ("is no address of a switch",)),
        (("job", "list", "--controller", "127.0.0.1:1"), ("No controller answers at 127.0.0.1:1",)),
        (("bench", "switch", "--ops", "MUL"), ("There is no lane operation MUL", "ADD32")),
        (("switch", "--loopback", "--bfruntime", "127.0.0.1:0"), ("BF Runtime programs switches for Tofino only",)),
        (("topology", "check", "/nonexistent.yaml"), ("Cannot read the topology '/nonexistent.yaml'",)),
    ],
)
def test_one_message_with_the_next_step(arguments: tuple[str, ...], says: tuple[str, ...], lanesum_here: Call) -> None:
    assert_refused(lanesum_here(*arguments), *says)


def test_command_in_a_process_prints_the_same_message() -> None:
    assert_refused(lanesum("run", "--codec", "zip"), "no codec 'zip'", ", ".join(codecs.names()))
    assert_refused(lanesum("run", "--bogus"), "No such option: --bogus")


def test_broken_topology_error_names_the_line(tmp_path: Path) -> None:
    broken = tmp_path / "net.yaml"
    broken.write_text(available()["star4"].read_text().replace("10.19.0.3", "10.19.0.2"))
    assert_refused(lanesum("topology", "check", str(broken)), f"{broken}:14: nodes.w3.ip: 10.19.0.2 is the address of")
    assert_refused(lanesum("run", "--topology", str(broken)), f"{broken}:14:")


def test_switch_of_topology_without_any_is_refused(tmp_path: Path, lanesum_here: Call) -> None:
    direct = tmp_path / "direct.yaml"
    build = TopologyBuilder("direct")
    build.worker("w1")
    build.server("server")
    build.controller("controller")
    build.write(direct)
    assert_refused(lanesum_here("switch", "--topology", str(direct), "--loopback"), "Topology direct has no switch.")
    refused = lanesum_here("run", "--topology", str(direct), "--switch", "embedded")
    assert_refused(refused, "direct has no switch to run embedded", "Leave the switch out")


def test_switch_invalid_program_is_refused(tmp_path: Path, lanesum_here: Call) -> None:
    for text in ("not json", "{}", '{"parsers": []}'):
        program = tmp_path / "program.json"
        program.write_text(text)
        assert_refused(lanesum_here("switch", "--loopback", "--program", str(program)), "lanesum:")


def test_switch_with_taken_address_names_it() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.19.0.100", 19539))
        assert_refused(
            lanesum("switch", "--loopback", "--p4runtime", "127.0.0.1:0"), "127.19.0.100:19539", "cannot listen at"
        )


def test_switch_with_taken_p4runtime_port_names_it() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        assert_refused(lanesum("switch", "--loopback", "--p4runtime", address), address)


def obstacle_of(monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]) -> str:
    change(monkeypatch)
    with pytest.raises(plan_module.MissingToolError) as caught:
        make_plan(RunOptions("mininet"))
    return str(caught.value)


def test_mininet_without_root_or_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "The Mininet runner cannot be used: Mininet needs root" in obstacle_of(
        monkeypatch, lambda patch: patch.setattr(os, "geteuid", lambda: 1000)
    )
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    message = obstacle_of(monkeypatch, lambda patch: patch.setattr(plan_module.shutil, "which", lambda _: None))
    assert "mnexec, ip is not installed (apt install mininet iproute2)" in message


def test_mininet_where_no_host_can_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a chroot, mnexec cannot change the mounts of its new namespace, and ends."""
    (tmp_path / "mnexec").write_text("#!/bin/sh\necho 'remount: Invalid argument' >&2\nexit 1\n")
    (tmp_path / "mnexec").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(plan_module, "MININET_PROGRAMS", ("mnexec",))
    monkeypatch.setattr(plan_module, "mininet_path", lambda: tmp_path)
    monkeypatch.setattr(plan_module.veth, "obstacle", lambda: "")
    plan_module._host_obstacle.cache_clear()
    try:
        message = obstacle_of(monkeypatch, lambda _: None)
    finally:
        plan_module._host_obstacle.cache_clear()
    assert "Mininet cannot start a host here (remount: Invalid argument)" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"topology": "star4", "runner": "mininet", "switch": "none"},
            "Without a switch the hosts of a Mininet network cannot reach each other. Use TOPOLOGY=loopback",
        ),
        (
            {"topology": "star4", "runner": "loopback", "switch": "bmv2"},
            r"bmv2 needs network interfaces, which only the Mininet runner has \(loopback was requested\)",
        ),
        (
            {"topology": "loopback", "runner": None, "faults": "faults.yaml"},
            r"The fault plan starts worker w1 again, .* Leave restart_after_s out",
        ),
    ],
)
def test_plan_of_what_cannot_run_is_refused(
    options: dict[str, str | None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("faults.yaml").write_text("processes: [{kind: kill, process: w1, step: 3, restart_after_s: 2}]\n")
    monkeypatch.setattr(plan_module, "mininet_obstacle", lambda: "")
    monkeypatch.setattr(shutil, "which", lambda program: f"/bin/{program}")
    with pytest.raises(ConfigurationError, match=message):
        make_plan(RunOptions(**{"codec": "fixed", "out": tmp_path, **options}))  # type: ignore[arg-type]


def test_plan_without_mininet_is_loopback_with_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    plan = make_plan(RunOptions(workers=2, codec="fixed"))
    assert (plan.runner, plan.switch, plan.workers) == ("loopback", targets.get("embedded"), ("w1", "w2"))
    assert plan.why == "Mininet needs root"
    assert plan.target == "embedded switch on loopback"


def test_root_without_privileges_gets_loopback(tmp_path: Path) -> None:
    """As in a container: root by name, but no network namespaces."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to give up privileges")
    code = (
        "from lanesum_lab.run.options import RunOptions; from lanesum_lab.run.plan import make_plan; "
        "p = make_plan(RunOptions()); "
        "print(p.runner, '|', p.why)"
    )
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    runner, _, why = result.stdout.partition("|")
    assert runner.strip() == "loopback"
    assert "may not make network namespaces" in why or "not installed" in why


@pytest.mark.parametrize(("node", "interface"), [("s1", "rack12-gpu34-eth1"), ("w1", "rack12-gpu34-eth0")])
def test_mininet_name_too_long_for_interfaces_is_refused(node: str, interface: str) -> None:
    topology = parse(available()["star4"].read_text().replace(node, "rack12-gpu34"), "long")
    with pytest.raises(ConfigurationError, match=f"the interface '{interface}': it has 17"), mininet_network(topology):
        pass
