# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Placement: the part of every switch in a job. Pure functions.

All workers at one switch: that switch makes the results. Workers at several switches: each of those sums its rack and
forwards one contribution (role ASCEND); the switch of the first server sums the racks (role UPPER). Where there are
several spines, the one towards a server sums the racks for that server. With a quorum the server decides every chunk,
so only the racks' own switches take part. The server sums every contribution that no switch has consumed.

A job may have several servers; all workers send a chunk to the same one, so switches need no information about them.
But all packets at the upper switch must be on their way to a server there. A worker reaches a server on its own host
without passing a switch, so no switch may wait for it.

A pipe of a switch chip has registers of its own. For a job whose workers are at several pipes of one chip, each pipe is
a rack, and one of them sums the racks, as the upper switch of a tree does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.planner.network import Network
from lanesum_fabric.program.capabilities import GROUPS
from lanesum_fabric.program.switch_job import NO_ROLE, Member, Role
from lanesum_fabric.tofino.chips import pipe_of


@dataclass(frozen=True, slots=True)
class Rack:
    """Workers whose bits share one bitmap.

    Attributes:
        switch: their switch.
        workers: their numbers in the job; the index is the bit.
        summed: the switch can sum them as one member of the upper one; workers at the upper switch are racks of their
            own and need no summing.
    """

    switch: str
    workers: tuple[int, ...]
    summed: bool = True


@dataclass(frozen=True, slots=True)
class Assignment:
    """A job's part at one switch; the fields are those of ``SwitchJob``."""

    switch: str
    members: tuple[Member, ...]
    role: Role = NO_ROLE
    threshold: int = 0
    uplinks: tuple[int, ...] = ()
    combining_pipe: int | None = None

    def needs(self, *, looks_up: bool) -> dict[str, int]:
        """Return the entries that the job needs at the switch, by table; see ``P4RuntimeSwitch.job_entities``."""
        hosts = sum(len(member.hosts) for member in self.members)
        by_pipe = self.combining_pipe is not None
        other_pipes = [member for member in self.members if by_pipe and member.aggregate]
        return {
            "member": hosts + sum(len(member.hosts) for member in other_pipes),
            "receiver": hosts if by_pipe else len(self.members),
            "descend": len(self.uplinks),
            "lookup": int(looks_up),
            GROUPS: 1 + len(other_pipes),
        }


@dataclass(frozen=True, slots=True)
class Placement:
    """Aggregation points of a job.

    Attributes:
        places: (rack, bit) of every worker, as in tickets; empty with one level.
        assignments: parts of the switches, racks first; empty if the server does everything.
        left_out: reasons why the other switches on the job's paths take no part.
    """

    places: tuple[tuple[int, int], ...]
    assignments: tuple[Assignment, ...]
    left_out: Mapping[str, Reason]


def racks_of(hosts: Sequence[str], network: Network) -> tuple[Rack, ...]:
    """Return the workers at ``hosts`` by number, in racks. They depend on the topology alone, not on outages.

    Raises AdmissionError if they do not fit the racks of a packet.
    """
    by_switch: dict[str, list[int]] = {}
    for worker, host in enumerate(hosts):
        by_switch.setdefault(network.at[host], []).append(worker)
    racks = _racks(by_switch, network.upper, direct=len(by_switch) > 1)
    if len(racks) > MAX_RACKS:
        racks = _racks(by_switch, network.upper, direct=False)
    if len(racks) > MAX_RACKS:
        raise AdmissionError(
            f"{len(hosts)} workers are {len(racks)} racks of at most {MAX_WORKERS}, but a packet names {MAX_RACKS}.",
            "Use fewer workers, or spread them over fewer switches.",
        )
    return racks


def _racks(by_switch: Mapping[str, list[int]], upper: str, *, direct: bool) -> tuple[Rack, ...]:
    """Return the racks.

    ``direct``: every worker at the upper switch is a rack of its own, as a member of that switch.
    """
    racks = []
    for switch, workers in by_switch.items():
        if switch == upper and direct:
            racks += [Rack(switch, (worker,)) for worker in workers]
            continue
        pieces = [tuple(workers[at : at + MAX_WORKERS]) for at in range(0, len(workers), MAX_WORKERS)]
        summed = len(pieces) == 1 and (len(by_switch) == 1 or switch != upper)
        racks += [Rack(switch, piece, summed) for piece in pieces]
    return tuple(racks)


