# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum launch`` with real processes on loopback: it trains, ends everything, and names the first failure."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.launch import parts
from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.command_line import invoke
from tests.free_ports import free_ports
from tests.host.launch import spawned_script
from tests.waiting import wait_until

pytest.importorskip("torch")

SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
import lanesum.torch

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1000, 10))
state = lanesum.torch.attach(model)
rank = dist.get_rank()
print(f"rank {rank} of {dist.get_world_size()}, arguments {sys.argv[1:]}, file {__file__}", flush=True)
step = 0
while step < 3 or "--forever" in sys.argv:
    model(torch.full((1, 1000), 1.0 + rank)).sum().backward()
    step += 1
    if step == 3:
        print("trained", flush=True)
    if step == 2 and rank == 1 and "--raise" in sys.argv:
        raise ValueError("no such value")
mean = model.module.weight.grad.mean().item() / 3
print(f"codec {state.codec.name}, mean {mean:.1f}", flush=True)
state.leave()
dist.destroy_process_group()
os._exit(0)
"""


# Ranks that sum without PyTorch start in a fifth of the processor time: for what does not depend on PyTorch.
NUMPY_SCRIPT = """
import os, sys
import numpy as np
from lanesum.joining import join
from lanesum.session import Session

with Session(join(wait=True)) as session:
    for step in range(1 << 60):
        total = session.all_reduce(np.full(10_000, step % 7, np.float32), codec="fixed")
        assert (total == int(os.environ["WORLD_SIZE"]) * (step % 7)).all()
        if step == 2:
            print("trained", flush=True)
        if step % 50 == 49:
            print("exact sums", flush=True)
        if step == 1 and os.environ["RANK"] == "1" and "--exit" in sys.argv:
            os._exit(7)
        if step == 1 and os.environ["RANK"] == "1" and "--kill" in sys.argv:
            os.kill(os.getpid(), 9)
"""


@pytest.fixture
def numpy_script(tmp_path: Path) -> Path:
    path = tmp_path / "sum.py"
    path.write_text(NUMPY_SCRIPT)
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that starts ``lanesum launch``. At the end none of its processes runs, and no folder is left."""
    mark = f"LANESUM_TEST_MARK={tmp_path}"
    started: list[subprocess.Popen[str]] = []
    temporary = Path(tempfile.mkdtemp())  # below tmp_path, the path of a socket would be too long

    def run(*arguments: Any, stdin: int | None = None) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "lanesum.cli", "launch", *map(str, arguments)]
        name, _, value = mark.partition("=")
        pipes: Any = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        variables = {**os.environ, name: value, "TMPDIR": str(temporary)}
        started.append(subprocess.Popen(command, cwd=tmp_path, env=variables, text=True, **pipes))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        assert process.stdout is not None
        process.stdout.close()
    wait_until(lambda: not marked(mark))
    left = [*temporary.glob("lanesum-*/run"), *temporary.glob("torchelastic_*")]  # logs stay where a message names them
    shutil.rmtree(temporary)
    # A launch that was killed leaves its folder to the next one.
    assert len(left) == sum(process.returncode == -signal.SIGKILL for process in started)


def marked(mark: str) -> list[str]:
    """Return the command lines of all processes whose environment has ``mark``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def output_of(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=250)
    return output


def wait_for_line(process: subprocess.Popen[str], text: str) -> str:
    """Return the output up to the first line with ``text``."""
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return read
    raise AssertionError(f"no line with {text!r} in:\n{read}")


@pytest.mark.parametrize("switch", ["none", "embedded", "tofino1-w32"])
def test_launch_trains_and_says_who_summed(start: Callable[..., Any], script: Path, switch: str) -> None:
    process = start("--nproc", 2, "--switch", switch, "--codec", "fixed", script, "one", "--nproc", "9")
    output = output_of(process)
    assert process.returncode == 0, output
    assert f"rank 1 of 2, arguments ['one', '--nproc', '9'], file {script}" in output
    assert output.count("codec fixed, mean 1.5") == 2
    words = {"none": 360, "embedded": 128, "tofino1-w32": 32}[switch]
    summed_by = "the server" if switch == "none" else "s1"
    assert f"2 workers, codec fixed, packets of {words} words, summed by {summed_by}\n" in output
    summed = "server 100%" if switch == "none" else "switch 100%"
    assert re.search(rf"^lanesum: 3 steps, .* sent instead of .* retransmissions .*, summed by {summed}$", output, re.M)


TWO_MODELS = """
import torch
import torch.distributed as dist
import lanesum.torch

