# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The model of the slot protocol: it holds, it can fail, and it takes the same steps as the code."""

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

from lanesum.aggregation.slots import Decision, SlotTable
from lanesum.errors import LanesumError, MissingToolError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, Kind
from lanesum.resources import checkout_root
from lanesum.transport.rounds import RoundSequence
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow

MODELS = (checkout_root() or Path()) / "models"
MODEL = MODELS / "slots.pml"
WORKERS, SLOTS, EPOCHS, CHUNKS = 2, 2, 3, 5
FIRST_EPOCH = (1 << 32) - 1  # wraps after the first round, as in the model


def load_check() -> ModuleType:
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


def test_quick_matrix() -> None:
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
    assert kinds.count("holds") >= 3 and kinds.count("mutant") >= 3


def test_every_bug_of_the_model_is_in_the_matrix() -> None:
    bugs = set(re.findall(r"\bBUG_[A-Z_]+\b", MODEL.read_text()))
    assert len(bugs) >= 8
    assert bugs == {run.name for run in check.MATRIX if run.kind == "mutant"}


def test_decisions_have_the_names_of_the_code() -> None:
    names = {decision.name for decision in Decision}
    declared = re.findall(r"mtype \{(.*?)\}", MODEL.read_text(), re.DOTALL)[1]
    assert set(re.findall(r"[A-Z_]+", declared)) == names
    assert set(check.REACHED) == names


def test_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
def test_a_search_that_was_cut_short_does_not_pass(before: str, after: str) -> None:
    run = check.MATRIX[0]
    assert check.parse(run, REPORT).passed
    report = REPORT.replace(before, after) if before else f"{after}\n{REPORT}"
    assert not check.parse(run, report).passed


def test_a_bug_counts_as_found_by_an_assertion_only() -> None:
    mutant = next(run for run in check.MATRIX if run.kind == "mutant")
    assert not check.parse(mutant, REPORT).passed
    failed = "pan:1: assertion violated (own<p) (at depth 12)\n" + REPORT.replace("errors: 0", "errors: 1")
    assert check.parse(mutant, failed).passed
    with pytest.raises(LanesumError, match="report"):
        check.parse(mutant, "")


class Code:
    """The slot table and the rounds of the code, taken through the steps of a run of the model."""

    def __init__(self) -> None:
        self.table = SlotTable()
        self.sequences = [RoundSequence(self.ticket(worker), window=64) for worker in range(WORKERS)]
        self.windows: dict[int, tuple[int, RoundWindow]] = {}
        self.allowed: dict[int, set[int]] = {worker: set() for worker in range(WORKERS)}
        self.packets: dict[tuple[int, int], bytes] = {}
        self.results: dict[int, bytes] = {}

    @staticmethod
    def ticket(worker: int) -> JobTicket:
        return JobTicket(
            job=1, tag=2, worker=worker, workers=WORKERS, slots=SLOTS, accumulator_words=2, epoch=FIRST_EPOCH
        )

    def send(self, worker: int, position: int) -> None:
        """The code would send the packet too: `due` names it, now or earlier."""
        epoch, chunk = divmod(position, CHUNKS)
        current = self.windows.get(worker)
        if current is None or current[0] != epoch:
            assert current is None or current[1].finished, "a round began before the last one ended"
            words = np.arange(2 * CHUNKS, dtype=np.uint32) + 1000 * worker + 100 * epoch
            sequence = self.sequences[worker]
            if current is not None:
                sequence.finish(current[1])
            window = sequence.start(LaneOp.ADD32, words)
            self.windows[worker] = (epoch, window)
        window = self.windows[worker][1]
        self.allowed[worker] |= {epoch * CHUNKS + one for one in window.due(0.0)}
        assert position in self.allowed[worker]
        self.packets[worker, position] = bytes(window.packet(chunk))

    def arrive(self, worker: int, position: int) -> Decision:
        datagram = self.packets[worker, position]
        header = Header.unpack(datagram)
        words = np.frombuffer(datagram[HEADER_BYTES:], ">u4").astype(np.uint32)
        decision, entry = self.table.contribute(
            header, words, slot=header.slot, worker=1 << worker, fan_in=WORKERS, code_table=None
        )
        if decision in (Decision.CONTRIBUTE_AND_COMPLETE, Decision.REPLAY):
            header.kind, header.workers = Kind.RESULT, entry.workers
            self.results[position] = bytes(header.pack()) + entry.words.astype(">u4").tobytes()
            epoch, chunk = divmod(position, CHUNKS)
            exact = [sum(1000 * one + 100 * epoch + 2 * chunk + word for one in range(WORKERS)) for word in range(2)]
            assert entry.words.tolist() == exact
        return decision

    def receive(self, worker: int, position: int) -> bool:
        return self.windows[worker][1].receive(self.results[position], 0.0)


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_code_takes_the_steps_of_the_model(seed: int) -> None:
    """Random runs of the model, step for step through SlotTable, RoundSequence and RoundWindow."""
    need("spin", "gcc")
    sizes = (f"-DWORKERS={WORKERS}", f"-DSLOTS={SLOTS}", f"-DEPOCHS={EPOCHS}", f"-DCHUNKS={CHUNKS}")
    run = subprocess.run(
        ["spin", f"-n{seed}", "-T", "-u60000", *sizes, str(MODEL)], capture_output=True, text=True, check=True
    )
    code = Code()
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
        else:
            continue
        steps += 1
    assert steps > 500
    assert seen == {
        Decision.CLAIM,
        Decision.CONTRIBUTE_AND_COMPLETE,
        Decision.REPLAY,
        Decision.REPORT_PENDING,
        Decision.DROP_LATE,
    }
    assert all(epoch == EPOCHS - 1 and window.finished for epoch, window in code.windows.values())
