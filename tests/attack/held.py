# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Thousands of connections to a controller, idle and slow, while a job lives.

``python -m tests.attack.held --idle 10000 --slow 1000 --seconds 60`` (``make hold``) prints what became of the job,
and how long its calls took. Half of the idle connections begin HTTP/2, and half send nothing. A slow connection has a
call whose message arrives byte by byte. Connections that the controller ends are opened again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanesum.cli.signals import READY, raise_file_limit
from lanesum.keep_alive import KeepAlive, claimant
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.transport.ticket import JobTicket
from tests.raw_http2 import DATA, PREFACE, headers

LEASE_S = 2.0
_SLOW_S = 8.0  # a slow connection begins anew before the server ends its call
_PATH = f"/{rpc.SERVICE}/{rpc.KEEPALIVE}".encode()
_IDLE, _BEGUN, _SLOW = (
    b"",
    PREFACE,
    PREFACE + headers(_PATH) + struct.pack(">I", 1000)[1:] + bytes([DATA, 0, 0, 0, 0, 1]),
)


class Holder:
    """Holds connections to ``address``; ``tick`` opens those that are missing, and feeds the slow ones."""

    def __init__(self, address: str, idle: int, slow: int) -> None:
        host, _, port = address.rpartition(":")
        self._to = host, int(port)
        self._wanted = {_IDLE: idle - idle // 2, _BEGUN: idle // 2, _SLOW: slow}
        self._open: dict[bytes, dict[socket.socket, float]] = {kind: {} for kind in self._wanted}
        self._selector = selectors.DefaultSelector()
        self.ended = 0

    @property
    def held(self) -> int:
        return sum(map(len, self._open.values()))

    def tick(self) -> None:
        now = time.monotonic()
        for kind, wanted in self._wanted.items():
            for _ in range(min(500, wanted - len(self._open[kind]))):
                with contextlib.suppress(OSError):
                    one = socket.create_connection(self._to)
                    one.setblocking(False)
                    one.send(kind)
                    self._open[kind][one] = now
                    self._selector.register(one, selectors.EVENT_READ, kind)
        for one, since in list(self._open[_SLOW].items()):
            try:
                one.send(b"{" if now - since < _SLOW_S else b"")
            except OSError:
                self._close(_SLOW, one)
            else:
                if now - since >= _SLOW_S:
                    self._close(_SLOW, one)
        for key, _ in self._selector.select(0.2):
            assert isinstance(key.fileobj, socket.socket)
            try:
                ended = not key.fileobj.recv(1 << 12)
            except OSError:
                ended = True
            if ended:
                self.ended += 1
                self._close(key.data, key.fileobj)

    def _close(self, kind: bytes, one: socket.socket) -> None:
        self._selector.unregister(one)
        one.close()
        del self._open[kind][one]


def attack(address: str, idle: int, slow: int) -> None:
    """Hold connections until the end of standard input; print their number every second, as JSON."""
    raise_file_limit()
    holder = Holder(address, idle, slow)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.is_set():
        holder.tick()
        print(json.dumps({"held": holder.held, "ended": holder.ended}), flush=True)


@contextlib.contextmanager
def controller(folder: Path) -> Iterator[tuple[str, int]]:
    """Run a server and a controller; yield the address and the process of the controller."""
    command = [sys.executable, "-m", "lanesum.cli"]
    control = f"unix:{folder}/server.sock"
    with Supervisor(folder / "logs") as supervisor:
        server = supervisor.start("server", [*command, "server", "--listen", "127.0.0.1:0", "--control", control])
        supervisor.wait_ready(server)
        listen = [*command, "controller", "--server", control, "--listen", "127.0.0.1:0"]
        child = supervisor.start("controller", listen)
        supervisor.wait_ready(child)
        assert child.log is not None
        line = next(one for one in child.log.read_text().splitlines() if one.startswith(READY))
        yield line.split()[-1], child.process.pid


def _rss_mib(process: int) -> float:
    (line,) = (one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def measure(idle: int, slow: int, seconds: float) -> dict[str, Any]:
    """Hold the connections while two workers of a job live; return figures about both."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        address, process = stack.enter_context(controller(folder))
        rpc.call(address, rpc.ADMIT, {"name": "job", "workers": ["w1", "w2"], "lease_s": LEASE_S, "slots": 8})
        lives = []
        for worker in range(2):
            about = {"job": "job", "worker": worker, "protocol": VERSION, "claimant": claimant()}
            reply = rpc.call(address, rpc.JOIN, about)
            ticket = JobTicket.from_json(reply["ticket"])
            lives.append(stack.enter_context(KeepAlive(ticket, address)))
        before, _ = _calls(lives[0], 1.0)
        memory = _rss_mib(process)
        command = [sys.executable, "-m", "tests.attack.held", "--attack", address]
        command += ["--idle", str(idle), "--slow", str(slow)]
        held: list[dict[str, int]] = [{"held": 0, "ended": 0}]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as attacker:
            assert attacker.stdin is not None and attacker.stdout is not None
            lines = attacker.stdout
            reader = threading.Thread(target=lambda: held.extend(map(json.loads, lines)), daemon=True)
            reader.start()
            while max(one["held"] for one in held) < 0.95 * (idle + slow) and attacker.poll() is None:
                time.sleep(0.1)
            during, failed = _calls(lives[0], seconds)
            grown = _rss_mib(process) - memory
            attacker.stdin.close()
            attacker.wait()
            reader.join()
        events = [one["what"] for one in rpc.call(address, rpc.EVENTS, {})["events"]]
        return {
            "held": max(one["held"] for one in held),
            "ended by the controller": held[-1]["ended"],
            "jobs": [one["name"] for one in rpc.call(address, rpc.JOBS, {})["jobs"]],
            "events of loss": [one for one in events if ("lost" in one and "worker" in one) or "lease" in one],
            "superseded": any(one.superseded for one in lives),
            "calls": len(during),
            "failed calls": failed,
            "call before, ms": _spread(before),
            "call during, ms": _spread(during),
            "memory, MiB": round(grown, 1),
        }


def _calls(life: KeepAlive, seconds: float) -> tuple[list[float], int]:
    """Ask for the state again and again, each time by a new connection; return the times in ms, and the failures."""
    times, failed = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        try:
            life.check(timeout_s=120.0)
            times.append(1000 * (time.monotonic() - begin))
        except rpc.ControllerError:
            failed += 1
        time.sleep(0.02)
    return times, failed


def _spread(times: list[float]) -> dict[str, float]:
    if not times:
        return {}
    ordered = sorted(times)
    return {
        "median": round(statistics.median(ordered), 1),
        "99 %": round(ordered[int(0.99 * (len(ordered) - 1))], 1),
        "maximum": round(ordered[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", help="only hold connections to this address")
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    if options.attack:
        attack(options.attack, options.idle, options.slow)
    else:
        print(json.dumps(measure(options.idle, options.slow, options.seconds), indent=2))


if __name__ == "__main__":
    main()
