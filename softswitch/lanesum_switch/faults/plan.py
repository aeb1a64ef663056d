# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault plans: rules for packets of links and registers of switches, faults of processes, and their YAML file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, ValidationInfo, model_validator

from lanesum.errors import ConfigurationError
from lanesum_fabric import resources, yaml_model

EVERYWHERE = "*"
UP: Literal["up"] = "up"
DOWN: Literal["down"] = "down"

Direction: TypeAlias = Literal["up", "down"]
PacketKind: TypeAlias = Literal["contribution", "result", "pending", "conflict", "any", "other"]
RuleKind: TypeAlias = Literal["drop", "duplicate", "reorder", "delay", "corrupt", "flip"]

_Link = Annotated[str, StringConstraints(pattern=r"^(\*|[a-z](-?[a-z0-9]){0,30})$", max_length=31)]
_Process = Annotated[str, StringConstraints(pattern=r"^[a-z](-?[a-z0-9]){0,14}$", max_length=15)]
_Count = Annotated[int, Field(ge=1)]
_Milliseconds = Annotated[float, Field(ge=0, le=60_000)]
_Seconds = Annotated[float, Field(ge=0, le=3_600)]


class FaultPlanError(ConfigurationError):
    """A fault plan is invalid; the message begins with ``file:line``."""


@dataclass(frozen=True, slots=True)
class Names:
    """The links and processes of a run, which its plan may name; ``switches`` are processes, too."""

    links: frozenset[str]
    processes: frozenset[str]
    switches: frozenset[str] = frozenset()


def same_link(one: str, other: str) -> bool:
    """Return True if two names are one link: ``s1-s0`` is ``s0-s1``."""
    return one == other or canonical_link(one) == canonical_link(other)


def canonical_link(link: str) -> str:
    """Return the same text for all names of a link. Names of switches may have dashes themselves."""
    parts = link.split("-")
    return min("-".join(parts[at:] + parts[:at]) for at in range(len(parts)))


def _check_link(where: str, info: ValidationInfo) -> None:
    names: Names | None = (info.context or {}).get("names")
    if names is not None and where != EVERYWHERE and not any(same_link(where, link) for link in names.links):
        raise ValueError(f"there is no link {where!r}; use one of {', '.join(sorted(names.links))}")


class PacketMatch(yaml_model.FileModel):
    """A set of packets. Packets are numbered for each link and direction separately."""

    where: _Link = Field(
        default=EVERYWHERE, description="link: the name of its host, s1-s0 between switches, or * for all"
    )
    direction: Literal["up", "down", "both"] = Field(default="both", description="up is towards the server")
    packet: PacketKind = Field(
        default="any", description="any: every lanesum packet; other: every packet that is not lanesum's"
    )
    epoch: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="only packets of this round of the job; the first round on the link, after the opening, is 0",
    )
    chunk: Annotated[int, Field(ge=0)] | None = Field(default=None, description="only packets of this chunk")

    @model_validator(mode="after")
    def _lanesum_has_rounds(self, info: ValidationInfo) -> PacketMatch:
        if self.packet == "other" and (self.epoch is not None or self.chunk is not None):
            raise ValueError("epoch and chunk have no meaning for packet: other")
        _check_link(self.where, info)
        return self

    def covers(self, link: str, direction: Direction) -> bool:
        """Return True if packets of this link and direction can match."""
        return (self.where == EVERYWHERE or same_link(self.where, link)) and self.direction in (direction, "both")


class _Choice(yaml_model.FileModel):
    """Name of a rule, and the packets that it is applied to."""

    name: str | None = Field(default=None, description="name in reports; number and kind by default")
    probability: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="share of the matching packets, by random numbers from the plan's seed; all by default",
    )
    nth: _Count | list[_Count] | None = Field(
        default=None, description="instead of a probability: numbers of the matching packets, from 1"
    )

    @model_validator(mode="after")
    def _one_choice(self) -> _Choice:
        if self.nth is not None and self.probability is not None:
            raise ValueError("give a probability or nth, not both")
        return self

    @property
    def exact(self) -> frozenset[int] | None:
        """The numbers of the packets that the rule applies to; None where a probability decides."""
        if self.nth is None:
            return None
        return frozenset([self.nth] if isinstance(self.nth, int) else self.nth)


class FaultRule(PacketMatch, _Choice):
    """A fault of packets. All rules apply to a packet, in the order of the file."""

    kind: RuleKind
    after: _Count | None = Field(
        default=None,
        description="only packets after this many matching ones in each direction, as of a link that is cut",
    )
    part: Literal["words", "header"] | None = Field(
        default=None, description="flip: one bit of the packet's words (default) or of its header"
    )
    delay_ms: _Milliseconds | None = Field(
        default=None,
        description="delay: later packets wait; reorder: later packets arrive before; duplicate: delay of the copies",
    )
    jitter_ms: _Milliseconds = Field(
        default=0.0, description="added to delay_ms: a random part of this, from the plan's seed"
    )
    copies: _Count | None = Field(default=None, description="duplicate: number of additional packets; 1 by default")

    @model_validator(mode="after")
    def _amounts_fit(self) -> FaultRule:
        if self.kind in ("delay", "reorder") and not (self.delay_ms or self.jitter_ms):
            raise ValueError(f"{self.kind} needs delay_ms")
        if self.kind in ("drop", "corrupt", "flip") and (self.delay_ms is not None or self.jitter_ms):
            raise ValueError(f"delay_ms has no meaning for {self.kind}")
        if self.kind != "duplicate" and self.copies is not None:
            raise ValueError(f"copies has no meaning for {self.kind}")
        if self.part is not None and self.kind != "flip":
            raise ValueError(f"part has no meaning for {self.kind}")
        if self.kind == "flip" and self.packet == "other":
            raise ValueError("flip changes lanesum packets only")
        return self


