# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Floods of callers without identity at a controller with TLS and tokens, while a job lives and metrics are scraped.

``python -m tests.attack.floods --seconds 60`` (``make floods``) prints a row for each flood: the time of a member's
calls by new connections, that of scrapes, the growth of the controller's memory, and the time of the first call after
the flood. The attacker has addresses of its own and speaks HTTP/2 by hand, see ``tests.raw_http2``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest.mock
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.cli.signals import READY, raise_file_limit
from lanesum.keep_alive import KeepAlive, claimant
from lanesum.launch.supervisor import Child, Supervisor
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.transport.ticket import JobTicket
from lanesum_lab.run.site import rank_environment
from lanesum_lab.train.progress import ENV_STEP_FILE, StepFile
from tests.attack.held import _rss_mib, _spread
from tests.free_ports import free_ports
from tests.raw_http2 import CONTINUATION, HEADERS, PREFACE, RST_STREAM, frame, headers, message
from tests.waiting import wait_until

LEASE_S = 5.0
FRONT = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
SOURCES = ("127.0.0.8", "127.0.0.9")
_PATH = f"/{rpc.SERVICE}/{rpc.KEEPALIVE}".encode()
_CANCEL = struct.pack(">I", 8)
_BLOCK = b"\x00\x01a\x01b" * 3000  # fields of headers, as literals
_SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: "
_CALLS_OF_CONNECTION = 50

Chunks = Iterator[bytes]


def trickle() -> Chunks:
    """A record of TLS that never ends: six bytes a second."""
    yield b"\x16\x03\x01\x02\x00\x01"
    while True:
        yield b"\0" * 6


def open_calls() -> Chunks:
    """Calls without a token whose messages never arrive."""
    yield PREFACE
    for number in range(_CALLS_OF_CONNECTION):
        yield headers(_PATH, 1 + 2 * number)
    while True:
        yield b""


def continuation() -> Chunks:
    """Headers that never end."""
    yield PREFACE + frame(HEADERS, 0, 1, _BLOCK)
    while True:
        yield frame(CONTINUATION, 0, 1, _BLOCK)


def rapid_reset() -> Chunks:
    """Calls that are cancelled at once."""
    yield PREFACE
    stream = 1
    while True:
        batch = []
        for _ in range(100):
            batch += [headers(_PATH, stream), frame(RST_STREAM, 0, stream, _CANCEL)]
            stream += 2
        yield b"".join(batch)


def wrong_tokens() -> Chunks:
    """Calls with an unknown token: a front passes them on."""
    yield PREFACE
    fields = ((b"authorization", b"Bearer wrong"),)
    for number in range(40):
        stream = 1 + 2 * number
        yield headers(_PATH, stream, fields) + message(b"{}", stream)
    while True:
        yield b""


def many_headers() -> Chunks:
    """Calls with as many headers as a frame holds."""
    yield PREFACE
    stream = 1
    while True:
        yield headers(_PATH, stream, ((b"a", b"b"),) * 1800)
        stream += 2


def slow_scrapes() -> Chunks:
    """Requests of metrics that never end."""
    yield _SCRAPE
    while True:
        yield b"x"


class Flood:
    """A flood: its bytes, its connections, and whether each begins with TLS and pauses a second between two chunks."""

    def __init__(self, chunks: Callable[[], Chunks], connections: int, *, tls: bool, paced: bool) -> None:
        self.chunks, self.connections, self.tls, self.paced = chunks, connections, tls, paced


FLOODS = {
    "trickle": Flood(trickle, 200, tls=False, paced=True),
    "open calls": Flood(open_calls, 20, tls=True, paced=False),
    "continuation": Flood(continuation, 8, tls=True, paced=False),
    "rapid reset": Flood(rapid_reset, 8, tls=True, paced=False),
    "wrong tokens": Flood(wrong_tokens, 8, tls=True, paced=False),
    "many headers": Flood(many_headers, 8, tls=True, paced=False),
    "slow scrapes": Flood(slow_scrapes, 32, tls=True, paced=True),
}
# The floods of a controller's own address; metrics have no front.
PROXIED = tuple(name for name in FLOODS if name != "slow scrapes")