def place(
    hosts: Sequence[str],
    network: Network,
    *,
    quorum: int,
    udp_port: int,
    unavailable: Mapping[str, Reason],
    chips: Collection[str] = (),
    number: int = 0,
) -> Placement:
    """Decide where a job with workers at ``hosts`` is summed.

    Args:
        hosts: names, one worker each; the order defines the workers' numbers.
        network: hosts, switches and links.
        quorum: contributions that complete a result; 0 means all.
        udp_port: source port of the workers.
        unavailable: switches that cannot take the job, with the reason.
        chips: switches whose pipes have registers of their own.
        number: number of the job. Pipes with equally many workers combine the sums of different jobs in turn.

    Raises AdmissionError if the workers do not fit the bitmaps of a packet.
    """
    # With a quorum the server would sum the pipes' sums.
    if not quorum and (pipes := _pipes(hosts, network, chips, number)) is not None:
        return _place_in_pipes(hosts, network, pipes, udp_port, unavailable)
    racks = racks_of(hosts, network)
    if not network.switches:
        return Placement(_places(racks), (), {})
    if own := [host for host in hosts if host in network.server_hosts]:
        why = Reason(Cause.SAME_HOST, f"{own[0]} reaches the server on its own host without it")
        unavailable = dict.fromkeys(network.switches, why)
    if len(racks) == 1:
        (rack,) = racks
        if rack.switch in unavailable:
            return Placement((), (), {rack.switch: unavailable[rack.switch]})
        members = _workers_as_members(rack, hosts, network, udp_port)
        role = Role.ASCEND | Role.QUORUM if quorum else NO_ROLE
        return Placement((), (Assignment(rack.switch, members, role, threshold=quorum),), {})
    below, left_out = _rack_assignments(racks, hosts, network, quorum, udp_port, unavailable)
    upper, why_not = _second_level(racks, network, quorum, unavailable, left_out)
    above = [_upper_assignment(name, racks, hosts, network, udp_port) for name in upper]
    return Placement(_places(racks), (*below, *above), {**left_out, **why_not})


def _places(racks: Sequence[Rack]) -> tuple[tuple[int, int], ...]:
    """Return (rack, bit) of every worker by number; empty with one rack."""
    places = {worker: (number, bit) for number, rack in enumerate(racks) for bit, worker in enumerate(rack.workers)}
    return () if len(racks) == 1 else tuple(places[worker] for worker in sorted(places))


def _workers_as_members(rack: Rack, hosts: Sequence[str], network: Network, udp_port: int) -> tuple[Member, ...]:
    seen = network.seen[rack.switch]
    return tuple(
        Member(bit, (seen[hosts[worker]],), udp_port, numbers=(worker,)) for bit, worker in enumerate(rack.workers)
    )


def _rack_assignments(
    racks: Sequence[Rack],
    hosts: Sequence[str],
    network: Network,
    quorum: int,
    udp_port: int,
    unavailable: Mapping[str, Reason],
) -> tuple[list[Assignment], dict[str, Reason]]:
    """Return the first level, each rack's own switch, and the reasons why some of them take no part."""
    assignments: list[Assignment] = []
    left_out: dict[str, Reason] = {}
    for rack in racks:
        if rack.switch == network.upper and rack.summed:
            continue
        if not rack.summed:
            count = sum(len(one.workers) for one in racks if one.switch == rack.switch)
            why = f"it has {count} of the job's workers, and a bitmap holds {MAX_WORKERS}"
            if rack.switch == network.upper and count <= MAX_WORKERS:
                why = f"its {count} workers and the racks are more members than {MAX_RACKS}"
            left_out[rack.switch] = Reason(Cause.BITMAP, why)
        elif rack.switch in unavailable:
            left_out[rack.switch] = unavailable[rack.switch]
        else:
            members = _workers_as_members(rack, hosts, network, udp_port)
            role = Role.ASCEND | Role.QUORUM if quorum else Role.ASCEND
            uplinks = () if quorum else network.uplinks(rack.switch)
            assignments.append(Assignment(rack.switch, members, role, uplinks=uplinks))
    return assignments, left_out


