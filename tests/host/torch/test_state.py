# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The state of the hook without DDP: one worker, buckets made by hand."""

from __future__ import annotations

import atexit
import functools
import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lanesum.torch
from lanesum import environment
from lanesum.codecs import CodecError, Policy, Rule
from lanesum.errors import ConfigurationError
from lanesum.launch.run_folder import RunFolder
from lanesum.session import Session
from lanesum.transport.errors import SessionClosedError
from tests.host.torch.buckets import FakeBucket, average, parameters, take_step
from tests.host.torch.ranks import served_job
from tests.paths import ROOT


@pytest.fixture
def session() -> Iterator[Session]:
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc", deadline_s=200.0) as session:
        yield session


@pytest.fixture
def strict_session() -> Iterator[Session]:
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc", non_finite="raise") as session:
        yield session


def test_error_feedback_follows_parameter_into_another_bucket(session: Session) -> None:
    first, second = parameters(100, 200)
    with lanesum.torch.State(session, error_feedback=True) as state:
        sent = torch.randn(300, generator=torch.Generator().manual_seed(1))
        got = average(state, FakeBucket(sent.clone(), [first, second]))
        take_step([first, second])
        memory = state.state_dict()["memory"]
        assert list(memory) == ["#0", "#1"]
        torch.testing.assert_close(torch.cat([memory["#0"], memory["#1"]]), sent - got)
        # A zero gradient, alone in its bucket: only the residual is sent, and the new one is smaller.
        average(state, FakeBucket(torch.zeros(200), [second]))
        take_step([second])
        norms = state.error_feedback.norms() if state.error_feedback is not None else {}
        assert 0 < norms["#1"] < memory["#1"].norm()
        assert norms["#0"] == pytest.approx(memory["#0"].norm().item())
        stats = state.stats
        assert (stats.buckets, stats.elements) == (2, 500)
        assert stats.transport.packets_sent > 0 and stats.busy_s > 0


def test_checkpoint_restores_error_feedback(session: Session) -> None:
    model = torch.nn.Linear(30, 10)
    shown = list(model.parameters())
    with lanesum.torch.State(session, error_feedback=True, model=model) as state:
        average(state, FakeBucket(torch.arange(310.0), shown))
        take_step(shown)
        file = io.BytesIO()
        torch.save(state.state_dict(), file)
        kept = state.state_dict()["memory"]
        file.seek(0)
        loaded = torch.load(file, weights_only=True)
        fresh = lanesum.torch.State(session, error_feedback=True, model=model)
        fresh.load_state_dict(loaded)
        assert sorted(fresh.state_dict()["memory"]) == ["bias", "weight"]
        for name, vector in fresh.state_dict()["memory"].items():
            torch.testing.assert_close(vector, kept[name], rtol=0, atol=0)


def test_checkpoints_of_others_are_refused(session: Session) -> None:
    state = lanesum.torch.State(session, error_feedback=True)
    with pytest.raises(ConfigurationError, match="not the state of a lanesum hook: it has no 'memory'"):
        state.load_state_dict({})
    with pytest.raises(ConfigurationError, match="This state is of codec 'fixed', not 'thc'"):
        state.load_state_dict({"codec": "fixed", "memory": {}})
    seven = {"codec": "thc", "parameters": {"#0": 7}, "worker": [0, 1], "memory": {"#0": torch.zeros(7)}}
    with pytest.raises(ConfigurationError, match="The error feedback of '#0' is not a vector of finite numbers"):
        state.load_state_dict({**seven, "memory": {"#0": torch.full((7,), float("nan"))}})
    with pytest.raises(ConfigurationError, match="does not say which worker has saved it"):
        state.load_state_dict({**seven, "worker": None})
    state.load_state_dict(seven)
    with pytest.raises(ConfigurationError, match="8 elements, its error feedback 7"):
        lanesum.torch.hook(state, FakeBucket(torch.zeros(8), parameters(8)))
    off = lanesum.torch.State(session, error_feedback=False)
    with pytest.raises(ConfigurationError, match="error feedback is off"):
        off.load_state_dict(seven)


