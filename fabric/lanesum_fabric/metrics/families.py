# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Metric families that lanesum exports: names, labels and meanings; and their samples at one time.

Names follow Prometheus: base units, and ``_total`` for counters.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: Label sets of one family, at most. Later samples are left out and counted: jobs come in the order of their admission.
MAX_LABEL_SETS = 2048
_MAX_LABEL = 200  # characters


@dataclass(frozen=True, slots=True)
class Family:
    """Metric family; one whose name ends in ``_total`` is a counter, any other one a gauge."""

    name: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def kind(self) -> str:
        return "counter" if self.name.endswith("_total") else "gauge"


#: Counts of a worker: suffix of the family, name in reports with the factor to its unit, and meaning.
WORKER_COUNTS = (
    ("sent_packets_total", "packets_sent", 1, "Packets that the worker sent."),
    ("received_packets_total", "packets_received", 1, "Packets that the worker received."),
    ("sent_bytes_total", "bytes_sent", 1, "UDP payload that the worker sent."),
    ("received_bytes_total", "bytes_received", 1, "UDP payload that the worker received."),
    ("retransmissions_total", "retransmissions", 1, "Contributions that the worker retransmitted."),
    ("peer_retransmissions_total", "peer_retransmissions", 1, "Retransmissions that awaited another worker."),
    ("reordered_results_total", "reordered_results", 1, "Results that arrived after that of a later packet."),
    ("bypasses_total", "bypasses", 1, "Contributions that the worker sent past the switches."),
    ("duplicate_results_total", "duplicate_results", 1, "Results that the worker had already."),
    ("failed_results_total", "failed_results", 1, "Results that failed the check of a certified job."),
    ("results_total", "chunks", 1, "Chunks whose result arrived."),
    ("server_results_total", "server_results", 1, "Chunks that a server completed in place of a switch."),
    ("partial_results_total", "partial_results", 1, "Results of a quorum, without all workers."),
    ("congestion_marks_total", "ecn_marks", 1, "Results that report a full queue."),
    ("collisions_total", "collisions", 1, "Results whose slot another job held."),
    ("rounds_total", "rounds", 1, "Rounds that the worker began."),
    ("result_latency_seconds_total", "latency_us", 1e-6, "Sum of the times from a chunk to its result."),
    ("wait_seconds_total", "wait_us", 1e-6, "Time in which the worker waited for packets."),
)
_JOB_WORKER = ("job", "worker")