class _Peer:
    """One connection of a flood; each is opened again when it ends."""

    def __init__(self, flood: Flood, address: tuple[str, int], source: str) -> None:
        self._flood, self._address, self._source = flood, address, source

    def run(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                self._send()
            time.sleep(0.05)

    def _send(self) -> None:
        with socket.create_connection(self._address, 10.0, (self._source, 0)) as plain:
            if not self._flood.tls:
                self._feed(plain)
                return
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            with context.wrap_socket(plain) as session:
                self._feed(session)

    def _feed(self, to: socket.socket) -> None:
        waiting = selectors.DefaultSelector()
        waiting.register(to, selectors.EVENT_READ)
        to.settimeout(10.0)
        for chunk in self._flood.chunks():
            if chunk:
                to.sendall(chunk)
            if self._flood.paced or not chunk:
                time.sleep(1.0)
            if waiting.select(0) and not to.recv(1 << 16):
                return


def attack(name: str, address: str) -> None:
    """Flood an address until the end of standard input."""
    raise_file_limit()
    host, _, port = address.rpartition(":")
    flood = FLOODS[name]
    for number in range(flood.connections):
        peer = _Peer(flood, (host, int(port)), SOURCES[number % len(SOURCES)])
        threading.Thread(target=peer.run, daemon=True).start()
    sys.stdin.read()


@dataclass(frozen=True)
class Observed:
    """Calls of members, scrapes of an operator and steps of a training; times in ms."""

    calls: list[float]
    failed_calls: int
    scrapes: list[float]
    failed_scrapes: int
    peak_mib: float
    steps_per_s: float


class Site:
    """A controller with TLS and tokens, a server, and a job of two workers that live.

    Args:
        folder: for files.
        stack: ends the processes.
        proxied: callers reach the controller through the front of ``deploy/haproxy``.
        training: four workers train a second job.

    Attributes:
        address, metrics: addresses of the controller, or of its front, and of its metrics.
        processes: ids of the controller's process, and of its front.
    """

    def __init__(
        self, folder: Path, stack: contextlib.ExitStack, *, proxied: bool = False, training: bool = False
    ) -> None:
        command = [sys.executable, "-m", "lanesum.cli"]
        subprocess.run([*command, "certs", "init", folder / "certs"], check=True, stdout=subprocess.DEVNULL)
        tokens, own = folder / "tokens", folder / "token"
        add = [*command, "token", "add", tokens, "root", "--role", "operator", "--out", own]
        subprocess.run(add, check=True, stdout=subprocess.DEVNULL)
        stack.enter_context(unittest.mock.patch.dict(os.environ, {environment.TOKEN_FILE: str(own)}))
        control = f"unix:{folder}/server.sock"
        supervisor = stack.enter_context(Supervisor(folder / "logs"))
        server = supervisor.start("server", [*command, "server", "--loopback", "--control", control])
        supervisor.wait_ready(server)
        self.metrics = f"127.0.0.1:{free_ports(1, socket.SOCK_STREAM)[0]}"
        listen = [*command, "controller", "--server", control, "--listen", "127.0.0.1:0", "--metrics", self.metrics]
        listen += ["--loopback"]
        listen += ["--tls", str(folder / "certs" / "controller"), "--no-client-certs", "--tokens", str(tokens)]
        child = supervisor.start("controller", listen)
        supervisor.wait_ready(child)
        assert child.log is not None
        line = next(one for one in child.log.read_text().splitlines() if one.startswith(READY))
        self.address, self.processes = line.split()[-1], [child.process.pid]
        if proxied:
            self.address = self._front(folder, stack)
        stack.enter_context(unittest.mock.patch.dict(os.environ, {environment.TLS: str(folder / "certs" / "operator")}))
        self._context = ssl.create_default_context(cafile=folder / "certs" / "operator" / "ca.crt")
        self._context.load_cert_chain(
            folder / "certs" / "operator" / "tls.crt", folder / "certs" / "operator" / "tls.key"
        )
        rpc.call(self.address, rpc.ADMIT, {"name": "job", "workers": ["w1", "w2"], "lease_s": LEASE_S, "slots": 8})
        self.lives = []
        for worker in range(2):
            about = {"job": "job", "worker": worker, "protocol": VERSION, "claimant": claimant()}
            ticket = JobTicket.from_json(rpc.call(self.address, rpc.JOIN, about)["ticket"])
            self.lives.append(stack.enter_context(KeepAlive(ticket, self.address)))

        self.steps = folder / "steps"
        self.ranks = self._train(folder, supervisor) if training else []

    def _train(self, folder: Path, supervisor: Supervisor) -> list[Child]:
        """Start a training of four workers; return its processes once it has taken a step."""
        workers = [f"w{number}" for number in range(1, 5)]
        request = {"name": "training", "workers": workers, "lease_s": 60.0, "slots": 64, "codec": "thc"}
        rpc.call(self.address, rpc.ADMIT, request)
        command = [sys.executable, "-m", "lanesum_lab.train.rank", "digits", "--steps", "1000000", "--out", str(folder)]
        store = ("127.0.0.1", free_ports(1, socket.SOCK_STREAM)[0])
        ranks = []
        for rank, worker in enumerate(workers):
            variables = rank_environment(rank, len(workers), store) | {
                environment.CONTROLLER: self.address,
                environment.JOB: "training",
                "GLOO_SOCKET_IFNAME": "lo",
                "OMP_NUM_THREADS": "1",
                ENV_STEP_FILE: str(self.steps),
            }
            ranks.append(supervisor.start(worker, command, environment=variables))
        wait_until(lambda: StepFile.read(self.steps) or any(one.process.poll() is not None for one in ranks))
        return ranks

    def trained(self) -> int:
        """Return the completed steps of the training. Raises AssertionError if a worker has ended."""
        for one in self.ranks:
            assert one.process.poll() is None, one.log and one.log.read_text()
        return StepFile.read(self.steps) or 0

    def _front(self, folder: Path, stack: contextlib.ExitStack) -> str:
        """Start HAProxy in front of the controller; return its address."""
        own = folder / "certs" / "controller"
        pem = folder / "front.pem"
        pem.write_text((own / "tls.crt").read_text() + (own / "tls.key").read_text())
        address = f"127.0.0.1:{free_ports(1, socket.SOCK_STREAM)[0]}"
        variables = {
            "LANESUM_FRONT": address,
            "LANESUM_CONTROLLER": self.address,
            "LANESUM_CERTIFICATE": str(pem),
            "LANESUM_CA": str(own / "ca.crt"),
            "LANESUM_NAME": "localhost",
        }
        front = subprocess.Popen(["haproxy", "-db", "-f", str(FRONT)], env={**os.environ, **variables})
        stack.callback(front.wait)
        stack.callback(front.terminate)
        self.processes.append(front.pid)
        host, _, port = address.rpartition(":")
        wait_until(lambda: front.poll() is not None or _answers(host, int(port)))
        assert front.poll() is None, f"haproxy refused {FRONT}"
        return address

    def memory_mib(self) -> float:
        """Return the resident memory of the controller and its front."""
        return sum(_rss_mib(process) for process in self.processes)

    def call(self) -> None:
        """Ask for the state of the job by a new connection."""
        self.lives[0].check(timeout_s=60.0)

    def scrape(self) -> None:
        """Read the metrics."""
        with urllib.request.urlopen(f"https://{self.metrics}/metrics", timeout=60, context=self._context) as answer:
            answer.read()

    def observe(self, seconds: float) -> Observed:
        """Call and scrape again and again, and read the steps of the training and the controller's memory."""
        scraped: list[tuple[list[float], int]] = []
        scraper = threading.Thread(target=lambda: scraped.append(self.times(self.scrape, seconds)))
        steps, begin, peak = self.trained(), time.monotonic(), self.memory_mib()
        scraper.start()
        calls: list[float] = []
        failed = 0
        while time.monotonic() < begin + seconds:
            more, lost = self.times(self.call, 0.5)
            calls, failed, peak = calls + more, failed + lost, max(peak, self.memory_mib())
        steps_per_s = (self.trained() - steps) / (time.monotonic() - begin)
        scraper.join()
        (scrapes, failed_scrapes), *_ = scraped
        return Observed(calls, failed, scrapes, failed_scrapes, peak, steps_per_s)

    def times(self, what: Callable[[], None], seconds: float) -> tuple[list[float], int]:
        """Do it again and again; return the times in ms, and the failures."""
        found, failed = [], 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            try:
                what()
                found.append(1000 * (time.monotonic() - begin))
            except (rpc.ControllerError, OSError):
                failed += 1
            time.sleep(0.05)
        return found, failed


def _answers(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1.0):
        return True
    return False


def measure(name: str, seconds: float, *, proxied: bool = False, training: bool = False) -> dict[str, Any]:
    """Run a flood, and return figures of the calls beside it. ``proxied``, ``training``: see ``Site``."""
    with contextlib.ExitStack() as stack:
        site = Site(
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-"))),
            stack,
            proxied=proxied,
            training=training,
        )
        # The same beside no flood, for a comparison under the same load of the machine.
        before = site.observe(seconds / 2)
        target = site.metrics if name == "slow scrapes" else site.address
        command = [sys.executable, "-m", "tests.attack.floods", "--attack", name, "--address", target]
        with subprocess.Popen(["nice", "-n", "19", *command], stdin=subprocess.PIPE) as attacker:
            assert attacker.stdin is not None
            time.sleep(1.0)
            during = site.observe(seconds)
            attacker.stdin.close()
            attacker.kill()
            attacker.wait()
        begin = time.monotonic()
        site.call()
        events = [one["what"] for one in rpc.call(site.address, rpc.EVENTS, {})["events"]]
        return {
            "flood": name,
            "calls": len(during.calls),
            "failed calls": during.failed_calls,
            "call before, ms": _spread(before.calls),
            "call during, ms": _spread(during.calls),
            "scrape before, ms": _spread(before.scrapes),
            "scrape during, ms": _spread(during.scrapes),
            "failed scrapes": during.failed_scrapes,
            "memory, MiB": round(during.peak_mib - before.peak_mib, 1),
            "steps a second": [round(one.steps_per_s, 1) for one in (before, during)],
            "first call after, ms": round(1000 * (time.monotonic() - begin), 1),
            "events of loss": [one for one in events if ("lost" in one and "worker" in one) or "lease" in one],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", help="only run this flood")
    parser.add_argument("--address", help="with --attack: address of the service")
    parser.add_argument("--floods", nargs="*", default=list(FLOODS))
    parser.add_argument("--proxied", action="store_true", help="through the front of deploy/haproxy")
    parser.add_argument("--training", action="store_true", help="beside a training of four workers")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    if options.attack:
        attack(options.attack, options.address)
        return
    for name in [one for one in options.floods if not options.proxied or one in PROXIED]:
        print(
            json.dumps(measure(name, options.seconds, proxied=options.proxied, training=options.training)), flush=True
        )


if __name__ == "__main__":
    main()