def test_stats_report_error_of_codec(session: Session) -> None:
    generator = torch.Generator().manual_seed(1)
    with lanesum.torch.State(session, codec="thc error=0.01") as state:
        assert (state.stats.error_bound, state.stats.error_estimate) == (0, 0)
        sent = torch.randn(20_000, generator=generator) * torch.logspace(-3, 0, 20_000)
        mean = average(state, FakeBucket(sent.clone(), parameters(20_000)))
        measured = float((mean - sent).square().sum() / sent.square().sum())
        told = state.stats.as_dict()
    assert 0 < told["error_bound"] <= 0.01
    assert told["error_estimate"] == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize("codec", ["thc", "thc error=0.01"])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizer_of_model_decides_error_of_small_gradients(
    session: Session, optimizer: type[torch.optim.Optimizer], codec: str
) -> None:
    """Until the first step it is not known, and counts as adaptive."""
    sent = torch.randn(20_000, generator=torch.Generator().manual_seed(1)) * torch.logspace(-2, 0, 20_000)
    shown, errors = parameters(20_000), []
    with lanesum.torch.State(session, codec=codec) as state:
        for _ in range(2):
            mean = average(state, FakeBucket(sent.clone(), shown))
            errors.append(float((mean - sent)[:5000].square().sum() / sent[:5000].square().sum()))
            shown[0].grad = mean.clone()
            optimizer(shown).step()
        proportional = optimizer is torch.optim.SGD
        saved = state.state_dict()
        assert state.steps is not None
        state.steps.adaptive = True  # as at the start of a process
        state.load_state_dict(saved)
        assert state.steps.adaptive != proportional
        assert bool(saved["memory"]) == (proportional and codec != "thc")
        assert (errors[1] > 2 * errors[0]) == proportional


def saved_by(worker: int, workers: int) -> dict[str, Any]:
    memory = {"#0": torch.full((7,), float(worker))} if worker else {}  # the first one has none yet
    return {"codec": "thc", "parameters": {"#0": 7}, "worker": [worker, workers], "memory": memory}


def test_residuals_of_other_workers_need_all_states(session: Session) -> None:
    with lanesum.torch.State(session, error_feedback=True) as state:
        state.load_state_dict(saved_by(0, 1))
        for others in (saved_by(1, 2), saved_by(0, 2), [saved_by(0, 3), saved_by(1, 3)], [saved_by(1, 2)] * 2):
            with pytest.raises(lanesum.torch.ForeignResidualsError, match=r"error feedback of worker . of ., and this"):
                state.load_state_dict(others)
            assert state.state_dict()["memory"] == {}
        state.load_state_dict([saved_by(number, 4) for number in range(4)])
        assert state.state_dict()["memory"]["#0"].tolist() == [1.5] * 7  # (0 + 1 + 2 + 3) / 4


def test_state_without_residuals_is_of_any_worker(session: Session) -> None:
    """Often rank 0 alone saves a checkpoint, which all ranks load."""
    with lanesum.torch.State(session, codec="thc") as state:
        state.load_state_dict({**saved_by(0, 2), "adaptive": False})
        assert state.steps is not None and not state.steps.adaptive
        with pytest.raises(ConfigurationError, match="error feedback is off"):
            state.load_state_dict(saved_by(1, 2))


def test_sparse_residuals_of_other_workers_are_averaged(session: Session) -> None:
    """The history of ``topk`` is of sums of other workers; the memory of a policy is its own."""

    def states(codec: str) -> list[dict[str, Any]]:
        return [{**saved_by(number, 2), "codec": codec, "state": {}} for number in range(2)]

    with lanesum.torch.State(session, codec="topk") as state:
        state.load_state_dict(states("topk"))
        assert state.state_dict()["memory"]["#0"].tolist() == [0.5] * 7
        mean = average(state, FakeBucket(torch.zeros(7), parameters(7)))
        assert mean.abs().max() > 0
    policy = Policy(workers=1, rules=(Rule("sketch"),))
    told = "The state of codec 'policy' belongs to 2 workers, not to 1"
    with served_job(1, "fixed") as (ticket,), lanesum.torch.State(Session(ticket), codec=policy) as other:
        assert other.error_feedback is None
        with pytest.raises(ConfigurationError, match=told):
            other.load_state_dict([{**one, "memory": {}} for one in states("policy")])


