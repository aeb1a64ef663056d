# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cores that a process may use, from trees of files like the kernel's, and the threads chosen from them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lanesum import environment
from lanesum._internal import processors
from lanesum.codecs.kernels import dispatch
from lanesum.doctor import software
from lanesum.errors import ConfigurationError


@pytest.fixture(autouse=True)
def sixteen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixteen processors without hyperthreads and without control groups."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    for name in ("_TOPOLOGY", "_GROUPS", "_OWN_GROUPS"):
        monkeypatch.setattr(processors, name, tmp_path / name)
    ranks = (environment.SPAWNED_RANKS, environment.LOCAL_WORLD_SIZE)
    for variable in (environment.THREADS, environment.TRANSPORT_THREADS, *ranks):
        monkeypatch.delenv(variable, raising=False)
    processors._chosen_by.cache_clear()
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def siblings(root: Path, processor: int, text: str) -> None:
    write(root / f"_TOPOLOGY/cpu{processor}/topology/thread_siblings_list", text)


def test_hyperthreads_of_one_core_count_once(sixteen: Path) -> None:
    assert processors.usable_cores() == 16
    for processor in range(16):
        siblings(sixteen, processor, f"{processor % 8},{processor % 8 + 8}\n")
    assert processors.usable_cores() == 8


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "450000 100000", "cpu.max": "max 100000"}, 4),
        ("0::/elsewhere/of/host\n", {"cpu.max": "50000 100000\n"}, 1),
        ("3:cpu,cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": "200000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 2),
        ("3:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 16),
        ("0::/\n", {"cpu.max": "nonsense\n"}, 16),
        ("2:memory:/a\n", {"cpu.max": "100000 100000\n"}, 16),
    ],
)
def test_quota_of_innermost_and_outer_groups_limits_cores(
    own: str, files: dict[str, str], cores: int, sixteen: Path
) -> None:
    write(sixteen / "_OWN_GROUPS", own)
    for name, text in files.items():
        write(sixteen / "_GROUPS" / name, text)
    assert processors.usable_cores() == cores


@pytest.mark.parametrize(
    ("ranks", "number", "transport"),
    [(None, 1, 1), ("1", 4, 2), ("4", 4, 2), ("5", 3, 1), ("8", 1, 1), ("32", 1, 1)],
)
def test_default_threads_divide_cores_among_ranks(
    ranks: str | None, number: int, transport: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ranks is not None:
        monkeypatch.setenv(environment.LOCAL_WORLD_SIZE, ranks)
    chosen = processors.thread_choice()
    assert chosen.number == dispatch.threads() == number
    assert processors.transport_thread_choice() == (transport, chosen.reason)
    assert chosen.reason == (
        f"usable cores: 16, ranks of this host: {ranks}"
        if ranks
        else "LOCAL_WORLD_SIZE does not say how many ranks share the host"
    )
    found = [finding.what for finding in software.threads()]
    assert found == [f"{number} ({chosen.reason}).", f"{transport} ({chosen.reason})."]


def test_default_threads_divide_cores_among_spawned_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script of ``launch --spawn`` is the only process of torchrun on its host."""
    monkeypatch.setenv(environment.LOCAL_WORLD_SIZE, "1")
    monkeypatch.setenv(environment.SPAWNED_RANKS, "5")
    assert processors.thread_choice() == (3, "usable cores: 16, ranks of this host: 5")


def test_given_threads_outrank_cores_and_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.LOCAL_WORLD_SIZE, "4")
    monkeypatch.setenv(environment.THREADS, "31")
    assert processors.thread_choice() == (31, "LANESUM_THREADS says so")
    monkeypatch.setenv(environment.TRANSPORT_THREADS, "24")
    assert processors.transport_thread_choice() == (24, "LANESUM_TRANSPORT_THREADS says so")


@pytest.mark.parametrize("text", ["0", "-1", "many", "", "1.5"])
def test_invalid_number_of_ranks_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.LOCAL_WORLD_SIZE, text)
    with pytest.raises(ConfigurationError, match=f"Invalid LOCAL_WORLD_SIZE='{text}': expected an integer from 1 to"):
        dispatch.threads()
    found, _ = software.threads()
    assert found.status.value == "problem" and "expected an integer from 1 to 65536" in found.what
