# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The harness as a child process, with a stand-in for it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_lab.tofino_model import harness as harness_module
from lanesum_lab.tofino_model.harness import Harness, Progress, TofinoModelError
from tests.lab.tofino_model.stand_in import stand_in


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Harness(stand_in(tmp_path), tmp_path, scratch) as running:
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


def test_ended_process_raises(harness: Harness) -> None:
    with pytest.raises(TofinoModelError, match=r"The model's harness ended with status 3\. Last errors: "):
        harness.run(["end"])


def test_process_killed_between_calls_raises(harness: Harness) -> None:
    harness._process.send_signal(signal.SIGKILL)
    harness._process.wait()
    with pytest.raises(TofinoModelError, match="ended with status -9"):
        harness.run(["check_counter a"])


def test_commands_beyond_a_pipe_run(harness: Harness) -> None:
    assert harness.run(["check_counter " + "a" * 1000] * 200) == "packets=1\n" * 200


def test_process_that_computes_without_end_raises(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness_module, "_MAX_PROCESSOR_S", 0.05)
    monkeypatch.setattr(harness_module, "_LOOK_S", 0.0)
    with pytest.raises(TofinoModelError, match=r"was not at rest after \d+\.\d s of processor time"):
        harness.run(["compute"])


@pytest.mark.parametrize("commands", [["next"], ["next " * 1000] * 100], ids=["few", "beyond-a-pipe"])
def test_process_that_reads_no_command_raises(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, commands: list[str]
) -> None:
    harness.run(["sleep"])
    monkeypatch.setattr(harness_module, "_MAX_IDLE_S", 0.05)
    monkeypatch.setattr(harness_module, "_LOOK_S", 0.0)
    with pytest.raises(
        TofinoModelError, match=r"had no processor time for \d+\.\d s, with [1-9]\d* bytes of commands unread"
    ):
        harness.run(commands)


def test_progress_has_no_limit_by_the_clock() -> None:
    progress = Progress(0.0, 7.0)
    assert [progress.stall(hour * 3600.0, 7.0 + hour) for hour in range(100)] == [""] * 100
    assert progress.stall(100 * 3600.0, 607.0) == ""
    assert progress.stall(100 * 3600.0 + 1, 608.0) == "was not at rest after 601.0 s of processor time"


def test_progress_without_processor_time_is_limited_by_clock() -> None:
    progress = Progress(50.0, 7.0)
    assert progress.stall(649.0, 7.0) == ""
    assert progress.stall(651.0, 7.0) == "was not at rest, and had no processor time for 601.0 s"
    assert progress.stall(651.0, 7.01) == ""