def test_arguments_of_other_types_are_refused(session: Session) -> None:
    with pytest.raises(ConfigurationError, match=r"No argument is 'codecs'\. Known arguments: admit, busy_s, codec, "):
        lanesum.torch.State.join(codecs="thc")
    for name in ("admit", "take_over", "hierarchical", "step_aside"):
        with pytest.raises(ConfigurationError, match=f"Invalid {name}='no': expected True or False"):
            lanesum.torch.State.join(**{name: "no"})
    for name in ("group", "local_group"):
        with pytest.raises(ConfigurationError, match=r"Invalid group \[0\]: expected a process group with this rank"):
            lanesum.torch.State.join(**{name: [0]})
    wanted = "expected True, False or None, and a GradScaler or None"
    with pytest.raises(ConfigurationError, match=f"Invalid error_feedback='no' or scaler=None: {wanted}"):
        lanesum.torch.State(session, error_feedback="no")
    with pytest.raises(ConfigurationError, match=f"Invalid error_feedback=None or scaler=1024.0: {wanted}"):
        lanesum.torch.State(session, scaler=1024.0)


def test_join_reads_ticket_from_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served_job(1, "thc") as (ticket,):
        (tmp_path / "ticket.json").write_text(ticket.to_json())
        monkeypatch.setenv("LANESUM_TICKET", str(tmp_path / "ticket.json"))
        rounds = []
        with lanesum.torch.State.join(codec="fixed", deadline_s=200.0, observer=rounds.append) as state:
            assert state.session.ticket == ticket
            mean = average(state, FakeBucket(torch.arange(5.0)))
        torch.testing.assert_close(mean, torch.arange(5.0), rtol=1e-6, atol=1e-6)
        assert len(rounds) == 1


@pytest.mark.parametrize(
    ("codec", "default"),
    [("fixed", False), ("thc", False), ("thc bits=3", False), ("thc error=0.01", True), ("topk", True)],
)
def test_error_feedback_by_default_is_for_biased_codecs(session: Session, codec: str, default: bool) -> None:
    assert (lanesum.torch.State(session, codec=codec).error_feedback is not None) == default
    assert lanesum.torch.State(session, codec=codec, error_feedback=True).error_feedback is not None
    assert lanesum.torch.State(session, codec=codec, error_feedback=False).error_feedback is None


def test_error_feedback_of_quorum_keeps_left_out_gradients(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "ticket", replace(session.ticket, quorum=1))
    assert lanesum.torch.State(session).error_feedback is not None


