# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of a controller for Prometheus."""

from __future__ import annotations

from lanesum_control.controller.controller import Controller
from lanesum_fabric.metrics.families import CONTROLLER, Samples


def controller_samples(controller: Controller | None) -> Samples:
    """Return the samples of a controller; its workers are asked for new counts, which the next samples have.

    None is a controller that does not lead: a standby, or one that starts.
    """
    samples = Samples(CONTROLLER)
    samples.add("lanesum_controller_leader", controller is not None)
    if controller is None:
        return samples
    jobs = controller.jobs()
    samples.add("lanesum_jobs", len(jobs))
    for job, figures in zip(jobs, controller.ask(jobs).values(), strict=True):
        name = job.request.name
        samples.add("lanesum_job_workers", len(figures), name)
        samples.add("lanesum_job_alive_workers", sum(one.state == "alive" for one in figures), name)
        samples.add("lanesum_job_left_out_switches", len(job.moved), name)
        for switch, held in job.switch_jobs.items():
            samples.add("lanesum_job_slots", held.slot_count, name, switch)
        for device, failed in controller.workers.failed_results(job).items():
            samples.add("lanesum_job_device_failed_results_total", failed, name, device)
        for one in figures:
            if one.report is not None and one.age_s is not None:
                samples.add("lanesum_job_worker_report_age_seconds", one.age_s, name, one.host)
                samples.add_worker("lanesum_job_worker_", one.report.counts, name, one.host)
    counters = controller.counters()
    for switch, slots in counters["slots"].items():
        samples.add("lanesum_switch_up", slots["lost"] is None, switch)
        samples.add("lanesum_switch_drained", slots["drained"] is not None, switch)
        samples.add("lanesum_switch_slots", slots["all"], switch)
        samples.add("lanesum_switch_used_slots", slots["used"], switch)
        for table, entries in slots["tables"].items():
            samples.add("lanesum_switch_table_entries", entries["used"], switch, table)
            samples.add("lanesum_switch_table_size", entries["size"], switch, table)
    for link, why in counters["links"].items():
        samples.add("lanesum_link_drained", why is not None, link)
    for switch, decisions in counters["switches"].items():
        for decision, count in decisions.items():
            samples.add("lanesum_switch_decisions_total", count, switch, decision)
    for server, found in counters["servers"].items():
        samples.add("lanesum_server_up", found is not None, server)
    return samples
