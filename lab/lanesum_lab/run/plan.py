# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a run: task, runner and switch, decided and checked before any process starts."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanesum import codecs
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES, WORD_BYTES
from lanesum_control.errors import AdmissionError
from lanesum_fabric.topology import Topology, load
from lanesum_lab import targets, veth
from lanesum_lab.builds.rates import WIRE_OVERHEAD
from lanesum_lab.run.options import RunOptions
from lanesum_lab.targets import SwitchTarget
from lanesum_switch.faults.plan import FaultPlan, Names
from lanesum_switch.faults.topology_names import names_in
from lanesum_switch.ports.topology import check_apart

Runner = Literal["loopback", "mininet"]
TOPOLOGY = "topology.yaml"  # in the folder of a run with other servers than those of its topology
MININET_PROGRAMS = ("mnexec", "ip")
RUNNERS: tuple[Runner, ...] = ("loopback", "mininet")
DEFAULT_SWITCH = "embedded"
NO_SWITCH = "none"  # the aggregation server sums


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """Plan of a run.

    Attributes:
        options: what the plan was made of. Equal seeds give equal weights, order of the data and random bits.
        why: reason for the choice of runner and switch, one sentence.
        switch: kind of switch; None where the aggregation server sums everything.
        out: folder of the report, absolute.
        link_mbit: rate of all links in each direction, in both trainings; None does not limit them.
        link_why: reason for this rate, or for no limit, one sentence.
    """

    options: RunOptions
    topology: Topology
    topology_source: str  # name or file, for the processes that read it again
    runner: Runner
    switch: SwitchTarget | None
    why: str
    workers: tuple[str, ...]
    out: Path
    faults: FaultPlan | None
    link_mbit: float | None
    link_why: str

    @property
    def switches(self) -> list[str]:
        """Names of the switches that the run starts."""
        return [] if self.switch is None else self.topology.switches()

    @property
    def servers(self) -> dict[str, str]:
        """Host of every aggregation server, by the name of its process."""
        return dict(zip(self.topology.server_names(), self.topology.server_hosts(), strict=True))

    @property
    def links(self) -> list[str]:
        """Names of the run's links in fault plans."""
        return sorted(names_in(self.topology, switches=bool(self.switches)).links)

    @property
    def target(self) -> str:
        """Description of the aggregation point for reports."""
        summed_by = "aggregation server, no switch," if self.switch is None else self.switch.description
        return f"{summed_by} on {self.runner}"


