# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Run of ``lanesum launch``: start the parts, admit the job, run torchrun, watch all of them, end all of them."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lanesum import codecs, environment
from lanesum.codecs.registry import default_codec
from lanesum.errors import LanesumError
from lanesum.launch import parts
from lanesum.launch.nodes import LaunchNodes
from lanesum.launch.run_folder import LOGS, RunFolder, ScratchFolder
from lanesum.launch.supervisor import Child, Supervisor, send_signal
from lanesum.launch.torchrun import SIGNALED
from lanesum.rpc import controller as rpc

_TERMINAL_S = 1.0
_PLAIN_S = 30.0
_ADDED = ("bytes_up", "bytes_fp32", "packets_sent", "retransmissions", "chunks_by_switch", "chunks_by_server")

_TITLES = {"steps": "steps", "all_reduces": "all-reduces"}


class StatusLine:
    """Status line; ``close`` removes it.

    On a terminal it has the last row, below a scrolling region with the output of the script.

    Args:
        folder: counts of the workers on this machine.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._terminal = sys.stderr.isatty()
        self._rows = 0
        self._last = time.monotonic()
        self._before: dict[str, dict[str, float]] = {}

    def tick(self) -> None:
        """Show the line, if it is time to."""
        seconds = time.monotonic() - self._last
        if seconds < (_TERMINAL_S if self._terminal else _PLAIN_S):
            return
        line, stats = self.summary() or "no worker has joined the job yet", self._folder.stats()
        counted = _counted(stats.values())
        done = 0.0
        for name, counts in stats.items():
            now, before = counts.get(counted, 0.0), self._before.get(name, {}).get(counted, 0.0)
            # Ranks that were started again count anew, in the same file if their job has the same number.
            done = max(done, now - before if now >= before else now)
        self._before = stats
        self._last += seconds
        text = f"lanesum: {done / seconds:.1f} {_TITLES[counted]}/s, {line}"
        if self._terminal:
            self._show(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def summary(self) -> str:
        """Return the counts of all workers; empty if none has joined a job."""
        stats = self._folder.stats().values()
        if not any(stats):
            return f"{_workers(len(stats))} joined the job" if stats else ""
        total = {name: sum(one.get(name, 0.0) for one in stats) for name in _ADDED}
        sent, plain, again = total["bytes_up"], total["bytes_fp32"], total["retransmissions"]
        saved = f", {1 - sent / plain:.0%} saved" if sent < plain else ""
        chunks = {who: total[f"chunks_by_{who}"] for who in ("switch", "server")}
        counted = _counted(stats)
        number = max(one.get(counted, 0.0) for one in stats)
        others = max(one.get("group_steps", 0.0) for one in stats)
        shares = [f"{who} {count / sum(chunks.values()):.0%}" for who, count in chunks.items() if count]
        return (
            f"{number:.0f} {_TITLES[counted]}, {_bytes(sent)} sent instead of {_bytes(plain)} "
            f"as float32{saved}, {again:.0f} retransmissions ({again / max(total['packets_sent'], 1):.1%})"
            + (f", summed by {' and '.join(shares)}" if shares else "")
            + (f", {others:.0f} steps averaged by the process group" if others else "")
        )

    def _show(self, line: str) -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(sys.stderr.fileno())
            if size.lines != self._rows:
                self._rows = size.lines
                # Free the last row, let all other rows scroll, and put the cursor back there.
                sys.stderr.write(f"\n\x1b7\x1b[1;{size.lines - 1}r\x1b8\x1b[1A")
            sys.stderr.write(f"\x1b7\x1b[{size.lines};1H\x1b[2K{line[: size.columns - 1]}\x1b8")
            sys.stderr.flush()

    def close(self) -> None:
        """Give the last row back to the terminal; idempotent."""
        if self._rows:
            sys.stderr.write(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            sys.stderr.flush()
            self._rows = 0


def _counted(stats: Iterable[Mapping[str, float]]) -> str:
    """Return the name of the count to show: steps of DDP; without one, all-reduces of FSDP2, backend and tensors."""
    done = {name for one in stats for name in ("steps", "all_reduces") if one.get(name)}
    return "all_reduces" if done == {"all_reduces"} else "steps"


def _bytes(count: float) -> str:
    unit = min(int(math.log10(max(count, 1)) / 3), 4)
    return f"{count / 1000**unit:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[unit]}"


_INTERRUPT_S, _GRACE_S = 1.0, 5.0  # after SIGINT, and after SIGTERM
_MAX_RENEWAL_S = 30.0  # between two renewals of a lease
_NO_WORKER = (
    "no worker joined the job, so the script averaged its gradients without lanesum. Add lanesum.torch.attach(model) "
    "after the line that wraps the model in DistributedDataParallel."
)


def launch(options: argparse.Namespace, nodes: LaunchNodes) -> int:
    """Run the script of the options; return its exit status. Raises the exceptions of ``lanesum.cli.launch.main``."""
    own = options.controller is None
    codecs.get(options.codec or default_codec(), workers=nodes.nproc)
    if own:
        parts.check(options.switch or "none", nodes.nproc)
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(ScratchFolder())
        folder = RunFolder(scratch.path / "run")
        folder.path.mkdir()
        supervisor = stack.enter_context(Supervisor(scratch.path / LOGS))
        controller = options.controller
        if own:
            block = stack.enter_context(contextlib.closing(parts.Block()))
            controller = parts.start(supervisor, block, scratch.path, options.switch or "none", nodes.nproc)
        variables = {
            environment.CONTROLLER: controller,
            environment.RUN_FOLDER: str(folder.path),
            environment.TICKET: "",
        }
        # After a restart, ranks that use torchrun's own store may read addresses of the attempt before (PyTorch 2.13).
        defaults = {"PYTHONFAULTHANDLER": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        if options.spawn:
            variables[environment.SPAWNED_RANKS] = str(nodes.nproc)
        if options.codec:
            variables[environment.CODEC] = options.codec
        if nodes.nproc > 1:
            defaults["OMP_NUM_THREADS"] = "1"
        job = options.job or os.environ.get(environment.JOB)
        if nodes.alone:
            # Loopback has no host name, which torch would warn about.
            defaults |= {"GLOO_SOCKET_IFNAME": "lo", "TORCH_CPP_LOG_LEVEL": "ERROR"}
            job = job or f"launch-{secrets.token_hex(4)}"
            # A controller of its own ends with the launch. Another one removes the job of a launch that was killed.
            admitted = _admit(options, nodes, controller, job, {"lease_s": 0.0} if own else rpc.lease())
            if not own:
                stack.callback(_remove, controller, job)
                stack.enter_context(renewed_lease(controller, admitted["job"], admitted["lease_s"]))
        elif job:
            variables[environment.ADMIT] = "1"  # by rank 0, with the addresses of all machines
        if job:
            variables[environment.JOB] = job
        variables |= {name: value for name, value in defaults.items() if name not in os.environ}
        status = stack.enter_context(contextlib.closing(StatusLine(folder)))
        # Else torchrun makes a folder in the temporary folder, and leaves it there.
        variables.setdefault("PET_LOG_DIR", os.environ.get("PET_LOG_DIR") or str(scratch.path / "torchrun"))
        torchrun = supervisor.start("torchrun", _command(options, nodes), environment=variables, to_terminal=True)
        code = _wait(supervisor, torchrun, status, scratch)
        status.close()
        _report(folder, status, code)
        return code


def _workers(count: int) -> str:
    return f"{count} worker{'s' if count != 1 else ''}"


def _admit(
    options: argparse.Namespace, nodes: LaunchNodes, controller: str, job: str, lease: dict[str, float]
) -> dict[str, Any]:
    """Admit the job of one machine, and say who sums it; return the controller's answer."""
    codec = options.codec or default_codec()
    addresses = [rpc.address_towards(controller)] * nodes.nproc
    message = {"name": job, "addresses": addresses, "codec": codec, "seed": options.seed, **lease}
    admitted = rpc.call(controller, rpc.ADMIT, message, connect_s=rpc.CONNECT_S)
    switches = ", ".join(admitted["placement"]) or "the server"
    words = admitted["words"]
    _say(f"job {job}: {_workers(nodes.nproc)}, codec {codec}, packets of {words} words, summed by {switches}")
    return admitted


