# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Elastic torchrun and Ray Train return the slots of their jobs: at the end, and when workers or all are killed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.conftest import Site, check, needs, output_of, start, start_torchrun

pytestmark = pytest.mark.long

OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def arguments(site: Site, folder: Path, steps: int) -> list[str]:
    return [f"--controller={site.address}", f"--checkpoints={folder}", f"--steps={steps}"]


def test_elastic_restart_is_a_new_incarnation(site: Site, tmp_path: Path) -> None:
    """Rank 1 is killed before step 12; both ranks continue from their checkpoints of step 10."""
    needs()
    options = [*arguments(site, tmp_path, steps=20), "--crash-at=12"]
    output = output_of(start_torchrun("train_elastic.py", *options, options=("--max-restarts=1",), **OWN_STORE))
    assert "restart 0: from step 0\n" in output and "restart 1: from step 10\n" in output
    check(output, min_buckets=10)
    assert site.max_jobs() == 1
    site.lapse()


def test_launch_restarts_killed_rank_in_its_job(site: Site, tmp_path: Path) -> None:
    needs()
    script = ["examples/train_elastic.py", *arguments(site, tmp_path, steps=20), "--crash-at=12"]
    launch = ["-m", "lanesum.cli", "launch", f"--controller={site.address}", "--nproc=2", "--max-restarts=1"]
    output = output_of(start([*launch, *script]))
    assert "restart 1: from step 10\n" in output
    check(output, min_buckets=10)
    assert site.max_jobs() == 1 and site.jobs() == []


def test_killed_elastic_training_returns_its_slots(site: Site, tmp_path: Path) -> None:
    needs()
    options = arguments(site, tmp_path, steps=10**6)
    training = start_torchrun("train_elastic.py", *options, options=("--max-restarts=1",), **OWN_STORE)
    site.kill(training, with_descendants=True)


@pytest.mark.timeout(600)  # Ray starts a dozen processes
def test_ray_example_goes_on_after_kill(site: Site, tmp_path: Path) -> None:
    """Rank 1 is killed before step 12; Ray starts both ranks again from the last checkpoint that it has stored."""
    needs("ray", "pyarrow")
    options = [*arguments(site, tmp_path, steps=20), "--crash-at=12"]
    output = output_of(start(["examples/train_ray.py", *options]), timeout_s=550)
    # Ray may print a line of a worker twice.
    output = "\n".join(dict.fromkeys(output.splitlines()))
    assert "from step 0\n" in output and re.search(r"from step (5|10)\n", output), output
    check(output, min_buckets=10)
    assert site.max_jobs() == 1
    site.lapse()


@pytest.mark.timeout(600)
def test_killed_ray_training_returns_its_slots(site: Site, tmp_path: Path) -> None:
    needs("ray", "pyarrow")
    training = start(["examples/train_ray.py", *arguments(site, tmp_path, steps=10**6)])
    site.kill(training, with_descendants=True)
