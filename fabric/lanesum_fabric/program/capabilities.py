# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capabilities of a switch, read from the P4Info of its program, names of tables, and the controller's interface.

One program exists in builds for several targets. Operations and features without a table or action in a build are left
to the server; a switch forwards such packets like any others.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from lanesum.protocol.lanes import LaneOp
from lanesum_fabric.errors import NotOfferedError
from lanesum_fabric.program.switch_job import MAX_GROUP_OF_JOBS, HostPort, Member, SwitchJob
from lanesum_fabric.tofino.chips import PIPES, pipe_of

if TYPE_CHECKING:
    from lanesum_fabric.program.p4info import P4InfoNames


OWNER_REGISTER = "IngressPipeline.slots.slot_owner"
SLOT = "IngressPipeline.slots.slot"  # the table of decisions about contributions
ABSORBING = ("claim", "contribute")  # its actions that keep a contribution in a slot
OWNER_WORD_TABLE = "IngressPipeline.slots.owner"
RECIRCULATION = "IngressPipeline.slots.recirculation"
CPU_PORT = "IngressPipeline.redirect.cpu_port"
COMBINE = "IngressPipeline.combine.combine"
MEMBER = "IngressPipeline.membership.member"
ADMIT = "IngressPipeline.membership.admit"  # its action
DESCEND = "IngressPipeline.descend.descend"
LOOKUP = "IngressPipeline.lanes.lookup"
ICMP = "IngressPipeline.icmp.icmp"
RECEIVER = "EgressPipeline.receiver.receiver"
JOB_TABLES = (MEMBER, DESCEND, LOOKUP, RECEIVER)  # by job; multicast groups besides
GROUPS = "multicast groups"
NEXT_PASS = "IngressPipeline.passes.next_pass"
# Tables that the controller writes, besides ``JOB_TABLES``.
ORIGIN = "IngressPipeline.origin.origin"
FORWARD = "IngressPipeline.forward.forward"
ARP = "IngressPipeline.arp.arp"
STATION = "IngressPipeline.station.station"
CONGESTION = "EgressPipeline.congestion.congestion"
HOST_TABLES = (FORWARD, ARP, ORIGIN)  # by IPv4 address
OWN_TABLES = (STATION, RECIRCULATION, COMBINE, CPU_PORT)  # of the switch itself
# Tables with constant entries, whose counters show the decisions about packets.
CLASSIFY = "IngressPipeline.classify.classify"
PROVENANCE = "IngressPipeline.origin.provenance"
ADMISSION = "IngressPipeline.membership.admission"
HOP = "IngressPipeline.forward.hop"
ARP_ANSWER = "IngressPipeline.arp.answer"
MARK = "EgressPipeline.congestion.mark"
BOUND = "EgressPipeline.redirected.bound"
SHORTEN = "EgressPipeline.shorten.owner"
DECISION_TABLES = (CLASSIFY, PROVENANCE, ADMISSION, SLOT, HOP, ARP_ANSWER, ICMP, MARK, BOUND, SHORTEN)


def last_name(name: str) -> str:
    """Return the last part of the full name of a table or action, without its controls."""
    return name.rpartition(".")[2]


def slots_of(names: P4InfoNames) -> int:
    """Return the slots of a program: its owner register has one cell per shadow set of each slot."""
    return names.register_size(OWNER_REGISTER) // 2


