# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Scenario of a schedule: network, jobs, workers, links, kills. Plain values that convert to JSON and back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from lanesum.protocol.lanes import LaneOp

# servers only; one switch in front of them; one switch per rack, and one above them
SERVER_ALONE, ONE_SWITCH, RACKS = "server", "switch", "racks"
NETWORKS = (SERVER_ALONE, ONE_SWITCH, RACKS)

SERVER = "server"
SERVERS = (SERVER, "server2", "server3")  # maximum of a scenario
UPPER = "upper"
AT_UPPER = -1  # home of a host at the upper switch itself


def rack_switch(rack: int) -> str:
    """Return the name of a rack's switch; a single switch is that of rack 0."""
    return f"rack{rack}"


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One worker: on host ``host``, starting ``start_s`` late, with ``latency_s`` and ``pace_s`` per turn of its loop.

    ``pauses`` are (begin, length) in seconds since the admission of its job; ``dies_s`` is the time of its death.
    ``in_flight``: maximum number of rounds in flight; 1 with a quorum, and for a worker with a mismatch.
    """

    host: int = 0
    start_s: float = 0.0
    latency_s: float = 1e-4
    pace_s: float = 1e-5
    pauses: tuple[tuple[float, float], ...] = ()
    dies_s: float | None = None
    in_flight: int = 1


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """A round of ``words`` uplink words, any number of the operation's groups.

    ``scattered``, ``gathered``: the words are those of each worker's shard.
    """

    op: LaneOp
    words: int
    scattered: bool = False
    gathered: bool = False


@dataclass(frozen=True, slots=True)
class Mismatch:
    """In round ``number`` one worker passes other arguments than the others."""

    worker: int
    number: int
    op: LaneOp
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """One incarnation of a job.

    Attributes:
        quorum: contributions that complete a result; 0 means all.
        kept_results: number of results that the server keeps; quorum only.
        slots_on_switch: slots of the range on the switches; the server sums those beyond.
        left_out: switches that do not have the job.
        upper_ascends: the upper switch forwards its sums to the server instead of answering.
        congestion: congestion control of the workers.
        mismatch: workers that disagree about a round.
        abort_s: time from admission to a forced removal.
        linger_s: time from the last result to the removal.
        certified: packets have check words.
    """

    job: int
    tag: int
    slots: int
    window: int
    rounds: tuple[RoundPlan, ...]
    workers: tuple[WorkerPlan, ...]
    first_epoch: int = 0
    quorum: int = 0
    kept_results: int = 4096
    slots_on_switch: int | None = None
    left_out: tuple[str, ...] = ()
    upper_ascends: bool = False
    congestion: str = "fixed"
    mismatch: Mismatch | None = None
    abort_s: float | None = None
    linger_s: float = 0.0
    certified: bool = False

    @property
    def switch_slots(self) -> int:
        return self.slots if self.slots_on_switch is None else min(self.slots, self.slots_on_switch)


@dataclass(frozen=True, slots=True)
class Line:
    """A range of slots, and the jobs that use it one after another.

    ``lease``: None for an exclusive range; otherwise the jobs are in the pool that all such lines share, and this is
    their lease in ticks.
    """

    jobs: tuple[JobPlan, ...]
    start_s: float = 0.0
    lease: int | None = None

    @property
    def slots(self) -> int:
        return max(job.slots for job in self.jobs)


@dataclass(frozen=True, slots=True)
class Kill:
    """A switch or a server is killed at ``at_s`` and loses its memory.

    It accepts packets again after ``down_s``. A switch has its routes ``routes_s`` later. Both have their jobs
    ``jobs_s`` after that.
    """

    at_s: float
    node: str
    down_s: float
    routes_s: float = 0.0
    jobs_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Resize:
    """The present job of a line gets ``slots`` slots at one switch; ``moved``: in other registers."""

    at_s: float
    node: str
    line: int
    slots: int
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Stray:
    """A stray packet of a kind in ``tests.simulator.strays``, aimed at a worker of a line."""

    at_s: float
    kind: str
    line: int
    worker: int
    value: int


@dataclass(frozen=True, slots=True)
class MemoryFlip:
    """A bit flips in a stored sum of a switch or a server; ``value`` selects sum and bit."""

    at_s: float
    node: str
    value: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of the faults on each link, if no list of faults is given.

    ``flip``: a bit of the packet changes behind its checksum.
    """

    lose: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    corrupt: float = 0.0
    mark: float = 0.0  # as from a full queue
    longest_delay_s: float = 0.01
    flip: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``homes``: the rack of each host by its number, or ``AT_UPPER``; ignored in a network without switches.

    ``servers``: number of servers; all are attached to the same switch, if there is one.
    """

    network: str
    lines: tuple[Line, ...]
    homes: tuple[int, ...] = (0,) * 16
    accumulator_words: int = 2
    trunk_s: float = 2e-5  # latency between switches, and to the server
    kills: tuple[Kill, ...] = ()
    resizes: tuple[Resize, ...] = ()
    strays: tuple[Stray, ...] = ()
    rates: Rates = field(default_factory=Rates)
    servers: int = 1
    flips: tuple[MemoryFlip, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scenario:
        """Read the value of ``to_dict``. Raises KeyError, TypeError or ValueError for any other value."""
        if data["network"] not in NETWORKS:
            raise ValueError(f"network is one of {', '.join(NETWORKS)}, not {data['network']}")
        if data.get("servers", 1) not in range(1, len(SERVERS) + 1):
            raise ValueError(f"there are 1 to {len(SERVERS)} servers, not {data['servers']}")
        made = {
            "lines": tuple(
                Line(tuple(_job(job) for job in line["jobs"]), line["start_s"], line["lease"]) for line in data["lines"]
            ),
            "homes": tuple(data["homes"]),
            "kills": tuple(Kill(**kill) for kill in data["kills"]),
            "resizes": tuple(Resize(**resize) for resize in data["resizes"]),
            "strays": tuple(Stray(**stray) for stray in data["strays"]),
            "rates": Rates(**data["rates"]),
            "flips": tuple(MemoryFlip(**flip) for flip in data.get("flips", ())),
        }
        return cls(**{**data, **made})


def _job(data: dict[str, Any]) -> JobPlan:
    rounds = tuple(
        RoundPlan(LaneOp(one["op"]), one["words"], one.get("scattered", False), one.get("gathered", False))
        for one in data["rounds"]
    )
    workers = tuple(
        WorkerPlan(**{**one, "pauses": tuple((begin, length) for begin, length in one["pauses"])})
        for one in data["workers"]
    )
    given = data["mismatch"]
    mismatch = None if given is None else Mismatch(**{**given, "op": LaneOp(given["op"])})
    made = {"rounds": rounds, "workers": workers, "left_out": tuple(data["left_out"]), "mismatch": mismatch}
    return JobPlan(**{**data, **made})
