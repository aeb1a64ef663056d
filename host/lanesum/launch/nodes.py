# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Machines of a launch: from the options, else from the environment of torchrun, Slurm or Kubernetes."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lanesum.errors import ConfigurationError

_PORT = 29400  # torchrun's default port of a rendezvous
_ONE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class LaunchNodes:
    """Machines of a launch.

    Attributes:
        nproc: ranks on this machine.
        alone: this is the only machine.
        options: options of torchrun that name the machines and their rendezvous.
    """

    nproc: int
    alone: bool
    options: tuple[str, ...]

    @classmethod
    def of(cls, options: argparse.Namespace, variables: Mapping[str, str]) -> LaunchNodes:
        """Return the machines.

        Options take precedence over PET_NNODES and the like, which torchrun reads, too. Then come the variables of
        Slurm, with one task on each machine, and WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT of Kubernetes, where
        RANK numbers machines. Raises ConfigurationError.
        """

        def value(name: str) -> str | None:
            given = getattr(options, name)
            return variables.get(f"PET_{name.upper()}") if given is None else str(given)

        known = {name: value(name) for name in ("nnodes", "node_rank", "rdzv_endpoint", "rdzv_id")}
        known |= {name: value(name) for name in ("master_addr", "master_port")}
        if not re.fullmatch(r"([1-9]\d*:)?[1-9]\d*", known["nnodes"] or "1"):
            raise ConfigurationError(f"Invalid --nnodes {known['nnodes']!r}: expected a number, or a range as 2:4.")
        nproc = _processes(value("nproc_per_node") or "1")
        processes = f"--nproc-per-node={1 if options.spawn else nproc}"
        if known["nnodes"] is None:
            known = {**known, **{name: one for name, one in _found(variables).items() if known[name] is None}}
        if known["nnodes"] in (None, "1"):
            run = ["--nnodes=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={_ONE}:0", f"--local-addr={_ONE}"]
            return cls(nproc, True, (*run, processes))
        if known["rdzv_endpoint"] is None and known["master_addr"] is None:
            raise ConfigurationError(
                f"No address is known at which {known['nnodes']} machines meet.",
                "Give --rdzv-endpoint HOST:PORT, the same on all of them.",
            )
        if known["rdzv_endpoint"] is not None:
            known |= {"master_addr": None, "master_port": None}
        run = [f"--{name.replace('_', '-')}={one}" for name, one in known.items() if one is not None]
        if known["rdzv_endpoint"] is not None:
            run.append("--rdzv-backend=c10d")
        return cls(nproc, False, (*run, processes))


def _processes(text: str) -> int:
    """Return the number of ranks for ``--nproc``, as torchrun reads it. Raises ConfigurationError."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if text not in ("auto", "gpu", "cpu"):
        raise ConfigurationError(
            f"Invalid --nproc {text!r}: expected a positive number of processes, or one of auto, gpu, cpu."
        )
    import torch  # this takes seconds

    gpus = 0 if text == "cpu" else torch.cuda.device_count()
    if text == "gpu" and gpus == 0:
        raise ConfigurationError("--nproc gpu: PyTorch finds no GPU.", "Use --nproc cpu, or a number.")
    return gpus or os.cpu_count() or 1


def _found(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the machines as Slurm or Kubernetes name them. Raises ConfigurationError."""
    machines = variables.get("SLURM_STEP_NUM_NODES") or variables.get("SLURM_JOB_NUM_NODES") or "1"
    if not machines.isdecimal():
        raise ConfigurationError(
            f"Slurm's number of machines {machines!r} is no number.", "Give --nnodes and --rdzv-endpoint HOST:PORT."
        )
    if int(machines) > 1:
        if variables.get("SLURM_STEP_NUM_TASKS") not in (None, variables.get("SLURM_STEP_NUM_NODES")):
            raise ConfigurationError(
                f"Slurm started {variables['SLURM_STEP_NUM_TASKS']} tasks on "
                f"{variables.get('SLURM_STEP_NUM_NODES')} machines.",
                "Start one launch on each: srun --ntasks-per-node=1 lanesum launch --nproc N ...",
            )
        first = first_host(variables.get("SLURM_STEP_NODELIST") or variables.get("SLURM_JOB_NODELIST", ""))
        return {
            "nnodes": machines,
            "node_rank": variables.get("SLURM_NODEID", "0"),
            "rdzv_endpoint": f"{first}:{_PORT}",
            "rdzv_id": variables.get("SLURM_JOB_ID", "slurm"),
        }
    if "MASTER_ADDR" in variables and variables.get("WORLD_SIZE", "1") != "1":
        found = {"nnodes": variables["WORLD_SIZE"], "node_rank": variables.get("RANK", "0")}
        return {**found, "master_addr": variables["MASTER_ADDR"], "master_port": variables.get("MASTER_PORT", "29500")}
    return {}


def first_host(hosts: str) -> str:
    """Return the first host of a list in Slurm's notation, such as ``a[03-05,9],b7``. Raises ConfigurationError."""
    found = re.match(r"([^\[,\s]+)(?:\[(\d+)[^\]]*\]([^,\[]*))?", hosts)
    if found is None:
        raise ConfigurationError(
            f"Slurm's list of machines {hosts!r} cannot be read.", "Give --rdzv-endpoint HOST:PORT."
        )
    return "".join(part or "" for part in found.groups())
