# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The harness as a child process: a stand-in answers packets late, from a thread of its own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_lab.tofino_model.errors import TofinoModelError
from lanesum_lab.tofino_model.harness import Harness

# The thread computes for a while before each copy, as the model does.
_STAND_IN = """#!{python}
import queue, sys, threading, time

packets = queue.SimpleQueue()

def copy(log):
    while True:
        port, frame = packets.get()
        for copy in range(3):
            sum(range(300_000))
            log.write(f"{{port + copy}} {{frame.upper()}}\\n")
            log.flush()

waiting = queue.SimpleQueue()

def poll():
    while True:
        time.sleep(0.001)
        if not waiting.empty():
            packets.put(waiting.get())

threading.Thread(target=copy, args=(open(sys.argv[2], "a"),), daemon=True).start()
print("loading prints a warning", file=sys.stderr, flush=True)
for line in sys.stdin:
    match line.split():
        case ["packet", port, frame]:
            packets.put((int(port), frame))
        case ["recirculate", port, frame]:
            waiting.put((int(port), frame))
        case ["poll"]:
            threading.Thread(target=poll, daemon=True).start()
        case ["check_counter", *_]:
            print("packets=1", flush=True)
        case ["end"]:
            sys.exit(3)
        case _:
            print("Unknown command", line.strip(), file=sys.stderr, flush=True)
"""


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    program, scratch = tmp_path / "program", tmp_path / "scratch"
    program.write_text(_STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    scratch.mkdir()
    with Harness(str(program), tmp_path, scratch) as running:
        yield running


def test_exchange_waits_for_the_last_copy(harness: Harness) -> None:
    for number in range(5):
        frame = bytes([number, 0xAB])
        assert harness.exchange(number, frame) == [(number + copy, frame) for copy in range(3)]


def test_polling_thread_is_waited_for(harness: Harness) -> None:
    """The thread takes a packet when it wakes next, while all other threads sleep."""
    harness.start_polling(["poll"])
    for number in range(5):
        harness.run([f"recirculate {number} AB"])
        assert harness.exchange(9, b"\1") == [(number + copy, b"\xab") for copy in range(3)] + [
            (9 + copy, b"\1") for copy in range(3)
        ]


class _SlowlyRead:
    """A process that works until 29.9 ms, recirculates a packet at 31 ms, and then works until 100 ms.

    Reading status number ``slow`` takes 30 ms, as on a busy machine.
    """

    def __init__(self, now: float, slow: int) -> None:
        self.now, self.slow, self.reads = now, slow, 0

    def status(self, task: str) -> str:
        working = self.now < 29.9 or 31 <= self.now < 100
        switches = {"polling": int(self.now), "working": 1 if self.now < 31 else 2}.get(task, 0)
        state = "R" if task == "working" and working else "S"
        self.now += 30 if self.reads == self.slow else 0.01
        self.reads += 1
        return f"State:\t{state}\nvoluntary_ctxt_switches:\t{switches}\n"

    def sleep(self, seconds: float) -> None:
        self.now += 1000 * seconds


def test_packet_that_recirculates_during_a_slow_look_is_waited_for(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The polling thread often sleeps during that look, and takes the packet only after it."""
    monkeypatch.setattr(harness, "_polling", frozenset({"polling"}))
    monkeypatch.setattr(harness, "_tasks", lambda: frozenset({"main", "working", "polling"}))
    for now, slow in itertools.product((0.0, 25.0), range(80)):
        process = _SlowlyRead(now, slow)
        monkeypatch.setattr(harness, "_status", process.status)
        monkeypatch.setattr("lanesum_lab.tofino_model.harness.time.sleep", process.sleep)
        harness.run(())
        assert process.now >= 100
        assert process.reads > slow


def test_polling_thread_that_does_not_start_raises(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match="ended with status 3"):
        harness.start_polling(["end"])


def test_run_returns_the_printed_text(harness: Harness) -> None:
    assert harness.run(["check_counter a", "check_counter b"]) == "packets=1\npackets=1\n"


def test_refused_command_raises_with_its_error(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match="refused a command: Unknown command nonsense"):
        harness.run(["nonsense"])
    assert harness.run(["nonsense"], harmless="Unknown command") == ""


def test_ended_process_raises(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match="ended with status 3"):
        harness.run(["end"])