def mininet_obstacle() -> str:
    """Return the reason why Mininet cannot be used here; empty if it can."""
    if os.geteuid() != 0:
        return "Mininet needs root"
    missing = [program for program in MININET_PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed (apt install mininet iproute2)"
    if mininet_path() is None:
        return "the Python package of Mininet is not installed (apt install mininet)"
    return veth.obstacle() or _host_obstacle()


@functools.cache
def _host_obstacle() -> str:
    """Start a process as Mininet starts its hosts, for whose shells it would wait forever if none can start."""
    probe = subprocess.run(["mnexec", "-n", "true"], capture_output=True, text=True, check=False)
    if probe.returncode == 0:
        return ""
    reason = probe.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return f"Mininet cannot start a host here ({reason[0]})"


def mininet_path() -> Path | None:
    """Return the folder to import ``mininet`` from; Debian installs it for the system's Python only."""
    found = importlib.util.find_spec("mininet")
    if found is not None and found.origin is not None:
        return Path(found.origin).parents[1]
    system = Path("/usr/lib/python3/dist-packages")
    return system if (system / "mininet" / "net.py").exists() else None


def make_plan(options: RunOptions) -> RunPlan:
    """Make a plan; check everything that can be checked before a process starts.

    Without a rate the links have the line rate of the switch (:func:`line_rate_mbit`). Raises ConfigurationError,
    MissingToolError, AdmissionError, TopologyError.
    """
    topology, runner, workers, faults = options.topology, options.runner, options.workers, options.faults
    out = options.out.resolve()
    if topology in RUNNERS:
        topology, runner = "star4", topology
    if runner is not None and runner not in RUNNERS:
        raise ConfigurationError(f"There is no runner {runner!r}.", f"Known runners: {', '.join(RUNNERS)}.")
    if options.epochs < 1:
        raise ConfigurationError(f"epochs = {options.epochs} must be at least 1.")
    network = load(topology)
    hosts = network.names("worker")
    if workers is not None and workers < 1:
        raise ConfigurationError(f"workers = {workers} must be at least 1.")
    chosen = _worker_names(hosts, len(hosts) if workers is None else workers)
    codecs.get(options.codec, workers=len(chosen))  # an unknown codec or too many workers shows before anything starts
    if not 0 <= options.quorum <= len(chosen):
        raise ConfigurationError(f"quorum = {options.quorum} is not between 0 and the {len(chosen)} workers.")
    if options.deadline_s <= 0:
        raise ConfigurationError(f"deadline = {options.deadline_s:g} must be positive.")
    final, target, why = _place(runner, options.switch if network.switches() else _none(network, options.switch))
    if options.servers is not None or options.on_workers:
        network = _with_servers(network, 1 if options.servers is None else options.servers, options.on_workers)
        topology = str(out / TOPOLOGY)  # for the processes that read it
    if final == "loopback" and (target is not None or faults is not None):
        check_apart(network)
    link_mbit, link_why = _link_rate(final, target, network, len(chosen), options.rate_mbit, timed=faults is None)
    planned = None if faults is None else FaultPlan.load(faults, _fault_names(network, target, chosen))
    for fault in planned.processes if planned is not None else ():
        if fault.process in chosen and fault.restart_after_s is not None:
            raise ConfigurationError(
                f"The fault plan starts worker {fault.process} again, but it could not find its way into the training.",
                "Leave restart_after_s out, or pause the worker instead.",
            )
    return RunPlan(
        options=options,
        topology=network,
        topology_source=topology,
        runner=final,
        switch=target,
        why=why,
        workers=chosen,
        out=out,
        faults=planned,
        link_mbit=link_mbit,
        link_why=link_why,
    )


def _none(network: Topology, switch: str | None) -> str:
    """Return the choice of no switch. Raises ConfigurationError for another one in a topology without any."""
    if switch not in (None, NO_SWITCH):
        raise ConfigurationError(f"Topology {network.name} has no switch to run {switch}.", "Leave the switch out.")
    return NO_SWITCH


def _with_servers(topology: Topology, servers: int, on_workers: bool) -> Topology:
    try:
        return topology.with_servers(servers, on_workers=on_workers)
    except ValueError as error:
        raise ConfigurationError(f"servers = {servers}: {error}.") from error


def _fault_names(network: Topology, switch: SwitchTarget | None, workers: Sequence[str]) -> Names:
    """Return the names that a fault plan may use: all links, and the processes of participating workers."""
    names = names_in(network, switches=switch is not None)
    idle = set(network.names("worker")) - set(workers)
    has_registers = switch is not None and switch.injects_faults
    return Names(names.links, names.processes - idle, names.switches if has_registers else frozenset())


def _link_rate(
    runner: Runner, target: SwitchTarget | None, network: Topology, workers: int, asked: float | None, *, timed: bool
) -> tuple[float | None, str]:
    """Choose the rate of the links; the second value is the reason.

    Raises ConfigurationError for a rate that is no rate, MissingToolError for one that cannot be had here.
    """
    if asked is not None and not 0 <= asked < math.inf:
        raise ConfigurationError(f"rate = {asked:g} Mbit/s must be positive, or 0 for links without a limit.")
    if asked == 0:
        return None, "as requested"
    if runner == "loopback" or target is None:
        problem = "loopback has no links"
    elif asked is None and not timed:
        return None, "a run with faults is not timed"
    else:
        problem = veth.rate_obstacle()
    if problem and asked is not None:
        raise MissingToolError(f"The links cannot have {asked:g} Mbit/s: {problem}.", "Leave the rate out.")
    if problem:
        return None, problem
    if asked is not None:
        return asked, "as requested"
    assert target is not None
    inputs = workers + len(network.links_between_switches())
    rate = line_rate_mbit(target, inputs)
    if rate is None:
        return None, f"{target.description} has no known packet rate"
    return rate, f"{target.description} sums all that {inputs} such links bring, as a chip does at 100 Gbit/s"


def _place(runner: str | None, switch: str | None) -> tuple[Runner, SwitchTarget | None, str]:
    """Choose runner and switch target; the third value is the reason."""
    asked = None if switch in (None, NO_SWITCH) else targets.get(str(switch))
    obstacle = mininet_obstacle()
    if runner == "mininet" and obstacle:
        raise MissingToolError(
            f"The Mininet runner cannot be used: {obstacle}.", "Run as root with Mininet, or TOPOLOGY=loopback."
        )
    if switch == NO_SWITCH:
        if runner == "mininet":
            raise ConfigurationError(
                "Without a switch the hosts of a Mininet network cannot reach each other.", "Use TOPOLOGY=loopback."
            )
        return "loopback", None, "as requested"
    if asked is not None and asked.obstacle:
        raise MissingToolError(
            f"{asked.obstacle}.",
            f"Install {asked.description}, which docs/tools.md describes, or choose the embedded switch.",
        )
    if asked is not None and not asked.on_loopback and (runner == "loopback" or obstacle):
        reason = obstacle or "loopback was requested"
        raise ConfigurationError(
            f"{asked.name} needs network interfaces, which only the Mininet runner has ({reason}).",
            "Choose the embedded switch.",
        )
    default = targets.get(DEFAULT_SWITCH)
    if runner == "loopback":
        return "loopback", asked or default, "as requested; only the embedded switch has ports on loopback"
    if obstacle:
        return "loopback", asked or default, obstacle
    reason = "as requested" if runner else "root and Mininet are available"
    if asked is not None:
        return "mininet", asked, f"{reason}; the switch as requested"
    # Prefer a switch of its own over the embedded one.
    preferred = next((target for target in targets.targets() if target.executable), None)
    if preferred is None:
        return "mininet", default, reason
    if preferred.obstacle:
        return "mininet", default, f"{reason}; {preferred.obstacle}"
    return "mininet", preferred, f"{reason}; {preferred.executable} is on PATH"


def _worker_names(hosts: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the first ``count`` of ``hosts``. Raises AdmissionError if there are fewer."""
    if count > len(hosts):
        raise AdmissionError(
            f"{count} workers are asked for, but the topology has {len(hosts)}: {', '.join(hosts)}.",
            "Choose a larger topology or fewer workers.",
        )
    return tuple(hosts[:count])


def line_rate_mbit(target: SwitchTarget, inputs: int) -> float | None:
    """Return the rate of each of ``inputs`` links, in Mbit/s, rounded down to two digits; None if it is not known.

    A software switch is to these links what a chip is to 100 Gbit/s: they bring no more packets than it sums. The
    packets are contributions of ``EXPAND8``, the operation of the default codec. ``inputs``: number of links that bring
    contributions to the switches of the run, which share a machine.
    """
    if target.packets_per_s is None:
        return None
    words = LaneOp.EXPAND8.shape.uplink_words(target.pipeline(None).accumulator_words)
    frame_bits = 8 * (FRAME_OVERHEAD_BYTES + WORD_BYTES * words + WIRE_OVERHEAD)
    rate = target.packets_per_s / inputs * frame_bits / 1e6
    digit = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return math.floor(rate / digit) * digit
