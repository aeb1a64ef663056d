# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Schedules are deterministic, values, and of every kind; the command line runs them."""

from __future__ import annotations

import collections
import itertools
import json
import random
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol import Header
from lanesum.protocol.spec import HEADER
from lanesum.server.slot_table import ServerDecision
from tests.reference.slots import Decision
from tests.simulator import Schedule, run
from tests.simulator.__main__ import main
from tests.simulator.bounds import bounds
from tests.simulator.mutants import MUTANTS
from tests.simulator.network import CORRUPT, DELAY, DUPLICATE, LOSE, MARK, MAX_LOSSES, SimulatedNetwork
from tests.simulator.scenario import AT_UPPER, NETWORKS, SERVERS, UPPER, Rates, RoundPlan, Scenario
from tests.simulator.strays import KINDS
from tests.simulator.truth import JobTruth
from tests.simulator.wire import CONTRIBUTION, Seen, read, version_kind

pytestmark = pytest.mark.long


SEEDS = range(600)
SAVED = Path(__file__).parent / "schedules"


def test_same_seed_same_run() -> None:
    for seed in range(20):
        steps: list[str] = []
        again: list[str] = []
        first, second = run(Schedule.draw(seed), steps.append), run(Schedule.draw(seed), again.append)
        assert steps == again
        assert (first.faults, first.events, first.virtual_s) == (second.faults, second.events, second.virtual_s)


def test_faults_that_were_drawn_are_a_complete_description() -> None:
    for seed in range(20):
        drawn = Schedule.draw(seed)
        first = run(drawn)
        listed = Schedule.from_json(Schedule(drawn.scenario, drawn.seed, first.faults).to_json())
        second = run(listed)
        assert (first.faults, first.events, first.virtual_s) == (second.faults, second.events, second.virtual_s)


def test_schedules_are_of_every_kind() -> None:
    """Nothing is checked by schedules in which nothing happens."""
    decisions: collections.Counter[str] = collections.Counter()
    faults: collections.Counter[str] = collections.Counter()
    scenarios: list[Scenario] = []
    for seed in SEEDS:
        schedule = Schedule.draw(seed)
        outcome = run(schedule)
        scenarios.append(schedule.scenario)
        decisions += outcome.decisions
        faults += collections.Counter(fault.kind for fault in outcome.faults)
    lines = [line for scenario in scenarios for line in scenario.lines]
    jobs = [job for line in lines for job in line.jobs]
    for name in (*(decision.value for decision in Decision), "drop_corrupt", "drop_spoofed", "drop_forged"):
        assert decisions[name], name
    for decision in ServerDecision:
        # Nothing overlaps in part where switches sum disjoint sets, and whole ones replace their parts.
        assert decisions[f"server {decision.value}"] or decision is ServerDecision.REPORT_OVERLAP, decision
    assert set(faults) == {LOSE, DUPLICATE, DELAY, CORRUPT, MARK}
    assert {scenario.network for scenario in scenarios} == set(NETWORKS)
    assert {len(scenario.lines) for scenario in scenarios} == {1, 2, 3}
    assert {(s.network, s.servers) for s in scenarios} == set(itertools.product(NETWORKS, (1, 2, 3)))
    assert any(
        0 < job.quorum < len(job.workers) for s in scenarios if s.servers > 1 for li in s.lines for job in li.jobs
    )
    assert {stray.kind for scenario in scenarios for stray in scenario.strays} == set(KINDS)
    assert {*SERVERS, UPPER, "rack0", "rack1"} <= {kill.node for scenario in scenarios for kill in scenario.kills}
    assert any(scenario.resizes for scenario in scenarios)
    assert any(AT_UPPER in scenario.homes for scenario in scenarios)
    assert {line.lease is None for line in lines} == {True, False}
    assert {len(job.workers) for job in jobs} >= {1, 2, 3, 4, 16}
    assert min(job.slots for job in jobs) == 1
    assert any(0 < job.quorum < len(job.workers) for job in jobs) and any(job.mismatch for job in jobs)
    assert any(worker.dies_s is not None for job in jobs for worker in job.workers)
    assert any(job.abort_s for job in jobs) and any(job.left_out for job in jobs)
    assert any(0 < job.switch_slots < job.slots for job in jobs)
    assert any(worker.pauses for job in jobs for worker in job.workers)
    assert any(job.first_epoch + len(job.rounds) > 1 << 32 for job in jobs)
    assert any(line.jobs[0].job == line.jobs[-1].job for s in scenarios for line in s.lines if len(line.jobs) > 1)


