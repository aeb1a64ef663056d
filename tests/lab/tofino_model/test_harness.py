# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The harness as a child process: a stand-in answers packets late, from a thread of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_lab.tofino_model.errors import TofinoModelError
from lanesum_lab.tofino_model.harness import Harness

# The thread computes for a while before each copy, as the model does.
_STAND_IN = """#!{python}
import queue, sys, threading

packets = queue.SimpleQueue()

def copy(log):
    while True:
        port, frame = packets.get()
        for copy in range(3):
            sum(range(300_000))
            log.write(f"{{port + copy}} {{frame.upper()}}\\n")
            log.flush()

threading.Thread(target=copy, args=(open(sys.argv[sys.argv.index("--observation-log") + 1], "a"),), daemon=True).start()
print("loading prints a warning", file=sys.stderr, flush=True)
for line in sys.stdin:
    match line.split():
        case ["packet", port, frame]:
            packets.put((int(port), frame))
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
        assert harness.exchange([(number, frame)]) == [(number + copy, frame) for copy in range(3)]


def test_exchange_of_several_frames_returns_all_copies(harness: Harness) -> None:
    frames = [(number, bytes([number, 0xAB])) for number in range(4)]
    assert harness.exchange(frames) == [(port + copy, frame) for port, frame in frames for copy in range(3)]


def test_run_returns_the_printed_text(harness: Harness) -> None:
    assert harness.run(["check_counter a", "check_counter b"]) == "packets=1\npackets=1\n"


def test_refused_command_raises_with_its_error(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match="refused a command: Unknown command nonsense"):
        harness.run(["nonsense"])
    assert harness.run(["nonsense"], harmless="Unknown command") == ""


def test_busy_process_raises(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lanesum_lab.tofino_model.harness._TIMEOUT_S", -1.0)
        with pytest.raises(TofinoModelError, match=r"was not at rest within -1 s, with \d+ bytes unread"):
            harness.run(["check_counter a"])


def test_ended_process_raises(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match=r"The model's harness ended with status 3\. Last errors: "):
        harness.run(["end"])