def test_state_without_leave_writes_counts_at_exit(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lanesum launch`` once reported the first step alone."""
    monkeypatch.setenv(environment.RUN_FOLDER, str(tmp_path))
    registered: list[tuple[Any, ...]] = []
    monkeypatch.setattr(atexit, "register", lambda *call: registered.append(call))
    with lanesum.torch.State(session) as state:
        for last in (True, False, True, True):  # three steps of one or two buckets
            average(state, FakeBucket(torch.ones(64), parameters(64), last=last))
        ((write, *arguments),) = registered
        write(*arguments)
        assert [one["steps"] for one in RunFolder(tmp_path).stats().values()] == [3]
    RunFolder(tmp_path).write_stats(session.ticket.worker, {"steps": 1}, session.ticket.job)  # of a later state
    write(*arguments)
    assert [one["steps"] for one in RunFolder(tmp_path).stats().values()] == [1]


def test_leave_twice_adds_one_round(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "leave", functools.partial(session.leave, 200.0))
    state = lanesum.torch.State(session)
    average(state, FakeBucket(torch.arange(5.0)))
    rounds = session.stats.rounds
    assert state.leave() and not state.leave()
    assert session.stats.rounds == rounds + 1
    with pytest.raises(SessionClosedError, match="State is closed"):
        lanesum.torch.hook(state, FakeBucket(torch.arange(5.0)))


def test_leave_after_failure_closes(strict_session: Session) -> None:
    state = lanesum.torch.State(strict_session)
    with pytest.raises(CodecError):
        average(state, FakeBucket(torch.tensor([float("nan")]), parameters(1)))
    assert not state.leave()


def test_buckets_after_foreign_exception_name_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("no memory")

    with lanesum.torch.State(session) as state:
        monkeypatch.setattr(session, "all_reduce_async", fail)
        with pytest.raises(MemoryError):
            state.all_reduce(torch.ones(3)).wait()
        with pytest.raises(
            SessionClosedError, match=r"an earlier all-reduce has failed: MemoryError: no memory\. Close the State"
        ):
            state.all_reduce(torch.ones(3))
        assert isinstance(state.error, MemoryError)


def test_empty_bucket_sends_nothing_and_sparse_its_rows(session: Session) -> None:
    with lanesum.torch.State(session) as state:
        assert average(state, FakeBucket(torch.zeros(0))).numel() == 0
        assert session.stats.packets_sent == 0
        rows = torch.sparse_coo_tensor([[7, 2, 7]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (1000, 2))
        mean = average(state, FakeBucket(rows, parameters(2000)))
        assert mean.is_coalesced() and torch.equal(mean.to_dense(), rows.to_dense())
        assert state.stats.elements == 4 and state.state_dict()["memory"] == {}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int32])
def test_complex_and_integer_buckets_are_refused(session: Session, dtype: torch.dtype) -> None:
    """DDP passes complex gradients on as they are: half of each would be lost."""
    bucket = FakeBucket(torch.ones(5, dtype=dtype), parameters(5))
    with lanesum.torch.State(session) as state:
        with pytest.raises(ConfigurationError, match=f"lanesum sums floating-point .* {dtype}. Convert integers"):
            lanesum.torch.hook(state, bucket)
        assert average(state, FakeBucket(torch.ones(5), parameters(5))).numel() == 5


def test_not_a_number_keeps_error_feedback(session: Session) -> None:
    shown = parameters(3)
    with lanesum.torch.State(session, error_feedback=True) as state:
        average(state, FakeBucket(torch.tensor([1.0, 5.0, 2.0]), shown))
        take_step(shown)
        before = state.state_dict()["memory"]["#0"]
        assert average(state, FakeBucket(torch.tensor([1.0, float("nan"), 2.0]), shown)).isnan().all()
        assert torch.equal(state.state_dict()["memory"]["#0"], before)
        assert average(state, FakeBucket(torch.tensor([1.0, 5.0, 2.0]), shown)).isfinite().all()


def test_nan_is_named_and_ends_strict_state(strict_session: Session) -> None:
    """Outside backward the future raises; the original exception stays in ``State.error``."""
    bucket = FakeBucket(torch.tensor([1.0, float("nan"), 2.0]), parameters(3))
    with lanesum.torch.State(strict_session) as state:
        with pytest.raises(CodecError, match="element 1 is nan"):
            average(state, bucket)
        assert isinstance(state.error, CodecError)
        with pytest.raises(CodecError):
            lanesum.torch.hook(state, bucket)
        assert state.state_dict()["memory"] == {}


# The function registered first runs last, after all that lanesum has registered.
_LEAVE = """
import atexit, threading
atexit.register(lambda: print(*(one.name for one in threading.enumerate() if one.name.startswith("lanesum-job"))))
import sys, lanesum.torch, torch
from lanesum.session import Session
from lanesum.transport.errors import SessionClosedError
from lanesum.transport import JobTicket
from tests.host.torch.buckets import FakeBucket
state = lanesum.torch.State(Session(JobTicket.from_json(sys.argv[1]), deadline_s=600))
lanesum.torch.hook(state, FakeBucket(torch.ones(8), [torch.nn.Parameter(torch.ones(8))]))
print("leaving")
"""


def test_waiting_bucket_does_not_keep_process_alive() -> None:
    """The second worker never joins and the deadline is ten minutes, but the script ends, after its thread."""
    with served_job(2, "thc", absent=(1,)) as (ticket,):
        ended = subprocess.run(
            [sys.executable, "-c", _LEAVE, ticket.to_json()],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=250,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "leaving\n\n", "")