def _second_level(
    racks: Sequence[Rack],
    network: Network,
    quorum: int,
    unavailable: Mapping[str, Reason],
    left_out: Mapping[str, Reason],
) -> tuple[list[str], dict[str, Reason]]:
    """Return the switches that sum the racks, and the reasons why others take no part.

    Servers may be behind different spines, each of which sums the packets to its own ones. The switch of the servers
    takes the place of a spine that cannot; only where neither can, the servers sum the racks.
    """
    upper: list[str] = []
    why_not: dict[str, Reason] = {}
    for candidates in network.combining([rack.switch for rack in racks]):
        reasons = {name: _why_not_above(name, racks, network, quorum, unavailable, left_out) for name in candidates}
        chosen = next((name for name, reason in reasons.items() if reason is None), None)
        if chosen is None:
            why_not |= {name: reason for name, reason in reasons.items() if reason is not None}
        elif chosen not in upper:
            upper.append(chosen)
    return upper, {name: reason for name, reason in why_not.items() if name not in upper}


def _why_not_above(
    name: str,
    racks: Sequence[Rack],
    network: Network,
    quorum: int,
    unavailable: Mapping[str, Reason],
    left_out: Mapping[str, Reason],
) -> Reason | None:
    """Return a reason against the second level at a switch: a rack that is not summed is no member there."""
    if name in left_out:
        return left_out[name]
    if name in unavailable:
        return unavailable[name]
    if quorum:
        return Reason(Cause.QUORUM, "with a quorum the server decides")
    if beside := network.beside_upper([rack.switch for rack in racks]):
        return Reason(Cause.BYPASSED, f"some packets bypass it: the server at {beside[0]} is linked to another switch")
    missing = [rack.switch for rack in racks if rack.switch in left_out]
    if missing:
        text = f"its results would lack the workers at {', '.join(dict.fromkeys(missing))}"
        return Reason(Cause.INCOMPLETE, text)
    return None


def _upper_assignment(
    name: str, racks: Sequence[Rack], hosts: Sequence[str], network: Network, udp_port: int
) -> Assignment:
    seen = network.seen[name]
    members = tuple(
        Member(
            number,
            tuple(seen[hosts[worker]] for worker in rack.workers),
            udp_port,
            aggregate=rack.switch != name,
            numbers=rack.workers,
        )
        for number, rack in enumerate(racks)
    )
    return Assignment(name, members, Role.UPPER)


@dataclass(frozen=True, slots=True)
class _Pipes:
    """Pipes of ``switch`` with workers of a job; ``combining``: the one that sums the partial sums of the others."""

    switch: str
    numbers: tuple[int, ...]
    combining: int

    def name(self, pipe: int) -> str:
        return f"pipe {pipe} of {self.switch}"


def _pipes(hosts: Sequence[str], network: Network, chips: Collection[str], number: int) -> _Pipes | None:
    """Return the pipes of a job; None if its workers are at one pipe, or at several switches.

    They depend on topology and job alone, as ``racks_of``.
    """
    switch = network.at[hosts[0]]
    if switch not in chips or any(network.at[host] != switch for host in hosts):
        return None
    counts = Counter(pipe_of(network.seen[switch][host].port) for host in hosts)
    if len(counts) == 1:
        return None
    # Workers of the combining pipe need no partial sum, so it is one with the largest number of workers.
    largest = sorted(pipe for pipe, count in counts.items() if count == max(counts.values()))
    return _Pipes(switch, tuple(sorted(counts)), largest[number % len(largest)])


def _place_in_pipes(
    hosts: Sequence[str], network: Network, pipes: _Pipes, udp_port: int, unavailable: Mapping[str, Reason]
) -> Placement:
    """Place a job in the pipes of its switch as in racks: all of its pipes sum, or the server does everything."""
    names, upper = [pipes.name(pipe) for pipe in pipes.numbers], pipes.name(pipes.combining)
    seen = network.seen[pipes.switch]
    as_racks = replace(
        network,
        upper=upper,
        spines=(),
        at={
            **dict.fromkeys(network.server_hosts, upper),
            **{host: pipes.name(pipe_of(seen[host].port)) for host in hosts},
        },
        seen=dict.fromkeys(names, seen),
    )
    why = dict.fromkeys(names, unavailable[pipes.switch]) if pipes.switch in unavailable else {}
    placement = place(hosts, as_racks, quorum=0, udp_port=udp_port, unavailable=why)
    if placement.left_out:
        return Placement(placement.places, (), {pipes.switch: next(iter(placement.left_out.values()))})
    # The upper part has all workers: those of other pipes as members of its racks.
    combined = replace(placement.assignments[-1], switch=pipes.switch, combining_pipe=pipes.combining)
    return Placement(placement.places, (combined,), {})