def _about_chunk(chunk: int) -> Seen:
    return Seen(version_kind(CONTRIBUTION), 0, 1, 2, 0, chunk, 0, 0, 0, 1, 2, 0, 0, 2)


def test_network_losses_have_a_bound_per_packet() -> None:
    network = SimulatedNetwork(Rates(lose=0.3), seed=1)
    arrived = [bool(network.fate("host0>server", _about_chunk(chunk)).delays_s) for chunk in range(4000)]
    assert 0.27 < arrived.count(False) / len(arrived) < 0.33
    network = SimulatedNetwork(Rates(lose=1.0), seed=1)
    fates = [network.fate("server>host0", _about_chunk(0)).delays_s for _ in range(MAX_LOSSES + 1)]
    assert fates == [()] * MAX_LOSSES + [(0.0,)]


def test_runs_end_far_below_the_bound() -> None:
    for seed in range(100):
        schedule = Schedule.draw(seed)
        outcome = run(schedule)
        max_s, max_events = bounds(schedule.scenario)
        assert outcome.virtual_s < max_s / 2 and outcome.events < max_events / 2


def test_header_is_read_as_the_library_writes_it() -> None:
    rng = random.Random(3)
    for _ in range(50):
        header = Header(**{field.name: rng.getrandbits(field.bits) for field in HEADER if field.name != "version"})
        seen = read(header.pack())
        assert seen.pack() == header.pack()
        assert (seen.kind, seen.shadow_slot) == (header.kind, header.shadow << 15 | header.slot)
        for name in ("job", "tag", "epoch", "chunk", "op", "workers", "fan_in_workers", "words"):
            assert getattr(seen, name) == getattr(header, name)


def test_truth_pads_packets_and_cuts_results() -> None:
    def is_odd(one: RoundPlan) -> bool:
        return one.words == 3 and one.op == 0 and not one.gathered

    jobs = (job for seed in SEEDS for line in Schedule.draw(seed).scenario.lines for job in line.jobs)
    job = next(job for job in jobs if any(map(is_odd, job.rounds)))
    truth = JobTruth(job, 0, bytes(16), 2)
    number = next(index for index, one in enumerate(job.rounds) if is_odd(one))
    assert truth.packet(0, truth.starts[number] + 1)[1] == 0
    begin = truth.starts[number]
    payload = b"".join(truth.combined(begin + chunk, 1) for chunk in range(truth.chunks(number)))
    assert len(truth.cut(number, payload)) == 12


def test_command_line_runs_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schedules", "150", "--processes", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schedules"] == 150 and report["failed_seed"] is None
    assert main(["--schedules", "1000000", "--processes", "1", "--seconds", "0"]) == 0
    assert "schedules/s" in capsys.readouterr().out


def test_command_line_saves_and_replays_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    next(mutant for mutant in MUTANTS if mutant.name == "pending instead of a replay").plant(monkeypatch)
    saved = tmp_path / "out" / "minimal.json"
    assert main(["--schedules", "50", "--processes", "1", "--save", str(saved)]) == 1
    assert "--seed" in capsys.readouterr().out
    assert main(["--replay", str(saved)]) == 1
    assert "answers:" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["--replay", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["violation"] is None


@pytest.mark.parametrize("path", sorted(SAVED.glob("*.json")), ids=lambda path: path.stem)
def test_schedules_that_once_failed_pass(path: Path) -> None:
    """Minimal ones, of bugs that were found here."""
    assert run(Schedule.from_json(path.read_text())).violation is None


def test_from_json_invalid_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", "[]", "{}", '{"seed": 1, "scenario": {"network": "moon"}, "faults": null}'):
        with pytest.raises(ConfigurationError, match="Not a schedule"):
            Schedule.from_json(text)
    assert main(["--replay", str(tmp_path / "missing.json")]) == 2
    (tmp_path / "binary.json").write_bytes(b"\xff")
    assert main(["--replay", str(tmp_path / "binary.json")]) == 2
    assert "missing.json" in capsys.readouterr().err
