# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a chip: usable ports for hosts, and recirculation ports."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lanesum.errors import ConfigurationError
from lanesum_fabric.program.capabilities import RECIRCULATION
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.tofino.chips import PORTS_PER_PIPE, pipe_of

_PORTS_THERE = 72  # port numbers of a pipe


def recirculation_ports(pipeline: CompiledPipeline, wanted: Iterable[int] | None = None) -> tuple[int, ...]:
    """Return the recirculation ports of a switch with ``pipeline``, at most one per pipe.

    ``wanted``: configured ports; None for the chip's default ones in all pipes that run the program. A pipe without one
    does not take over entries of other jobs, and gets no jobs if contributions need several passes. Raises
    ConfigurationError for a port that cannot recirculate, or a second one of a pipe.
    """
    if pipeline.chip is None or not pipeline.names.has_table(RECIRCULATION):
        if wanted:
            raise ConfigurationError(
                f"{pipeline.json_path.name} does not recirculate: it needs no recirculation ports.",
                "Leave them out of the switch's configuration.",
            )
        return ()
    there = {port for port in pipeline.chip.recirculation_ports if pipe_of(port) in pipeline.pipes}
    ports = tuple(sorted(there)) if wanted is None else tuple(wanted)
    unknown = [port for port in ports if port not in there]
    if unknown:
        raise ConfigurationError(
            f"Port {unknown[0]} is no recirculation port of {pipeline.chip.title}.",
            f"It has {', '.join(map(str, sorted(there)))}, one in each pipe.",
        )
    if len(set(ports)) < len(ports):
        raise ConfigurationError(f"A recirculation port is named twice: {', '.join(map(str, ports))}.")
    return ports


def check_ports(pipeline: CompiledPipeline, used: Collection[int]) -> None:
    """Check that hosts and switches can be attached to the ports in ``used``. Raises ConfigurationError."""
    if pipeline.chip is None:
        return
    for port in sorted(used):
        if pipe_of(port) not in pipeline.pipes or port % PORTS_PER_PIPE >= _PORTS_THERE:
            raise ConfigurationError(
                f"{pipeline.chip.title} has no port {port}.",
                f"Give the switch's links the chip's numbers: pipe ({', '.join(map(str, pipeline.pipes))}) times "
                f"{PORTS_PER_PIPE}, and a number below {_PORTS_THERE}.",
            )
        if port in pipeline.chip.recirculation_ports:
            raise ConfigurationError(
                f"Port {port} is the recirculation port of pipe {pipe_of(port)} of {pipeline.chip.title}.",
                "Give the link another port.",
            )
