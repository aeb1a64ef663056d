# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The training examples of each framework: two workers on loopback, whose replicas agree at the end.

A framework that is not installed is skipped by name.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.examples.conftest import BUCKETS, Site, check, needs, output_of, start, start_program, start_torchrun

pytestmark = pytest.mark.long


def torchrun(script: str, *arguments: str, options: tuple[str, ...] = (), **variables: str) -> str:
    """Run an example with two ranks, and return its output."""
    return output_of(start_torchrun(script, *arguments, options=options, **variables))


@pytest.mark.parametrize("replicas", [2, 4])
def test_fsdp2_example_averages_replicas(site: Site, replicas: int) -> None:
    """Of four ranks: two replicas of two shards, and four of one."""
    needs()
    options = ("--nproc-per-node=4",)
    output = torchrun(
        "train_fsdp2.py", f"--controller={site.address}", "--steps=12", f"--replicas={replicas}", options=options
    )
    check(output, min_buckets=12)


def test_gan_example_averages_used_gradients(site: Site) -> None:
    """The critic has gradients in the step of the generator, too; they are not averaged."""
    needs()
    output = torchrun("train_gan.py", f"--controller={site.address}", "--steps=12", LANESUM_STEP_ASIDE="off")
    assert BUCKETS.findall(output) == ["12", "12"]
    assert output.count("replicas agree: True") == 2


def test_resume_example_with_other_workers(site: Site, tmp_path: Path) -> None:
    needs()
    arguments = (f"--controller={site.address}", f"--checkpoints={tmp_path}", "--steps=8")
    for workers, said in [
        (2, "2 workers: from step 0, error feedback of 0"),
        (2, "2 workers: from step 8, error feedback of 2"),
        (3, "3 workers: from step 16, error feedback of 2"),
        (1, "1 workers: from step 24, error feedback of 3"),
    ]:
        output = torchrun("train_resume.py", *arguments, options=(f"--nproc-per-node={workers}",))
        assert said in output
        check(output, min_buckets=8)


def test_lightning_callback_attaches_lanesum(site: Site, tmp_path: Path) -> None:
    needs("lightning")
    output = torchrun("train_lightning.py", f"--controller={site.address}", "--steps=12", f"--out={tmp_path}")
    check(output, min_buckets=12)
    (figures,) = tmp_path.rglob("metrics.csv")
    assert "chunks_by_server" in figures.read_text()


def test_accelerate_example_attaches_lanesum(site: Site) -> None:
    needs("accelerate")
    check(torchrun("train_accelerate.py", f"--controller={site.address}", "--steps=12"), min_buckets=12)


def test_hf_trainer_callback_attaches_lanesum(site: Site, tmp_path: Path) -> None:
    needs("transformers", "accelerate")
    output = torchrun("train_hf_trainer.py", f"--controller={site.address}", "--steps=10", f"--out={tmp_path}")
    check(output, min_buckets=10)
    assert "'chunks_by_server'" in output


@pytest.mark.parametrize("framework", ["lightning", "accelerate"])
def test_scaler_of_framework_is_followed_by_residuals(site: Site, framework: str) -> None:
    """Its scale changes in every step, and every other step is skipped."""
    needs(framework)
    output = torchrun("../tests/examples/scaled_steps.py", framework, site.address)
    found = re.findall(r"unexplained ([\d.]+), residual ([\d.]+)", output)  # lines of two ranks may be joined
    assert len(found) == 2, output
    for unexplained, residual in found:
        assert float(unexplained) < 1e-4 < 1e-2 < float(residual)


@pytest.mark.parametrize("algorithm", ["ddp", "diloco"])
def test_torchft_example_goes_on_after_kill(algorithm: str) -> None:
    """A replica is killed after its first step, and another one takes its place and catches up."""
    needs("torchft")
    from torchft.coordination import LighthouseServer

    lighthouse = LighthouseServer("127.0.0.1:0", 2, join_timeout_ms=1000, heartbeat_timeout_ms=1000)
    port = lighthouse.address().rpartition(":")[2]
    common = ["examples/train_torchft.py", f"--lighthouse=http://127.0.0.1:{port}", f"--algorithm={algorithm}"]
    victim = start([*common, "--replica=2", "--steps=100000"])
    others = [start([*common, "--replica=0", "--steps=300"])]
    with ThreadPoolExecutor(2) as readers:  # a replica stops once its pipe is full
        outputs = [readers.submit(output_of, others[0])]
        assert victim.stdout is not None
        assert any("should_commit=true" in line for line in victim.stdout)
        victim.kill()
        others.append(start([*common, "--replica=1", "--steps=300"]))
        outputs.append(readers.submit(output_of, others[1]))
        victim.communicate()
    lighthouse.shutdown()
    texts = [output.result() for output in outputs]
    hashes = [re.findall(r"^300 steps with 2 replicas, weights (\w{16})$", one, re.M) for one in texts]
    assert len(hashes[0]) == 1 and hashes[0] == hashes[1], texts


_SRUN = """#!/bin/sh
# One task on each node, as srun starts them.
for node in 0 1; do SLURM_NODEID=$node SLURM_PROCID=$node "$@" & tasks="$tasks $!"; done
for task in $tasks; do wait "$task" || exit 1; done
"""


def test_slurm_batch_file_trains_on_two_nodes(site: Site, tmp_path: Path) -> None:
    """With a stand-in of srun; both nodes are this host."""
    needs()
    here = f'#!/bin/sh\nexec "{sys.executable}" -m lanesum.cli "$@"\n'
    for name, text in {"srun": _SRUN, "lanesum": here}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(stat.S_IRWXU)
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LANESUM_CONTROLLER": site.address,
        "SLURM_JOB_ID": "1",
        "SLURM_JOB_NODELIST": "127.0.0.1,127.0.0.2",
        "SLURM_JOB_NUM_NODES": "2",
    }
    check(output_of(start_program(["bash", "examples/slurm.sbatch", "--steps=12"], variables)), min_buckets=12)


def test_slurm_batch_file_without_controller_says_so() -> None:
    process = start_program(["bash", "examples/slurm.sbatch"], {"LANESUM_CONTROLLER": ""})
    output, _ = process.communicate(timeout=250)
    assert process.returncode != 0
    assert "LANESUM_CONTROLLER: set it to HOST:PORT of the controller" in output
