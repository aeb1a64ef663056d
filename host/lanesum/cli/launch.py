# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum launch``: run a training script under torchrun, with all parts that it needs."""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from lanesum import environment
from lanesum.cli.app import ArgumentParser
from lanesum.errors import ConfigurationError, MissingToolError


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    options = ArgumentParser(
        prog="lanesum launch",
        allow_abbrev=False,
        description="Start what is missing (server, controller, switch), admit a job, and run a script under torchrun.",
    )
    add = options.add_argument
    add(
        "--nproc",
        "--nproc-per-node",
        dest="nproc_per_node",
        metavar="N",
        help="ranks on this machine, or auto, gpu, cpu (default: 1)",
    )
    add(
        "--spawn", action="store_true", help="run the script once: it starts its N ranks by torch.multiprocessing.spawn"
    )
    add(
        "--switch",
        metavar="NAME",
        help="switch on the path of the packets: embedded, or a switch target (default: none, the server sums)",
    )
    add("--codec", help="codec of the job, also with parameters: 'thc error=0.01' (default: LANESUM_CODEC, else thc)")
    add("--job", metavar="NAME", help="name of the job")
    add("--seed", type=int, help="seed of the job's random bits (default: random)")
    add(
        "--controller",
        metavar="HOST:PORT",
        help="running controller; several machines need one (default: LANESUM_CONTROLLER)",
    )
    machines = options.add_argument_group("machines", "By default those of PET_*, Slurm or Kubernetes variables.")
    add = machines.add_argument
    add("--nnodes", metavar="N", help="number of machines, or a range such as 2:4")
    add("--node-rank", metavar="N", help="number of this machine")
    add("--rdzv-endpoint", metavar="HOST:PORT", help="where the machines meet, the same on all of them")
    add("--rdzv-id", metavar="NAME", help="name of the run at the rendezvous")
    add("--master-addr", metavar="HOST", help="address of machine 0, instead of a rendezvous")
    add("--master-port", metavar="PORT", help="port at machine 0")
    add("--max-restarts", type=int, default=0, metavar="N", help="restarts of all ranks after a failure (default: 0)")
    options.add_argument("-m", "--module", action="store_true", help="SCRIPT is a module, as with python -m")
    options.add_argument("script", metavar="SCRIPT", help="training script")
    options.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the script")
    return options


def main(argv: Sequence[str]) -> int:
    """Run the script; return its exit status.

    Raises:
        ConfigurationError: an option or the script cannot be used.
        MissingToolError: a package is missing.
        ProcessFailedError: a part ended.
        ControllerError: the controller refuses the job, or does not answer.
    """
    from lanesum.launch.launcher import launch
    from lanesum.launch.nodes import LaunchNodes

    options = parser().parse_args(argv)
    options.controller = options.controller or os.environ.get(environment.CONTROLLER)
    if options.controller and options.switch:
        raise ConfigurationError("--switch is for a controller that launch starts.", "Leave out one of the two.")
    if options.max_restarts < 0:
        raise ConfigurationError(f"Invalid --max-restarts {options.max_restarts}: expected 0 or more.")
    nodes = LaunchNodes.of(options, os.environ)
    if not nodes.alone and options.seed is not None:
        raise ConfigurationError(
            "--seed is for a job on one machine.", "Admit the job with lanesum job admit --seed, and name it by --job."
        )
    if not nodes.alone and not options.controller:
        raise ConfigurationError(
            "Several machines need a controller that all of them reach.",
            "Start it (lanesum controller), and give each launch --controller HOST:PORT.",
        )
    if not options.module and not Path(options.script).is_file():
        raise ConfigurationError(f"There is no script {options.script!r}.", "Options of lanesum launch precede it.")
    if importlib.util.find_spec("torch") is None:
        raise MissingToolError("The package torch is not installed.", 'Run: pip install "lanesum[torch]".')
    return launch(options, nodes)