_OMITTED = Family("lanesum_omitted_label_sets", ("family",), "Label sets that are left out of a family, by its bound.")
CONTROLLER = (
    Family("lanesum_controller_leader", (), "1 if the controller leads, 0 at a standby."),
    Family("lanesum_jobs", (), "Admitted jobs."),
    Family("lanesum_job_workers", ("job",), "Workers of the job."),
    Family("lanesum_job_alive_workers", ("job",), "Workers of the job that live."),
    Family("lanesum_job_slots", ("job", "switch"), "Slots of the job at a switch."),
    Family("lanesum_job_left_out_switches", ("job",), "Switches on the job's paths whose sums a server computes."),
    Family("lanesum_job_worker_report_age_seconds", _JOB_WORKER, "Time since the worker's last report."),
    *(Family(f"lanesum_job_worker_{suffix}", _JOB_WORKER, text) for suffix, _, _, text in WORKER_COUNTS),
    Family("lanesum_job_device_failed_results_total", ("job", "device"), "Failed results of the device."),
    Family("lanesum_switch_up", ("switch",), "1 if the controller controls the switch, else 0."),
    Family("lanesum_switch_drained", ("switch",), "1 if an operator drained the switch of all jobs, else 0."),
    Family("lanesum_link_drained", ("link",), "1 if the link to a spine is drained, or was found cut, else 0."),
    Family("lanesum_switch_slots", ("switch",), "Slots of the switch."),
    Family("lanesum_switch_used_slots", ("switch",), "Slots of the switch that jobs have."),
    Family("lanesum_switch_table_entries", ("switch", "table"), "Entries for jobs and hosts in a table of the switch."),
    Family("lanesum_switch_table_size", ("switch", "table"), "Maximum number of entries in the table."),
    Family("lanesum_switch_decisions_total", ("switch", "decision"), "Packets at the switch, by decision."),
    Family("lanesum_server_up", ("server",), "1 if the aggregation server answers the controller, else 0."),
    _OMITTED,
)
SERVER = (
    Family("lanesum_server_jobs", (), "Jobs of the aggregation server."),
    Family("lanesum_server_received_packets_total", ("thread",), "Packets that arrived at a thread of the server."),
    Family("lanesum_server_decisions_total", ("decision",), "Contributions at the server, by decision."),
    Family("lanesum_server_refused_packets_total", ("reason",), "Packets that changed nothing, by reason."),
    Family("lanesum_server_failed_packets_total", (), "Packets that were not handled because of a bug."),
    _OMITTED,
)
SWITCH = (
    Family("lanesum_softswitch_received_packets_total", ("port",), "Packets that arrived at a port."),
    Family("lanesum_softswitch_sent_packets_total", ("port",), "Packets that left through a port."),
    Family("lanesum_softswitch_absorbed_packets_total", (), "Contributions that wait in a slot for the others."),
    Family("lanesum_softswitch_dropped_packets_total", (), "Other packets of which none left the switch."),
    Family("lanesum_softswitch_parser_errors_total", (), "Packets that the program's parser refused."),
    Family("lanesum_softswitch_program_errors_total", (), "Packets that the program failed on."),
    _OMITTED,
)
WORKER = (
    *(Family(f"lanesum_worker_{suffix}", _JOB_WORKER, text) for suffix, _, _, text in WORKER_COUNTS),
    _OMITTED,
)
#: All families by exporter.
FAMILIES = {"controller": CONTROLLER, "server": SERVER, "switch": SWITCH, "worker": WORKER}


class Samples:
    """Samples of one exporter at one time, in the form of ``prometheus_client``'s collectors.

    Args:
        families: families of the exporter; each may stay without samples.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = {family.name: family for family in families}
        self._values: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in self._families}
        self._omitted: dict[str, int] = {}

    def add(self, name: str, value: float, *labels: object) -> None:
        """Add a sample; ``labels`` in the order of the family. One past ``MAX_LABEL_SETS`` is left out and counted."""
        family, values = self._families[name], self._values[name]
        if len(labels) != len(family.labels):
            raise TypeError(f"{name} has the labels {family.labels}, not {labels}.")
        key = tuple(_cut(str(label)) for label in labels)
        if len(values) < MAX_LABEL_SETS or key in values:
            values[key] = value
        else:
            self._omitted[name] = self._omitted.get(name, 0) + 1

    def add_worker(self, prefix: str, counts: Any, job: str, worker: str) -> None:
        """Add the counts of a worker to the families that begin with ``prefix``."""
        for suffix, count, factor, _ in WORKER_COUNTS:
            self.add(prefix + suffix, counts[count] * factor, job, worker)

    def collect(self) -> Iterator[Any]:
        """Yield the families with their samples."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, count in self._omitted.items():
            self._values[_OMITTED.name][name,] = count
        for name, family in self._families.items():
            kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
            found = kind(name, family.meaning, labels=family.labels)
            for key, value in self._values[name].items():
                found.add_metric(key, value)
            yield found


def _cut(label: str) -> str:
    """Return a label value; a checksum at the end tells long ones with the same beginning apart."""
    if len(label) <= _MAX_LABEL:
        return label
    end = f"~{zlib.crc32(label.encode(errors='replace')):08x}"
    return label[: _MAX_LABEL - len(end)] + end


#: Returns the present samples of an exporter.
Source = Callable[[], Samples]
