# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Report of a training run: ``report.json`` and a table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError

_COMPLETE = ("claim_and_complete", "contribute_and_complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One training run. Counts are summed over all workers and cover the training with lanesum only.

    Attributes:
        target: the aggregation point in words: ``embedded switch on loopback``, ``server`` ...
        loss_first: training loss of the first step, mean over the workers' batches.
        loss_last: the same of the last epoch: mean over its steps, as single batches vary too much.
        accuracy: fraction of correct test images after the last epoch, with lanesum.
        accuracy_uncompressed: the same of plain DDP with the same seed and data.
        sums_checked: 32-bit accumulator words compared with an independently computed sum; every worker compares
            the ones it received.
        sums_wrong: number of words that differed; any other value than 0 is a bug of the aggregation.
        packets: packets that the workers sent, retransmissions included.
        bytes_up: UDP payload bytes, lanesum header included, that the workers sent.
        bytes_down: UDP payload bytes, lanesum header included, that the workers received.
        bytes_fp32: bytes of the same gradients as plain float32 in one direction: 4 x elements x steps x workers.
        retransmissions: packets sent more than once.
        wall_s: seconds of the training with lanesum, tests and checks included, without the uncompressed one.
        detail: curves, settings, times, and the counters of switches and servers (``add_outcome``).
    """

    target: str
    topology: str
    workers: int
    codec: str
    steps: int
    loss_first: float
    loss_last: float
    accuracy: float
    accuracy_uncompressed: float
    sums_checked: int
    sums_wrong: int
    packets: int
    bytes_up: int
    bytes_down: int
    bytes_fp32: int
    retransmissions: int
    wall_s: float
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def link_mbit(self) -> float | None:
        """Rate of every link in each direction, the same in both trainings; None if links are not limited."""
        rate: float | None = self.detail.get("link_mbit")
        return rate

    @property
    def gain(self) -> float | None:
        """Time of plain DDP in ratio to the time with lanesum; None without links, which the times could compare."""
        return None if self.link_mbit is None else float(self.detail["wall_s_uncompressed"]) / self.wall_s

    @property
    def links(self) -> str:
        """The links in words."""
        if self.link_mbit is None:
            return "Links were not limited: the times say nothing about a network."
        return f"Both trainings over the same links of {self.link_mbit:g} Mbit/s in each direction."

    @property
    def correct(self) -> bool:
        """True if sums were checked, none was wrong, and all replicas are identical."""
        return self.sums_checked > 0 and self.sums_wrong == 0 and self.detail.get("replicas_identical", True)

    def add_outcome(
        self, counters: dict[str, Any], events: list[dict[str, Any]], faults: dict[str, Any] | None = None
    ) -> None:
        """Add the counters of switches and servers and the events of the controller.

        Args:
            counters: packets by decision, ``{"packets": all switches together, "switches": {name: ...}, "servers":
                {name: {"decisions": ..., "refused": ...}}, "server": all servers together}``, summed
                over all restarts of their processes.
            faults: faults of the plan, if there was one.

        ``detail.fallbacks`` counts contributions that switches forwarded to the server instead of summing them: from
        non-members, for slots or operations that the job does not have, of another packet size, or with the bypass
        flag. ``detail.completed`` counts the sums that every switch and server completed; a rack's switch completes
        the sums of its rack.
        """
        packets = counters["packets"]
        servers = {name: server["decisions"] for name, server in counters["servers"].items()}
        self.detail["switch_packets"] = packets
        self.detail["server_packets"] = counters["server"]
        self.detail["completed"] = {
            name: sum(decisions.get(one, 0) for one in _COMPLETE)
            for name, decisions in (counters["switches"] | servers).items()
        }
        left_alone = packets.get("aggregate", 0) - packets.get("accept", 0)
        self.detail["fallbacks"] = left_alone + packets.get("route_other_size", 0) + packets.get("route_past", 0)
        self.detail["events"] = events
        if faults:
            self.detail["faults"] = faults

    def write(self, path: Path) -> None:
        """Write the JSON file."""
        write_file(path, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read the JSON file. Raises ConfigurationError if it is not a report."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise ConfigurationError(f"{path} is no training report: {error}.") from error

    def table(self) -> Table:
        """Return the report as a table."""
        table = Table(
            title=f"{self.workers} workers, {self.codec}, {self.topology} on {self.target}",
            caption=self.links,
            min_width=60,
        )
        table.add_column("", no_wrap=True)
        for name in ("with lanesum", "plain DDP", "ratio"):
            table.add_column(name, justify="right")
        detail = self.detail
        table.add_row("test accuracy", f"{self.accuracy:.2%}", f"{self.accuracy_uncompressed:.2%}")
        table.add_row(
            "training loss, last epoch", f"{self.loss_last:.4f}", _number(detail.get("loss_last_uncompressed"), ".4f")
        )
        gain = self.gain
        table.add_row(
            "training time",
            f"{self.wall_s:.1f} s",
            _number(detail.get("wall_s_uncompressed"), ".1f", " s"),
            "" if gain is None else f"{gain:.1f} x",
            style=None if gain is None else "bold",
        )
        table.add_section()
        if self.link_mbit is not None:
            through, plain = detail["wire_bytes"], detail["wire_bytes_uncompressed"]
            for name, key in (("sent on the wire", "sent"), ("received on the wire", "received")):
                table.add_row(name, _bytes(through[key]), _bytes(plain[key]), _ratio(plain[key], through[key]))
        for name, payload in (("payload up", self.bytes_up), ("payload down", self.bytes_down)):
            table.add_row(name, _bytes(payload), _bytes(self.bytes_fp32), _ratio(self.bytes_fp32, payload))
        table.add_section()
        table.add_row("steps", f"{self.steps:,}", f"{self.steps:,}")
        table.add_row("packets", f"{self.packets:,}", "")
        table.add_row("retransmissions", f"{self.retransmissions:,}", "")
        for cause, count in detail.get("retransmission_causes", {}).items():
            table.add_row(f"  {cause.replace('_', ' ')}", f"{count:,}", "")
        if "fallbacks" in detail:
            table.add_row("fall-backs", f"{detail['fallbacks']:,}", "")
        for name, count in detail.get("completed", {}).items():
            table.add_row(f"sums made by {name}", f"{count:,}", "")
        table.add_row("sums checked", f"{self.sums_checked:,}", "")
        table.add_row("sums wrong", f"{self.sums_wrong:,}", "", style="bold red" if self.sums_wrong else None)
        if "faults" in detail:
            table.add_section()
            for label, counts in detail["faults"]["rules"].items():
                table.add_row(f"fault: {label}", f"{counts['hit']:,}", "")
            for one in detail["faults"]["processes"]:
                when = "" if one["at_s"] is None else f"at {one['at_s']:.1f} s, step {one['step']}"
                table.add_row(f"{one['process']} {one['what']}", when, "")
        return table


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"


def _ratio(whole: int, part: int) -> str:
    return f"{whole / part:.1f} x" if part else "-"