class MemoryFault(_Choice):
    """One bit of a used register of the embedded switch flips, beside packets that the switch processes."""

    switch: _Process = Field(description="name of the switch")
    of: Literal["sums", "slots"] = Field(
        default="sums", description="sums: accumulator words; slots: owner, contributors and state of a slot"
    )

    @model_validator(mode="after")
    def _switch_exists(self, info: ValidationInfo) -> MemoryFault:
        names: Names | None = (info.context or {}).get("names")
        if names is not None and self.switch not in names.switches:
            known = ", ".join(sorted(names.switches)) or "a run with embedded switches"
            raise ValueError(f"there is no embedded switch {self.switch!r}; use {known}")
        return self


class PacketTrigger(PacketMatch):
    """The moment after ``nth`` matching packets, counted over all matching links."""

    nth: _Count = Field(default=1, description="number of matching packets")


class ProcessFault(yaml_model.FileModel):
    """A fault of a process, once, at a time, after a training step or after packets."""

    kind: Literal["kill", "pause"]
    process: _Process = Field(description="name of a switch or worker, or server, or controller")
    at_s: _Seconds | None = Field(default=None, description="seconds after the training with lanesum began")
    step: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="number of training steps before the fault"
    )
    after: PacketTrigger | None = Field(default=None, description="packets before the fault")
    restart_after_s: _Seconds | None = Field(
        default=None, description="kill: seconds until the process starts again; never by default"
    )
    for_s: Annotated[float, Field(gt=0, le=3_600)] | None = Field(
        default=None, description="pause: its length in seconds"
    )

    @model_validator(mode="after")
    def _one_moment(self, info: ValidationInfo) -> ProcessFault:
        if sum(moment is not None for moment in (self.at_s, self.step, self.after)) != 1:
            raise ValueError("give exactly one of at_s, step and after")
        if (self.kind == "pause") != (self.for_s is not None):
            raise ValueError("pause needs for_s" if self.kind == "pause" else "for_s has no meaning for kill")
        if self.kind == "pause" and self.restart_after_s is not None:
            raise ValueError("restart_after_s has no meaning for pause")
        names: Names | None = (info.context or {}).get("names")
        if names is not None and self.process not in names.processes:
            raise ValueError(
                f"there is no process {self.process!r}; use one of {', '.join(sorted(names.processes))}",
            )
        return self


class FaultPlan(yaml_model.FileModel):
    """A fault plan. The same plan and seed hit the same packets of each link in every run."""

    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    rules: list[FaultRule] = []
    memory: list[MemoryFault] = []
    processes: list[ProcessFault] = []

    @model_validator(mode="after")
    def _names_differ(self) -> FaultPlan:
        seen: dict[str, int] = {}
        for index, label in enumerate(self.labels):
            if seen.setdefault(label, index) != index:
                memory = index - len(self.rules)
                where = ("rules", index) if memory < 0 else ("memory", memory)
                raise yaml_model.wrong(f"two rules are called {label!r}", *where)
        return self

    @classmethod
    def load(cls, name_or_path: str | Path, names: Names | None = None) -> FaultPlan:
        """Return a shipped plan by name, or a plan from a file. Raises FaultPlanError with file and line.

        With ``names``, the plan may name no other links and processes.
        """
        return yaml_model.load(cls, "fault plan", name_or_path, available(), FaultPlanError, {"names": names})

    @classmethod
    def parse(cls, text: str, source: str, names: Names | None = None) -> FaultPlan:
        """Return a plan from YAML text; errors name ``source``. Raises FaultPlanError."""
        return yaml_model.parse(cls, text, source, FaultPlanError, {"names": names})

    @property
    def labels(self) -> list[str]:
        """The name of every rule for packets in reports, then of every rule for memory."""
        rules = [rule.name or f"{index + 1} {rule.kind}" for index, rule in enumerate(self.rules)]
        return rules + [one.name or f"{index + 1} {one.of} of {one.switch}" for index, one in enumerate(self.memory)]

    @property
    def triggers(self) -> list[PacketTrigger]:
        """The triggers of process faults, in the order of the process faults."""
        return [fault.after for fault in self.processes if fault.after is not None]

    def touches(self, link: str) -> bool:
        """Return True if a rule or a trigger can match packets of the link."""
        matches: Iterable[PacketMatch] = [*self.rules, *self.triggers]
        return any(match.covers(link, direction) for match in matches for direction in (UP, DOWN))


def available() -> dict[str, Path]:
    """Return the paths of the shipped plans, by name."""
    return {path.stem: path for path in sorted(resources.directory("faults", "lanesum_switch").glob("*.yaml"))}