@contextlib.contextmanager
def renewed_lease(controller: str, job: int, lease_s: float) -> Iterator[None]:
    """Renew the lease of a job while this process lives: a script may join late, or again."""
    ended, interval_s = threading.Event(), min(lease_s / 4, _MAX_RENEWAL_S)

    def renew() -> None:
        while not ended.wait(interval_s or None):  # without a lease there is nothing to do
            with contextlib.suppress(LanesumError):  # the controller may restart, and keeps its jobs meanwhile
                rpc.call(controller, rpc.RENEW, {"job": job}, interval_s)

    thread = threading.Thread(target=renew, name="lanesum-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_INTERRUPT_S)


def _remove(controller: str, job: str) -> None:
    with contextlib.suppress(rpc.ControllerError):
        rpc.call(controller, rpc.REMOVE, {"job": job}, connect_s=rpc.CONNECT_S)


def _command(options: argparse.Namespace, nodes: LaunchNodes) -> list[str]:
    script = ["-m", options.script] if options.module else [options.script]
    command = [sys.executable, "-m", "lanesum.launch.torchrun", *nodes.options]
    command += [f"--max-restarts={options.max_restarts}", "-m", "lanesum.launch.worker"]
    # As one word, because torchrun refuses words after the script that could be abbreviations of its own options.
    return [*command, json.dumps([*script, *options.arguments])]


def _wait(supervisor: Supervisor, torchrun: Child, status: StatusLine, scratch: ScratchFolder) -> int:
    """Return the exit status of torchrun; restart parts that end. Raises ProcessFailedError if a part cannot serve."""
    try:
        while (code := torchrun.process.poll()) is None:
            for sentence in supervisor.restart_ended(besides=[torchrun]):
                _say(sentence)
                scratch.keeps_logs = True
            status.tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                torchrun.process.wait(0.1)
    except KeyboardInterrupt:
        # SIGTERM ends a rank that waits in a collective. A rank that handles it has time to save a checkpoint.
        for number, patience_s in ((signal.SIGINT, _INTERRUPT_S), (signal.SIGTERM, _GRACE_S)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                send_signal(torchrun, number)
                torchrun.process.wait(patience_s)
        supervisor.kill_all()
        raise
    if code < 0:
        _say(f"torchrun was ended by {signal.Signals(-code).name}")
    return code if code >= 0 else SIGNALED - code


def _report(folder: RunFolder, status: StatusLine, code: int) -> None:
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
