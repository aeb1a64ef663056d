# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counts and failures that the ranks leave for the launcher, and the line made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum.launch.launcher import StatusLine
from lanesum.launch.run_folder import RunFolder


def test_first_failure_is_that_of_the_last_attempt(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.first_failure() is None
    for attempt, ranks in [(0, (3, 1)), (9, (2, 0)), (10, (1, 2))]:
        folder.begin_attempt(attempt)
        folder.begin_attempt(attempt)
        assert folder.first_failure() is None
        for rank in ranks:
            folder.record_failure(rank, f"error of {rank}")
        assert folder.first_failure() == {"rank": ranks[0], "what": f"error of {ranks[0]}"}


def test_failure_before_any_attempt_is_kept(tmp_path: Path) -> None:
    RunFolder(tmp_path).record_failure(0, "It ended with exit code 1.")
    assert RunFolder(tmp_path).first_failure() == {"rank": 0, "what": "It ended with exit code 1."}


def test_stats_are_those_of_every_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANESUM_RUN_FOLDER", str(tmp_path))
    folder = RunFolder.of_environment()
    assert folder == RunFolder(tmp_path)
    folder.write_stats(0, {})
    folder.write_stats(1, {"steps": 2})
    folder.write_stats(0, {"steps": 3})
    assert list(folder.stats().values()) == [{"steps": 3}, {"steps": 2}]
    monkeypatch.delenv("LANESUM_RUN_FOLDER")
    assert RunFolder.of_environment() is None


def test_stats_of_vanished_folder_are_dropped(tmp_path: Path) -> None:
    RunFolder(tmp_path / "gone").write_stats(0, {})


def test_status_adds_up_bytes_and_names_savings(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    status = StatusLine(folder)
    assert status.summary() == ""
    folder.write_stats(0, {})  # a worker without DDP
    assert status.summary() == "1 worker joined the job"
    counts = {"steps": 10, "bytes_fp32": 4_000_000, "bytes_up": 500_000, "packets_sent": 400, "retransmissions": 1}
    counts |= {"chunks_by_switch": 3, "chunks_by_server": 1}
    for worker in range(2):
        folder.write_stats(worker, counts)
    line = "10 steps, 1 MB sent instead of 8 MB as float32, 88% saved, 2 retransmissions (0.2%)"
    line += ", summed by switch 75% and server 25%"
    assert status.summary() == line
    folder.write_stats(0, {**counts, "bytes_up": 9_000_000})
    assert "9.5 MB sent instead of 8 MB as float32, 2 ret" in status.summary()
    folder.write_stats(1, {**counts, "group_steps": 4})
    assert status.summary().endswith(", 4 steps averaged by the process group")


@pytest.mark.parametrize(
    ("counts", "rates"),
    [
        # Restarted ranks count their steps from zero; their job may have another number.
        ([(7, {"steps": 60}), (7, {"steps": 120}), (7, {"steps": 30})], ["1.0 steps/s", "1.0 steps/s", "0.5 steps/s"]),
        ([(7, {"steps": 60}), (8, {"steps": 30})], ["1.0 steps/s", "0.5 steps/s"]),
        # Before its first step, a script may have reduced tensors.
        (
            [(7, {"all_reduces": 60, "steps": 0}), (7, {"all_reduces": 90, "steps": 6})],
            ["1.0 all-reduces/s", "0.1 steps/s"],
        ),
        ([(7, {}), (7, {"all_reduces": 60, "steps": 0})], ["0.0 steps/s", "1.0 all-reduces/s"]),
    ],
)
def test_status_rate_is_that_of_the_last_seconds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    counts: list[tuple[int, dict[str, int]]],
    rates: list[str],
) -> None:
    now = 0.0
    monkeypatch.setattr("lanesum.launch.launcher.time.monotonic", lambda: now)
    folder = RunFolder(tmp_path)
    status = StatusLine(folder)
    for job, one in counts:
        folder.write_stats(0, one, job)
        now += 60.0
        status.tick()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1].split(",")[0] for line in lines] == rates


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"[1]", b"[" * 100_000, b'{"steps": "x", "bytes_up": null}', b'{"steps": NaN}', b"1" * 5000],
)
def test_files_written_incompletely_are_left_out(data: bytes, tmp_path: Path) -> None:
    """A rank may be killed while it writes."""
    folder = RunFolder(tmp_path)
    folder.write_stats(0, {"steps": 3, "packets_sent": 2})
    for name in ("worker-1.json", "failure.json"):
        (tmp_path / name).write_bytes(data)
    assert list(folder.stats().values()) == [{"steps": 3, "packets_sent": 2}, {}]
    assert folder.first_failure() is None
    assert StatusLine(folder).summary().startswith("3 steps")
