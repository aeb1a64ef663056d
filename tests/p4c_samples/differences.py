# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted differences of the embedded switch from BMv2, which a comparison must find.

``python -m tests.p4c_samples.differences [--programs COUNT] [--bmv2]`` plants each of them in a process of its own and
counts the random programs until the comparison finds it. The other switch is BMv2, or else an embedded switch as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.p4c_samples.comparison import (
    ComparedSwitch,
    Comparison,
    Effort,
    Pair,
    PortFrame,
    bmv2,
    embedded,
)
from tests.p4c_samples.random_programs import random_program
from tests.planted.bug import Bug, bugs
from tests.planted.planting import functions_of_process, in_process
from tests.planted.switch_bugs import SWITCH_BUGS
from tests.softswitch.p4runtime.client import Client

ROOT = Path(__file__).parents[2]
EFFORT = Effort(rounds=2, updates=40, packets=25)
_SWITCH = "softswitch/lanesum_switch"

_NEW = (
    *bugs(
        "parser",
        f"{_SWITCH}/compiler/parser.py",
        (
            "a header is extracted from a packet with a byte too few",
            'with self.context.writer.block(f"if frame_length < {end}:"):',
            'with self.context.writer.block(f"if frame_length < {end} - 1:"):',
        ),
        (
            "the mask of a transition is ignored",
            'tests.append(f"{code} & {mask & full:#x} == {value & mask}")',
            'tests.append(f"{code} == {value & mask}")',
        ),
        ("a failed verify has no effect", 'f"if not ({code}):"', 'f"if False and ({code}):"'),
        ("lookahead reads the bits before", 'code = f"{code} >> {shift}"', 'code = f"{code} >> {shift + 1}"'),
    ),
    *bugs(
        "pipeline",
        f"{_SWITCH}/compiler/v1model.py",
        (
            "a copy begins with the headers of the copy before",
            'writer.line("several = len(targets) > 1")',
            'writer.line("several = False")',
        ),
        ("a truncated packet has a byte more", "data = data[:truncated]", "data = data[:truncated + 1]"),
        ("clones lose the values of a field list", "writer.line(self.layout.store(ref, value))", "pass"),
        (
            "a replica has another instance",
            'self._put("egress_rid", "rid", 32)',
            'self._put("egress_rid", "rid + 1", 32)',
        ),
    ),
    *bugs(
        "primitives",
        f"{_SWITCH}/compiler/primitives.py",
        ("a push shifts in the order of a pop", "self._shift(elements[::-1], number)", "self._shift(elements, number)"),
    ),
    *bugs(
        "expressions",
        f"{_SWITCH}/compiler/expressions.py",
        (
            "a shift to the right is one bit short",
            'code = f"{a} >> {b}" if b.low >= 0',
            'code = f"{a} >> {b} >> 1" if b.low >= 0',
        ),
    ),
    *bugs(
        "control",
        f"{_SWITCH}/compiler/control_blocks.py",
        ("direct counters count packets twice", "{state}[0] += 1;", "{state}[0] += 2;"),
    ),
)
_OF_CATALOGUE = (
    "a deleted entry still matches",
    "a difference is never negative",
    "a value is one bit too wide",
    "a field is given twice",
    "a parameter of another action is ignored",
)

DIFFERENCES = (*_NEW, *(one for one in SWITCH_BUGS if one.name in _OF_CATALOGUE))


def plant(bug: Bug) -> None:
    """Plant a difference in this process. Raises RuntimeError if no function of the process contains it."""
    if not in_process(bug, (ROOT / bug.file).read_text(), ROOT, functions_of_process()):
        raise RuntimeError(f"{bug.name}: {bug.file} is not loaded here.")


class Planted:
    """A switch with a planted difference, in another process."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._process = process
        self._ask(f"start {address}")
        self.client = Client(address)

    def exchange(self, port: int, frame: bytes, expected: int = 0) -> list[PortFrame]:
        found = (item.split(":") for item in self._ask(f"{port} {frame.hex()}").split())
        return [(int(out), bytes.fromhex(data)) for out, data in found]

    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self.client.close()
        self._ask("stop")

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"The switch has ended at {line[:80]!r}.")
        return answer.strip()


@contextlib.contextmanager
def pairs(
    bug: Bug, other: Callable[[], AbstractContextManager[ComparedSwitch]]
) -> Iterator[Callable[[], AbstractContextManager[Pair]]]:
    """Yield a function that starts a switch with the difference, and the other one."""
    command = [sys.executable, "-m", "tests.p4c_samples.planted_switch", bug.name]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process,
    ):
        numbers = itertools.count()

        @contextlib.contextmanager
        def pair() -> Iterator[Pair]:
            with contextlib.closing(Planted(process, f"unix:{folder}/{next(numbers)}")) as ours, other() as theirs:
                yield ours, theirs

        try:
            yield pair
        finally:
            process.kill()


def programs_until_found(
    bug: Bug,
    count: int,
    other: Callable[[], AbstractContextManager[ComparedSwitch]] = embedded,
    effort: Effort = EFFORT,
) -> int | None:
    """Return how many random programs, from seed 0, find a difference; None if ``count`` do not."""
    with pairs(bug, other) as pair:
        for seed in range(count):
            if Comparison(random_program(seed), seed, pair, effort).run():
                return seed + 1
    return None


def main(arguments: list[str]) -> int:
    """Print the number of programs for each difference; return 1 if one is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.p4c_samples.differences", description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="random programs for each difference, at most")
    parser.add_argument("--bmv2", action="store_true", help="compare with simple_switch_grpc, which must be on PATH")
    options = parser.parse_args(arguments)
    missed = 0
    for bug in DIFFERENCES:
        found = programs_until_found(bug, options.programs, bmv2 if options.bmv2 else embedded)
        missed += found is None
        print(f"{bug.name}: {'not found' if found is None else f'found by program {found}'}", flush=True)
    print(f"{len(DIFFERENCES) - missed} of {len(DIFFERENCES)} differences found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