dist.init_process_group("gloo")
models = [torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, outputs)) for outputs in (100, 10)]
states = [lanesum.torch.attach(models[0]), lanesum.torch.attach(models[1], job="critic", admit=True)]
for step in range(5):
    for model in models:
        model(torch.randn(8, 100)).square().mean().backward()
print(f"jobs {[state.session.ticket.job for state in states]}\\n", end="", flush=True)
for state in states:
    state.leave()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_launch_adds_up_the_jobs_of_two_models(start: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_MODELS)
    process = start("--nproc", 2, "train.py")
    output = output_of(process)
    assert process.returncode == 0, output
    assert output.count("jobs [1, 2]") == 2
    assert re.search(r"^lanesum: 5 steps, .* sent instead of 444 kB as float32", output, re.MULTILINE), output


BACKEND = """
import torch
import torch.distributed as dist
import lanesum.torch

dist.init_process_group("lanesum")
for _ in range(4):
    dist.all_reduce(torch.ones(1000))
lanesum.torch.all_reduce(torch.ones(1000))
dist.destroy_process_group()
"""


@pytest.mark.long
def test_launch_counts_all_reduces_of_the_backend(start: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BACKEND)
    process = start("--nproc", 2, "train.py")
    output = output_of(process)
    assert process.returncode == 0, output
    assert re.search(r"^lanesum: 5 all-reduces, .* sent instead of 40 kB as float32", output, re.MULTILINE), output


@pytest.mark.long
def test_launch_spawned_ranks_train_as_by_gloo(start: Callable[..., Any], tmp_path: Path) -> None:
    script = Path(spawned_script.__file__)
    process = start("--nproc", 2, "--spawn", script, tmp_path / "store")
    output = output_of(process)
    assert process.returncode == 0, output
    assert output.count("as by gloo") == output.count("ranks of this host: 2") == 2
    assert re.search(r"^lanesum: 4 steps, ", output, re.MULTILINE), output


@pytest.mark.long
def test_launch_says_what_a_second_model_needs(start: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_MODELS.replace(', job="critic", admit=True', ""))
    process = start("--nproc", 2, "train.py")
    output = output_of(process)
    assert process.returncode == 1, output
    assert "A second model needs a job of its own: attach(model, job=NAME, admit=True)." in output


@pytest.mark.long
def test_launch_script_without_lanesum_is_warned(start: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')")
    process = start("--nproc", 2, "train.py")
    output = output_of(process)
    assert process.returncode == 0, output
    assert "lanesum: warning: no worker joined the job" in output
    assert "Add lanesum.torch.attach(model)" in output


@pytest.mark.parametrize(
    ("kind", "option", "status", "said"),
    [
        pytest.param("script", "--raise", 1, "ValueError: no such value", marks=pytest.mark.long),
        pytest.param("numpy_script", "--exit", 7, "It ended with exit code 7.", marks=pytest.mark.long),
        ("numpy_script", "--kill", 137, "It was ended by SIGKILL."),
    ],
)
def test_launch_names_first_failure(
    start: Callable[..., Any], request: pytest.FixtureRequest, kind: str, option: str, status: int, said: str
) -> None:
    process = start("--nproc", 2, request.getfixturevalue(kind), option, "--forever")
    output = output_of(process)
    assert process.returncode == status, output
    assert said in output.partition("lanesum: rank 1 failed first:\n")[2]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (signal.SIGINT, "script"),
        pytest.param(signal.SIGTERM, "numpy_script", marks=pytest.mark.long),
        pytest.param(signal.SIGKILL, "numpy_script", marks=pytest.mark.long),
    ],
)
def test_launch_ended_by_signal_leaves_nothing(
    start: Callable[..., Any], request: pytest.FixtureRequest, number: int, kind: str
) -> None:
    """The fixture waits until no process of the launch runs."""
    process = start("--nproc", 2, "--switch", "embedded", request.getfixturevalue(kind), "--forever")
    wait_for_line(process, "trained")
    os.kill(process.pid, number)
    output = output_of(process)
    expected = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    assert process.returncode == expected[signal.Signals(number)], output


