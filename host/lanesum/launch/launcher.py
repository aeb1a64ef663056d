# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Run of ``lanesum launch``: start the parts, admit the job, run torchrun, watch all of them, end all of them."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lanesum import environment
from lanesum.launch import parts
from lanesum.launch.nodes import Nodes
from lanesum.launch.run_folder import RunFolder
from lanesum.launch.status import Status
from lanesum.launch.supervisor import Child, Supervisor
from lanesum.rpc import controller as rpc

_INTERRUPT_S = 5.0
_NO_WORKER = (
    "no worker joined the job, so the script averaged its gradients without lanesum. Add lanesum.torch.attach(model) "
    "after the line that wraps the model in DistributedDataParallel."
)


def launch(options: argparse.Namespace, nodes: Nodes) -> int:
    """Run the script of the options; return its exit status. Raises the exceptions of ``lanesum.cli.launch.main``."""
    own = options.controller is None
    if own:
        parts.check(options.switch or "none", nodes.nproc)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        folder = RunFolder(scratch / "run")
        folder.path.mkdir()
        supervisor = stack.enter_context(Supervisor(scratch / "logs"))
        controller = options.controller
        if own:
            block = stack.enter_context(contextlib.closing(parts.Block()))
            controller = parts.start(supervisor, block, scratch, options.switch or "none", nodes.nproc)
        variables = {
            environment.CONTROLLER: controller,
            environment.RUN_FOLDER: str(folder.path),
            "PYTHONFAULTHANDLER": "1",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }
        if options.codec:
            variables[environment.CODEC] = options.codec
        job = options.job or os.environ.get(environment.JOB)
        if nodes.alone:
            job = job or f"launch-{secrets.token_hex(4)}"
            variables.setdefault("GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME", "lo"))
            stack.enter_context(_admitted(options, nodes, controller, job))
        elif job:
            variables[environment.ADMIT] = "1"  # rank 0 of the process group knows the addresses of all machines
        if job:
            variables[environment.JOB] = job
        status = stack.enter_context(contextlib.closing(Status(folder, controller if own else None)))
        torchrun = supervisor.start("torchrun", _command(options, nodes), environment=variables, to_terminal=True)
        code = _wait(supervisor, torchrun, status)
        status.close()
        _report(folder, status, code)
        return code


@contextlib.contextmanager
def _admitted(options: argparse.Namespace, nodes: Nodes, controller: str, job: str) -> Iterator[None]:
    """Admit the job of one machine, and remove it at the end."""
    codec = options.codec or os.environ.get(environment.CODEC) or "thc"
    message = {
        "name": job,
        "addresses": [rpc.address_towards(controller)] * nodes.nproc,
        "codec": codec,
        "seed": options.seed,
    }
    rpc.call(controller, rpc.ADMIT, message, connect_s=rpc.CONNECT_S)
    try:
        yield
    finally:
        with contextlib.suppress(rpc.ControllerError):
            rpc.call(controller, rpc.REMOVE, {"job": job}, connect_s=1.0)


def _command(options: argparse.Namespace, nodes: Nodes) -> list[str]:
    script = ["-m", options.script] if options.module else [options.script]
    command = [sys.executable, "-m", "lanesum.launch.torchrun", *nodes.options]
    command += [f"--max-restarts={options.max_restarts}", "-m", "lanesum.launch.worker"]
    return [*command, *script, *options.arguments]


def _wait(supervisor: Supervisor, torchrun: Child, status: Status) -> int:
    """Return the exit status of torchrun. Raises ProcessFailedError if a part ends."""
    try:
        while (code := torchrun.process.poll()) is None:
            supervisor.check()
            status.tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                torchrun.process.wait(0.1)
    except KeyboardInterrupt:
        # The script may want to save a checkpoint; a second Ctrl-C ends all processes at once.
        torchrun.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            torchrun.process.wait(_INTERRUPT_S)
        raise
    return code


def _report(folder: RunFolder, status: Status, code: int) -> None:
    """Print what failed first, and what lanesum did."""
    failure = folder.first_failure() if code else None
    if failure is not None:
        _say(f"rank {failure['rank']} failed first:\n{failure['what']}")
    summary = status.summary()
    if summary:
        _say(summary)
    elif code == 0:
        _say(f"warning: {_NO_WORKER}")


def _say(text: str) -> None:
    print(f"lanesum: {text}", file=sys.stderr, flush=True)
