# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of a fuzzer in a process of its own, what it found, and mutations of bytes."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

MAX_GROWTH_MIB = 64  # of the resident memory over the start of the fuzzer
_ADDRESS_SPACE_BYTES = 1 << 30  # that a single input may take; above it the process gets a MemoryError
_INTERESTING = (0x00, 0x01, 0x7F, 0x80, 0xC3, 0xED, 0xFE, 0xFF, 0x5B, 0x7B, 0x22, 0x2C, 0x30)
_MAX_CHANGES = 4
_MAX_INSERTED = 64


class Budget:
    """Number of inputs, time and memory of a fuzzer; iterate over it for the numbers of the inputs."""

    def __init__(self, count: int, seconds: float, *, limited: bool = True) -> None:
        self._count = count
        self._end = time.monotonic() + seconds
        gc.collect()
        if limited:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + _ADDRESS_SPACE_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew; see proc(5)
        self._start = _peak_mib()

    def __iter__(self) -> Iterator[int]:
        for number in range(self._count):
            if time.monotonic() > self._end:
                return
            yield number

    def growth_mib(self) -> int:
        """Return the peak of the resident memory over that at the start."""
        return _peak_mib() - self._start


def _peak_mib() -> int:
    (line,) = (one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10


class Errors(logging.Handler):
    """Records of exceptions that code logged instead of raising them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # gRPC's own message about a body that is no protobuf message.
        if record.exc_info and record.name != "grpc._common":
            self.found.append(logging.Formatter().format(record))


def options(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the options that all fuzzers have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=1 << 60, help="number of inputs")
    parser.add_argument("--seconds", type=float, default=1e9, help="time after which no input is tried")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random number generator")
    return parser


def report(outcomes: Counter[str], budget: Budget) -> int:
    """Print how many inputs had which outcome, and the memory. Return the exit status: 1 beyond the limit."""
    grown = budget.growth_mib()
    print(json.dumps({**outcomes, "total": outcomes.total(), "peak_mib_over_start": grown}), flush=True)
    return int(grown > MAX_GROWTH_MIB)


def run(module: str, *arguments: str, environment: dict[str, str] | None = None) -> dict[str, int]:
    """Run a fuzzer in a process of its own and return what it printed. Raises AssertionError if it fails."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT, env=environment)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to four changes: flipped bits, other, missing, repeated or further bytes, an early end."""
    out = bytearray(data)
    for _ in range(rng.randint(1, _MAX_CHANGES)):
        at = rng.randrange(len(out) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 32))
        match rng.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(out):
                out[at] = rng.choice(_INTERESTING)
            case 2:
                del out[at : at + length]
            case 3:
                out[at:at] = rng.randbytes(rng.randint(1, _MAX_INSERTED))
            case 4:
                out[at:at] = out[at : at + length] * rng.choice((1, 2, 100))
            case 5:
                out[at : at + length] = bytes([rng.choice(_INTERESTING)]) * length
            case _ if rng.random() < 0.3:
                del out[at:]
    return bytes(out)