def test_launch_script_has_input_and_lasting_job(start: Callable[..., Any], tmp_path: Path) -> None:
    """A script may compile for minutes before it joins its job."""
    script = tmp_path / "ask.py"
    script.write_text("""
import os
from lanesum.rpc import controller
jobs = controller.jobs_by_name(os.environ["LANESUM_CONTROLLER"])
print(f"read {input()}, lease {jobs[os.environ['LANESUM_JOB']]['lease_s']:g}")
""")
    output, _ = start(script, stdin=subprocess.PIPE).communicate("some words\n", timeout=250)
    assert "read some words, lease 0" in output


@pytest.mark.long
def test_launch_restarts_killed_parts_and_goes_on(start: Callable[..., Any], numpy_script: Path) -> None:
    process = start("--nproc", 2, "--switch", "embedded", "--codec", "fixed", numpy_script)
    wait_for_line(process, "trained")
    for part in ("server", "switch", "controller"):
        os.kill(pid_of(process, "lanesum.cli", part), signal.SIGKILL)
        said = wait_for_line(process, f"lanesum: {part} was ended by SIGKILL, and is started again; its log is")
        for _ in range(3):
            said += wait_for_line(process, "exact sums")
        assert "Error" not in said
    os.kill(process.pid, signal.SIGINT)
    output_of(process)
    assert process.returncode == 130
    log = Path(said.partition("its log is ")[2].split()[0])
    assert log.read_text().count("lanesum is ready:") == 2


@pytest.mark.long
def test_launch_without_torchrun_ends_all_others(start: Callable[..., Any], numpy_script: Path) -> None:
    process = start("--nproc", 2, numpy_script)
    wait_for_line(process, "trained")
    os.kill(pid_of(process, "lanesum.launch.torchrun"), signal.SIGKILL)
    output_of(process)
    assert process.returncode == 128 + signal.SIGKILL


def pid_of(process: subprocess.Popen[str], *words: str) -> int:
    """Return the child of a launch whose command line has these words."""
    (pid,) = [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if parent_of(folder) == process.pid and set(words) <= set(words_of(folder))
    ]
    return pid