@functools.lru_cache(maxsize=1 << 14)
def owner_word(job: int, tag: int) -> int:
    """Return the owner of an entry as one word: the CRC-32 of job and tag (P4 control ``Membership``)."""
    return zlib.crc32(job.to_bytes(2, "big") + tag.to_bytes(4, "big"))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of a switch.

    Attributes:
        ops: lane operations that its program sums.
        owner_words: entries identify their owner by ``owner_word``, which must differ between jobs; 0 is no owner.
        pipes: registers belong to one pipe of the chip: members of a job at several pipes require a combining one.
        combining_pipes: pipes that can sum the partial sums of other pipes.
        icmp: the program answers echo requests to the switch, and reports packets that it cannot route.
        redirects: the program sends expired and unroutable packets to a CPU port, where there is one.
        one_pass: contributions take one pipeline pass: they are counted once, and verified before they have an effect.
        recirculation_pipes: pipes that can recirculate, as contributions of several passes require; None if not
            required.
        shortens: the program sends the sum of a chunk of a scattered round to its owner alone.
        sizes: entries by last name of each of ``JOB_TABLES`` and ``HOST_TABLES``, and of ``GROUPS``; not limited where
            missing.
    """

    ops: frozenset[LaneOp] = frozenset(LaneOp)
    owner_words: bool = False
    pipes: bool = False
    combining_pipes: frozenset[int] = frozenset()
    icmp: bool = True
    redirects: bool = False
    one_pass: bool = True
    recirculation_pipes: frozenset[int] | None = None
    shortens: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, names: P4InfoNames) -> Capabilities:
        """Return the capabilities of a program. A lookup requires its table besides its action."""
        actions = set(map(last_name, names.actions))
        lookup = names.has_table(LOOKUP)
        ops = {op for op in LaneOp if op.p4_action in actions and (lookup or not op.shape.lookup)}
        return cls(
            ops=frozenset(ops),
            owner_words=names.has_table(OWNER_WORD_TABLE),
            pipes=names.has_table(RECIRCULATION),
            combining_pipes=frozenset(range(PIPES) if names.has_table(COMBINE) else ()),
            icmp=names.has_table(ICMP),
            redirects=names.has_table(CPU_PORT),
            one_pass=not names.has_table(NEXT_PASS),
            shortens=names.has_table(SHORTEN),
            sizes={
                **{last_name(one): names.table_size(one) for one in JOB_TABLES + HOST_TABLES if names.has_table(one)},
                GROUPS: (1 << names.param_bits(ADMIT, "group")) - 1,  # 0 is no group
            },
        )

    def recirculating_at(self, ports: Iterable[int]) -> Capabilities:
        """Return the capabilities of a switch that recirculates at ``ports``."""
        pipes = frozenset(map(pipe_of, ports))
        return replace(
            self,
            combining_pipes=self.combining_pipes & pipes,
            recirculation_pipes=None if self.one_pass else pipes,
        )

    def of_these(self, ops: Iterable[LaneOp]) -> tuple[LaneOp, ...]:
        """Return those of ``ops`` that are summed here, in the same order."""
        return tuple(op for op in ops if op in self.ops)

    def check(self, job: SwitchJob, others: Iterable[tuple[int, int]]) -> None:
        """Check that a job fits beside jobs with the numbers and tags ``others``. Raises NotOfferedError."""
        missing = [op.name for op in job.ops if op not in self.ops]
        if missing:
            raise NotOfferedError(
                f"Job {job.job} may use {', '.join(missing)}, which the switch's program does not sum.",
                "Leave the operation out of what it may use here: the server sums what no switch does.",
            )
        why = self.why_not_pipes(job.members, job.combining_pipe)
        if why:
            raise NotOfferedError(
                f"Job {job.job}: {why}.",
                "Connect them to one pipe that has a recirculation port, or let the server sum it.",
            )
        why = self.why_not_owner(job.job, job.tag, others)
        if why:
            raise NotOfferedError(f"Job {job.job}: {why}.", "Give the job another number or tag.")

    def why_not_pipes(self, members: Sequence[Member], combining_pipe: int | None) -> str | None:
        """Return the reason why members cannot share a job from their ports; None if they can."""
        if combining_pipe is not None and combining_pipe not in self.combining_pipes:
            return f"its members are at several pipes of the chip, and pipe {combining_pipe} cannot combine their sums"
        if not self.pipes:
            return None
        pipes: set[int] = set()
        for here in _pipes_that_sum_together(members, combining_pipe):
            if len(here) > 1:
                numbers = ", ".join(map(str, sorted(here)))
                return f"its members are at pipes {numbers} of the chip, and a pipe sums alone"
            pipes |= here
        still = [] if self.recirculation_pipes is None else sorted(pipes - self.recirculation_pipes)
        if still:
            return f"its members are at pipe {still[0]} of the chip, which has no recirculation port"
        return None

    def why_not_group(self, group: int) -> str | None:
        """Return the reason why a job cannot have this multicast group; None if it can."""
        if not self.combining_pipes or group <= MAX_GROUP_OF_JOBS:
            return None
        return f"its multicast group {group} is above {MAX_GROUP_OF_JOBS}, the last one of jobs there"

    def why_not_owner(self, job: int, tag: int, others: Iterable[tuple[int, int]]) -> str | None:
        """Return the reason why entries of a job could be confused with those of ``others``; None if they cannot.

        It names no tags, because callers of other jobs read it.
        """
        if not self.owner_words:
            return None
        word = owner_word(job, tag)
        if word == 0:
            return "the CRC-32 of its number and tag is 0, which means no owner"
        for other, its_tag in others:
            if (other, its_tag) != (job, tag) and owner_word(other, its_tag) == word:
                return f"its number and tag have the CRC-32 of those of job {other}"
        return None


def _pipes_that_sum_together(members: Sequence[Member], combining_pipe: int | None) -> list[set[int]]:
    """Return sets of pipes that have to be one pipe each: of all members, or of each rack and of all others."""
    of_racks = [_pipes_of(member) for member in members if member.aggregate]
    of_others = set().union(*(_pipes_of(member) for member in members if not member.aggregate))
    return [of_others.union(*of_racks)] if combining_pipe is None else [*of_racks, of_others | {combining_pipe}]


def _pipes_of(member: Member) -> set[int]:
    return {pipe_of(host.port) for host in member.hosts}


EVERYTHING = Capabilities()


#: Device id of a switch over P4Runtime, which has one device.
DEFAULT_DEVICE_ID = 1


class ControlledSwitch(Protocol):
    """Interface of a switch for the controller."""

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of its program."""

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP for it."""

    def admit(self, job: SwitchJob) -> None:
        """Install a job."""

    def remove(self, job: SwitchJob) -> None:
        """Remove a job."""

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        """Change slots, role, threshold, operations or lease of an installed job; its members stay."""

    def modify_all(self, changes: Iterable[tuple[SwitchJob, SwitchJob]]) -> None:
        """Do ``modify`` for several jobs, (old, new) each, in any order."""

    def decisions(self) -> dict[str, int]:
        """Return the packet counters by decision of the program's tables."""
