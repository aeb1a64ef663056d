# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Machines of a launch, from options and from the environments of torchrun, Slurm and Kubernetes."""

from __future__ import annotations

import os

import pytest

from lanesum.cli.launch import parser
from lanesum.errors import ConfigurationError
from lanesum.launch.nodes import LaunchNodes, first_host

SLURM = {
    "SLURM_JOB_NUM_NODES": "3",
    "SLURM_JOB_NODELIST": "gpu[07-08],login",
    "SLURM_NODEID": "1",
    "SLURM_JOB_ID": "42",
}


def nodes(*options: str, **variables: str) -> LaunchNodes:
    return LaunchNodes.of(parser().parse_args([*options, "train.py"]), variables)


def test_nodes_without_environment_are_one_machine() -> None:
    found = nodes("--nproc", "4")
    assert (found.nproc, found.alone) == (4, True)
    assert "--rdzv-endpoint=127.0.0.1:0" in found.options and "--nproc-per-node=4" in found.options


def test_nodes_spawning_script_is_run_once() -> None:
    found = nodes("--nproc", "4", "--spawn")
    assert found.nproc == 4 and "--nproc-per-node=1" in found.options


def test_nodes_options_are_those_of_torchrun() -> None:
    found = nodes("--nnodes", "2:4", "--nproc", "1", "--rdzv-endpoint", "a:29400", "--rdzv-id", "run")
    assert not found.alone
    assert set(found.options) == {
        "--nnodes=2:4",
        "--rdzv-endpoint=a:29400",
        "--rdzv-id=run",
        "--rdzv-backend=c10d",
        "--nproc-per-node=1",
    }


def test_nodes_of_torchrun_variables() -> None:
    found = nodes(PET_NNODES="2", PET_NODE_RANK="1", PET_MASTER_ADDR="a", PET_NPROC_PER_NODE="2")
    assert found.nproc == 2
    assert {"--nnodes=2", "--node-rank=1", "--master-addr=a"} <= set(found.options)
    found = nodes("--nnodes", "3", PET_NNODES="2", PET_RDZV_ENDPOINT="a:1", PET_MASTER_ADDR="b", PET_MASTER_PORT="2")
    expected = {"--nnodes=3", "--rdzv-endpoint=a:1", "--rdzv-backend=c10d", "--nproc-per-node=1"}
    assert set(found.options) == expected  # torchrun refuses a master besides a rendezvous


def test_nodes_of_slurm_meet_at_first_machine() -> None:
    found = nodes(**SLURM)
    assert {"--nnodes=3", "--node-rank=1", "--rdzv-endpoint=gpu07:29400", "--rdzv-id=42"} <= set(found.options)
    assert nodes("--nnodes", "1", **SLURM).alone
    with pytest.raises(ConfigurationError, match=r"Slurm started 12 tasks on 3 machines. .* srun --ntasks-per-node=1"):
        nodes(**SLURM, SLURM_STEP_NUM_NODES="3", SLURM_STEP_NUM_TASKS="12")


@pytest.mark.parametrize("name", ["SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"])
@pytest.mark.parametrize("value", ["three", "-2", "2.5", "1e3", "\u00b2"])
def test_nodes_of_slurm_without_a_number_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"number of machines {value!r} is no number. Give --nnodes"):
        nodes(**{**SLURM, name: value})


def test_nodes_of_kubernetes_variables_are_machines() -> None:
    found = nodes(WORLD_SIZE="2", RANK="1", MASTER_ADDR="job-0", MASTER_PORT="23456")
    assert set(found.options) == {
        "--nnodes=2",
        "--node-rank=1",
        "--master-addr=job-0",
        "--master-port=23456",
        "--nproc-per-node=1",
    }
    assert nodes(WORLD_SIZE="1", RANK="0", MASTER_ADDR="job-0").alone


def test_nodes_several_machines_without_address_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"No address is known at which 2 machines meet. Give --rdzv-endpoint"):
        nodes("--nnodes", "2")


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_nodes_invalid_nproc_is_refused(number: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--nproc '{number}': expected a positive number of processes"):
        nodes(f"--nproc={number}")


@pytest.mark.parametrize(
    ("text", "gpus", "number"), [("auto", 0, os.cpu_count()), ("auto", 3, 3), ("gpu", 3, 3), ("cpu", 3, os.cpu_count())]
)
def test_nodes_nproc_counts_gpus_and_processors(
    monkeypatch: pytest.MonkeyPatch, text: str, gpus: int, number: int
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    found = nodes("--nproc", text)
    assert found.nproc == number and f"--nproc-per-node={number}" in found.options


def test_nodes_nproc_gpu_without_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ConfigurationError, match="--nproc gpu: PyTorch finds no GPU"):
        nodes("--nproc", "gpu")


@pytest.mark.parametrize(
    ("hosts", "first"),
    [("a", "a"), ("a,b", "a"), ("n[03-05,9],b7", "n03"), ("n[1,3]-ib,b", "n1-ib"), ("a-b.c,d[1-2]", "a-b.c")],
)
def test_first_host_of_slurm_list(hosts: str, first: str) -> None:
    assert first_host(hosts) == first


def test_first_host_of_unreadable_list_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"list of machines '\[1-2\]' cannot be read"):
        first_host("[1-2]")