def parent_of(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def words_of(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return (folder / "cmdline").read_bytes().decode().split("\0")
    return []


@pytest.mark.long
def test_launch_two_at_once_do_not_collide(start: Callable[..., Any], script: Path) -> None:
    processes = [start("--nproc", 1, "--switch", "embedded", "--job", "same", script) for _ in range(2)]
    for process in processes:
        output = output_of(process)
        assert process.returncode == 0, output
        assert "codec thc" in output


@pytest.mark.long
def test_launch_restarts_ranks_in_new_incarnation(start: Callable[..., Any], script: Path) -> None:
    """The first attempt fails in the second step; its failure is not that of the run."""
    text = 'if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":\n    sys.argv.append("--raise")\n'
    script.write_text(script.read_text().replace("dist.init", text + "dist.init", 1))
    process = start("--nproc", 2, "--codec", "fixed", "--max-restarts", 1, script)
    output = output_of(process)
    assert process.returncode == 0, output
    assert "ValueError: no such value" in output and "failed first" not in output
    assert output.count("codec fixed, mean 1.5") == 2


@pytest.mark.long
def test_launch_on_two_machines_needs_only_the_controller(start: Callable[..., Any], script: Path) -> None:
    """Both launches are on this machine. Rank 0 admits the job, and removes it after the last step."""
    with AggregationServer(("127.19.0.95", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server)
        meeting = f"127.0.0.1:{free_ports(1, socket.SOCK_STREAM)[0]}"
        with ControllerService(controller, "127.0.0.1:0") as service:
            options = ["--nnodes", 2, "--rdzv-endpoint", meeting, "--controller", f"127.0.0.1:{service.port}"]
            processes = [start(*options, "--codec", "fixed", script) for _ in range(2)]
            for process in processes:
                output = output_of(process)
                assert process.returncode == 0, output
                assert "of 2" in output and "codec fixed, mean 1.5" in output
                assert "lanesum: 3 steps" in output
        assert controller.jobs() == []


@pytest.mark.long
def test_launch_on_terminal_keeps_and_returns_last_row(script: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = tmp_path / "shown"
    wait = "step += 1\n    while step == 2 and not os.path.exists(sys.argv[1]):\n        time.sleep(0.05)"
    script.write_text(script.read_text().replace("step += 1", wait))
    command = [sys.executable, "-m", "lanesum.cli", "launch", str(script), str(shown)]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    output = b""
    with contextlib.suppress(OSError):  # all other ends are closed
        while data := os.read(leader, 4096):
            output += data
            if b"steps/s" in output:
                shown.touch()
    os.close(leader)
    assert process.wait() == 0, output.decode()
    text = output.decode()
    assert "\x1b[1;23r" in text and re.search(r"\x1b\[24;1H\x1b\[2Klanesum: \d+\.\d steps/s, ", text)
    # The region is given up before the last lines.
    assert "steps/s" not in text.rpartition("\x1b[r")[2] and "lanesum: 3 steps" in text.rpartition("\x1b[r")[2]


def test_launch_without_controller_at_address_says_so(script: Path) -> None:
    result = invoke(["launch", "--controller", "127.0.0.1:9", str(script)])
    assert result.exit_code == 1
    assert "No controller answers at 127.0.0.1:9 within 4 s. Start it" in result.output


def test_launch_stale_controller_variable_is_named(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANESUM_CONTROLLER", "127.0.0.1:9")
    result = invoke(["launch", str(script)])
    assert result.exit_code == 1
    assert "LANESUM_CONTROLLER names it: unset it if it is of an earlier run" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nnodes", "2", "--rdzv-endpoint", "a:1"], "Several machines need a controller"),
        (["--nnodes", "2", "--rdzv-endpoint", "a:1", "--seed", "1"], "--seed is for a job on one machine."),
        (["--switch", "bmv2"], "needs network interfaces, and so root. Choose --switch embedded"),
        (["--switch", "magic"], "There is no switch 'magic'. Known switches: none, embedded, bmv2, tofino1-w32"),
        (["--nproc", "33"], "33 workers are more than the 32"),
        (["--switch", "none", "--controller", "a:1"], "--switch is for a controller that launch starts"),
        (["--codec", "thc eror=0.01"], "Codec 'thc' has no parameter 'eror'"),
        (["--max-restarts", "-1"], "Invalid --max-restarts -1: expected 0 or more."),
        (["--nnodes", "0"], "Invalid --nnodes '0': expected a number, or a range as 2:4."),
        (["--codec", "thc error"], "Invalid codec 'thc error': expected a name, then KEY=VALUE."),
        (["--switch", "none", "--color"], "nrecognized arguments: --color"),
    ],
)
def test_launch_impossible_options_are_refused(script: Path, arguments: list[str], said: str) -> None:
    result = invoke(["launch", *arguments, str(script)])
    assert (result.exit_code, said in result.output) == (2, True), result.output


def test_launch_without_torch_is_refused(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = invoke(["launch", str(script)])
    assert (result.exit_code, "The package torch is not installed." in result.output) == (3, True), result.output


def test_launch_missing_script_is_refused() -> None:
    result = invoke(["launch", "nowhere.py"])
    assert (result.exit_code, "There is no script 'nowhere.py'" in result.output) == (2, True)


def test_launch_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    with pytest.raises(MissingToolError, match=r"'controller' is not installed: .* pip install lanesum-control"):
        parts.check("none", 2)


def test_block_is_for_one_launch() -> None:
    blocks = [parts.Block() for _ in range(50)]
    assert len({block.network for block in blocks}) == len(blocks)
    for block in blocks:
        block.close()


@pytest.mark.parametrize("number", [errno.EADDRINUSE, errno.EADDRNOTAVAIL])
def test_block_without_a_free_address_is_an_error(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    class Refused(socket.socket):
        def bind(self, _address: object) -> None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(parts.socket, "socket", Refused)
    with pytest.raises(ConfigurationError, match=rf"UDP port \d+ cannot be used on loopback.*{os.strerror(number)}"):
        parts.Block()
