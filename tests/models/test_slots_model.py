# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The models of the protocol: they hold, they find seeded bugs, and the code takes the steps of ``slots.pml``."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lanesum.aggregation.slots import ChunkOrder
from lanesum.errors import LanesumError, MissingToolError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, Kind
from lanesum.server import ServerDecision
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.ticket import JobTicket
from lanesum_fabric.resources import checkout_root
from tests.reference.slots import Decision, SlotTable

pytestmark = pytest.mark.long


MODELS = (checkout_root() or Path()) / "models"
MODEL = MODELS / "slots.pml"
TEXT = "".join(path.read_text() for path in sorted(MODELS.glob("*.pml")))
WORKERS, SLOTS, EPOCHS, CHUNKS = 2, 2, 3, 5
FIRST_EPOCH = (1 << 32) - 1  # wraps after the first round, as in the model


def load_check() -> ModuleType:
    """Import ``check.py`` with its folder on the module path, as for a script."""
    sys.path.insert(0, str(MODELS))
    spec = importlib.util.spec_from_file_location("slots_model_check", MODELS / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check = load_check()


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")


def test_quick_matrix_passes() -> None:
    """In a process of its own, as `make model` runs it."""
    need("spin", "gcc")
    result = subprocess.run(
        [sys.executable, str(MODELS / "check.py"), "--quick", "--json"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads(result.stdout)
    assert document["passed"]
    for run in document["runs"]:
        if run["kind"] == "holds":
            assert run["complete"] and not run["violated"] and run["states"] > 100, run
        else:
            assert run["violated"].startswith("assertion violated"), run
    kinds = [run["kind"] for run in document["runs"]]
    assert kinds.count("holds") >= 6 and kinds.count("mutant") >= 8


def test_matrix_contains_every_seeded_bug() -> None:
    bugs = set(re.findall(r"\bBUG_[A-Z_]+\b", TEXT))
    assert len(bugs) >= 30
    assert bugs == {define for run in check.MATRIX for define in run.defines if define.startswith("BUG_")}
    assert all(run.kind == "mutant" for run in check.MATRIX if any(one.startswith("BUG_") for one in run.defines))


def test_matrix_names_are_unique() -> None:
    names = [run.name for run in check.MATRIX]
    assert len(set(names)) == len(names)
    assert {run.model for run in check.MATRIX} == {"slots", "fallback", "quorum", "racks", "certified"}


def test_model_decisions_have_the_names_of_the_code() -> None:
    names = {decision.name for decision in Decision}
    at_the_server = {decision.name for decision in ServerDecision}
    orders, decisions = re.findall(r"mtype \{(.*?)\};", TEXT, re.DOTALL)
    assert set(re.findall(r"[A-Z_]+", orders)) == {order.name for order in ChunkOrder}
    # The server compares operations and sizes as a switch does; only ``slots`` models that.
    assert set(re.findall(r"[A-Z_]+", decisions)) == names | at_the_server
    reached = {run.defines[-1].partition("=")[2] for run in check.MATRIX if run.kind == "reached"}
    assert reached == (names | at_the_server) - {"REPORT_OVERLAP"}
    assert any(run.kind == "holds" and "NEVER_AT_SERVER=REPORT_OVERLAP" in run.defines for run in check.MATRIX)


def test_tool_missing_from_path_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="apt install spin"):
        check.tool("spin", "spin")
    assert check.main(["--quick"]) == MissingToolError.exit_code


REPORT = """
(Spin Version 6.5.2 -- 6 December 2019)
Full statespace search for:
State-vector 180 byte, depth reached 69, errors: 0
      118 states, stored
      742 transitions (= stored+matched)
  219.748	total actual memory usage
pan: elapsed time 0.1 seconds
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "Warning: Search not completed"),
        ("", "error: max search depth too small"),
        ("Full statespace", "Bit statespace"),
        ("errors: 0", "errors: 1"),
    ],
)
def test_parse_of_an_incomplete_search_does_not_pass(before: str, after: str) -> None:
    run = check.MATRIX[0]
    assert check.parse(run, REPORT).passed
    report = REPORT.replace(before, after) if before else f"{after}\n{REPORT}"
    assert not check.parse(run, report).passed


def test_parse_mutant_passes_with_assertion_only() -> None:
    mutant = next(run for run in check.MATRIX if run.kind == "mutant")
    assert not check.parse(mutant, REPORT).passed
    failed = "pan:1: assertion violated (own<p) (at depth 12)\n" + REPORT.replace("errors: 0", "errors: 1")
    assert check.parse(mutant, failed).passed
    with pytest.raises(LanesumError, match="report"):
        check.parse(mutant, "")


class Code:
    """The slot table and the rounds of the code, which execute the steps of a run of the model."""

    def __init__(self) -> None:
        self.table = SlotTable()
        self.sequences = [RoundSequence(self.ticket(worker), congestion="fixed") for worker in range(WORKERS)]
        self.rounds: dict[int, tuple[int, RoundState]] = {}
        self.packets: dict[tuple[int, int], bytes] = {}
        self.results: dict[int, bytes] = {}
        self.sent: set[tuple[int, int]] = set()
        self.now = 0.0
        self.has_result: set[tuple[int, int]] = set()
        self.from_history = 0

    @staticmethod
    def ticket(worker: int) -> JobTicket:
        return JobTicket(
            job=1, tag=2, worker=worker, workers=WORKERS, slots=SLOTS, accumulator_words=2, epoch=FIRST_EPOCH
        )

    def collect(self, worker: int) -> set[int]:
        """Return the positions that the code sends now."""
        positions = set()
        for datagram in self.sequences[worker].due(self.now):
            header = Header.unpack(datagram)
            position = (header.epoch - FIRST_EPOCH) % (1 << 32) * CHUNKS + header.chunk
            self.packets[worker, position] = bytes(datagram)
            positions.add(position)
        return positions

    def send(self, worker: int, position: int) -> None:
        """Check that the code sends the packet too: `due` returns it, now or earlier."""
        epoch = position // CHUNKS
        current = self.rounds.get(worker)
        if current is None or current[0] != epoch:
            assert current is None or current[1].complete, "a round began before the last one ended"
            words = np.arange(2 * CHUNKS, dtype=np.uint32) + 1000 * worker + 100 * epoch
            sequence = self.sequences[worker]
            if current is not None:
                sequence.finish(current[1])
            self.rounds[worker] = (epoch, sequence.start(LaneOp.ADD32, words))
        self.collect(worker)
        assert (worker, position) in self.packets
        self.sent.add((worker, position))

    def arrive(self, worker: int, position: int) -> Decision:
        datagram = self.packets[worker, position]
        header = Header.unpack(datagram)
        words = np.frombuffer(datagram[HEADER_BYTES:], ">u4").astype(np.uint32)
        decision, entry = self.table.contribute(
            header, words, slot=header.slot, worker=1 << worker, fan_in=WORKERS, code_table=None
        )
        header.workers, header.racks, header.fan_in_workers = entry.workers, 0, WORKERS
        if decision in (Decision.CONTRIBUTE_AND_COMPLETE, Decision.REPLAY):
            header.kind = Kind.RESULT
            self.results[position] = bytes(header.pack()) + entry.words.astype(">u4").tobytes()
            epoch, chunk = divmod(position, CHUNKS)
            exact = [sum(1000 * one + 100 * epoch + 2 * chunk + word for one in range(WORKERS)) for word in range(2)]
            assert entry.words.tolist() == exact
        elif decision is Decision.REPORT_PENDING:
            header.kind, header.words = Kind.PENDING, 0
            self.ask_all_workers(header, position)
        return decision

    def ask_all_workers(self, header: Header, position: int) -> None:
        """Check that every worker retransmits that can by the model's rule `can_retransmit`."""
        for worker in range(WORKERS):
            self.now += 10.0  # no limit on the rate of answers
            self.sequences[worker].receive(bytes(header.pack()), self.now)
            sent = self.collect(worker)
            is_missing = not header.workers >> worker & 1
            current = self.rounds.get(worker)
            if (
                is_missing
                and current
                and (worker, position) in self.sent
                and position + 2 * SLOTS >= current[0] * CHUNKS
            ):
                assert position in sent
                self.from_history += (worker, position) in self.has_result

    def receive(self, worker: int, position: int) -> bool:
        self.has_result.add((worker, position))
        return self.sequences[worker].receive(self.results[position], self.now)


def follow(code: Code, seed: int, *defines: str) -> tuple[int, set[Decision]]:
    """Follow a random run of the model; return the number of steps, and all decisions of the switch."""
    need("spin", "gcc")
    sizes = ("IN_TURN", f"WORKERS={WORKERS}", f"SLOTS={SLOTS}", f"EPOCHS={EPOCHS}", f"CHUNKS={CHUNKS}", *defines)
    words = ["spin", f"-n{seed}", "-T", "-u60000", *(f"-D{one}" for one in sizes), str(MODEL)]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    seen = set()
    steps = 0
    for step in run.stdout.splitlines():
        if found := re.match(r"worker (\d) sends position (\d+)$", step):
            code.send(int(found[1]), int(found[2]))
        elif found := re.match(r"position (\d+) of worker (\d) at the switch: (\w+)$", step):
            decision = code.arrive(int(found[2]), int(found[1]))
            assert decision.name == found[3], step
            seen.add(decision)
        elif found := re.match(r"worker (\d) has the result of position (\d+)$", step):
            assert code.receive(int(found[1]), int(found[2])), step
        elif step == "the switch restarts":
            code.table = SlotTable()
        else:
            continue
        steps += 1
    return steps, seen


IN_EVERY_RUN = {
    Decision.CLAIM,
    Decision.CONTRIBUTE_AND_COMPLETE,
    Decision.REPLAY,
    Decision.REPORT_PENDING,
    Decision.DROP_LATE,
}


@pytest.mark.parametrize("seed", range(1, 9))
def test_code_takes_the_steps_of_the_model(seed: int) -> None:
    """With SlotTable, RoundSequence and RoundState."""
    code = Code()
    steps, seen = follow(code, seed)
    assert steps > 500
    assert seen == IN_EVERY_RUN
    assert all(epoch == EPOCHS - 1 and round_.complete for epoch, round_ in code.rounds.values())


@pytest.mark.parametrize("seed", range(1, 5))
def test_code_retransmits_to_a_restarted_switch(seed: int) -> None:
    code = Code()
    steps, seen = follow(code, seed, "RESTARTS")
    assert steps > 500
    assert Decision.REPORT_PENDING in seen
    assert code.from_history > 0
