# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Learned compression: phases and what they send, leaders, guard, error feedback, checkpoints, and what is refused."""

from __future__ import annotations

import importlib.util
import io
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import Aggregate, CodecContext, CodecError, ErrorFeedback, Part, RoundGroup
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_lab.codec_simulation import Simulation, simulate
from lanesum_lab.lgc import Phase
from lanesum_lab.lgc.selection import SelectionLayout

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed."),
]

WORKERS = 4
PARTS = (Part("conv", 0, 300), Part("weight", 300, 4300), Part("bias", 4300, 4310))
SIZE = PARTS[-1].stop
SCHEDULE: dict[str, Any] = {"density": 0.05, "warm_up": 2, "training": 12, "passes": 15}
INSTANCES = ("lgc", "lgc-server")


def gradients(number: int, workers: int = WORKERS) -> list[np.ndarray]:
    """Half of a gradient is the same for all workers; parameters differ in scale."""
    common = np.random.default_rng([9, number]).laplace(size=SIZE)
    scale = np.repeat([1.0, 0.1, 3.0], [part.stop - part.start for part in PARTS])
    return [
        (scale * (common + np.random.default_rng([worker, number]).laplace(size=SIZE))).astype(np.float32)
        for worker in range(workers)
    ]


def job_of(name: str, workers: int = WORKERS, **options: Any) -> list[Any]:
    return [codecs.get(name, workers=workers, **{**SCHEDULE, **options}) for _ in range(workers)]


def run(job: list[Any], number: int, vectors: list[np.ndarray] | None = None, **options: Any) -> Simulation:
    vectors = gradients(number, len(job)) if vectors is None else vectors
    return simulate(job, vectors, tensor="model", parts=PARTS, round=number, complete=True, **options)


def trained(name: str, **options: Any) -> list[Any]:
    """A job whose next all-reduce is the second compressed one."""
    job = job_of(name, **options)
    for number in range(15):
        run(job, number)
    return job


@pytest.fixture(scope="module", params=INSTANCES)
def states(request: pytest.FixtureRequest) -> tuple[str, list[dict[str, Any]]]:
    """The instance, and the workers' states after the first compressed all-reduce."""
    return request.param, [codec.state_dict() for codec in trained(request.param)]


@pytest.fixture
def job(states: tuple[str, list[dict[str, Any]]]) -> list[Any]:
    name, kept = states
    fresh = job_of(name)
    for codec, state in zip(fresh, kept, strict=True):
        codec.load_state_dict(state)
    return fresh


def top(vector: np.ndarray) -> np.ndarray:
    """Places of the largest values of every parameter, as the leader has them."""
    return SelectionLayout.of(PARTS, SCHEDULE["density"]).select(vector).positions


@pytest.mark.parametrize("name", INSTANCES)
def test_phases_send_what_their_bytes_say(name: str) -> None:
    job = job_of(name)
    sent: dict[Phase, int] = dict.fromkeys(Phase, 0)
    for number in range(18):
        phase = job[0].phase("weight")
        assert phase is (Phase.DENSE if number < 2 else Phase.TRAINING if number < 14 else Phase.COMPRESSED)
        went = run(job, number)
        assert len({one.values.tobytes() for one in went.results}) == 1
        sent[phase] += 4 * went.uplink_words
    for codec in job:
        for phase, counted in codec.bytes.items():
            assert counted.bytes_up == counted.bytes_down == sent[phase] and counted.fallbacks == 0
        assert [codec.bytes[phase].all_reduces for phase in Phase] == [2, 12, 4]
        assert codec.bytes[Phase.COMPRESSED].network_bytes == 4 * codec.architecture.size
    each = {
        phase: (sent[phase] - job[0].bytes[phase].network_bytes) / job[0].bytes[phase].all_reduces for phase in Phase
    }
    assert each[Phase.DENSE] > 4 * SIZE
    assert each[Phase.COMPRESSED] < 0.65 * each[Phase.TRAINING] < 0.3 * each[Phase.DENSE]


@pytest.mark.parametrize("name", INSTANCES)
def test_dense_phase_and_leader_places_are_exact(name: str) -> None:
    job = job_of(name)
    for number in range(8):
        vectors = gradients(number)
        went = run(job, number, keep_residual=True)
        mean = np.mean(vectors, axis=0, dtype=np.float64)
        if number < 2:
            np.testing.assert_allclose(went.values, mean, rtol=1e-5, atol=1e-7)
            continue
        places = top(vectors[number % WORKERS])  # another leader each time
        # The server instance gathers values as bf16.
        rtol = 1e-5 if name == "lgc" else 2**-8
        error = np.mean(np.abs(vectors), axis=0)[places] * rtol + 1e-6
        assert (np.abs(went.values[places] - mean[places]) <= error).all()
        assert np.count_nonzero(went.values) == places.size == sum(math.ceil(n * 0.05) for n in (300, 4000, 10))
        for result, vector in zip(went.results, vectors, strict=True):
            left = vector.copy()
            left[places] = 0
            assert result.residual is not None
            error = np.zeros(SIZE)
            error[places] = np.abs(vector[places]) * rtol
            assert (np.abs(result.residual - left) <= error + 1e-6).all()
        residuals = np.mean([result.residual for result in went.results], axis=0, dtype=np.float64)
        np.testing.assert_allclose(went.values + residuals, mean, atol=1e-6)


def test_compressed_values_are_near_and_residuals_hold_loss(job: list[Any]) -> None:
    for number in range(15, 19):
        vectors = gradients(number)
        went = run(job, number, keep_residual=True)
        places = top(vectors[number % WORKERS])
        mean = np.mean(vectors, axis=0, dtype=np.float64)
        error = np.sum((went.values[places] - mean[places]) ** 2) / np.sum(mean[places] ** 2)
        assert error < 0.35
        assert set(np.flatnonzero(went.values)) <= set(places.tolist())
        left = np.mean([one.residual for one in went.results], axis=0, dtype=np.float64)
        # Nothing is forgotten: what was decoded and what is left make the mean.
        np.testing.assert_allclose(went.values + left, mean, atol=2e-3 * np.abs(mean).max())
    assert all(codec.bytes[Phase.COMPRESSED].fallbacks == 0 for codec in job)


def test_equal_gradients_come_back_as_one(states: tuple[str, list[dict[str, Any]]]) -> None:
    name, kept = states
    values = []
    for workers in (1, 2, 4):
        job = job_of(name, workers, guard=1.0)
        for codec in job:
            codec.load_state_dict(kept[1])
        values.append(run(job, 16, [gradients(16)[0]] * workers).values)
        assert job[0].bytes[Phase.COMPRESSED].fallbacks == 0
    for other in values[1:]:
        if name == "lgc":
            np.testing.assert_allclose(other, values[0], rtol=1e-4, atol=1e-5 * np.abs(values[0]).max())
        else:  # what others say is not made by the leader's head
            assert np.sum((other - values[0]) ** 2) < 0.5 * np.sum(values[0] ** 2)


def test_sum_is_the_mean_times_the_workers(job: list[Any], states: tuple[str, list[dict[str, Any]]]) -> None:
    other = job_of(states[0])
    for codec, state in zip(other, states[1], strict=True):
        codec.load_state_dict(state)
    assert (run(job, 15, average=False).values == run(other, 15).values * np.float32(WORKERS)).all()


def poisoned(name: str, change: Callable[[np.ndarray], np.ndarray], states: list[dict[str, Any]]) -> list[Any]:
    # The server instance's gain and innovations repair much of what is wrong.
    job = job_of(name, **({} if name == "lgc" else {"innovation": 0.05, "guard": 0.036}))
    for codec, state in zip(job, states, strict=True):
        codec.load_state_dict({**state, "network": {key: change(one) for key, one in state["network"].items()}})
    return job


@pytest.mark.parametrize(
    "change",
    [
        np.zeros_like,
        lambda one: np.full_like(one, np.nan),
        lambda one: np.full_like(one, np.inf),
        lambda one: one * np.float32(-1.5),
        lambda one: np.full_like(one, 1e30),
        lambda one: np.random.default_rng(0).normal(size=one.shape).astype(np.float32),
    ],
    ids=["zero", "nan", "inf", "turned", "huge", "random"],
)
def test_guard_rejects_a_poisoned_autoencoder(states: tuple[str, list[dict[str, Any]]], change: Any) -> None:
    job = poisoned(states[0], change, states[1])
    vectors = gradients(15)
    went = run(job, 15, keep_residual=True)
    places = top(vectors[15 % WORKERS])
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    np.testing.assert_allclose(went.values[places], mean[places], rtol=1e-5, atol=1e-6)
    assert all(codec.bytes[Phase.COMPRESSED].fallbacks == 1 for codec in job)
    for one in went.results:
        assert one.residual is not None and np.abs(one.residual[places]).max() < 1e-6


@pytest.mark.parametrize("least", [1e-25, 1e-39])
@pytest.mark.parametrize("name", INSTANCES)
def test_leader_of_tiny_values_keeps_autoencoder_usable(name: str, least: float) -> None:
    """In units of such a leader's values those of the others leave float32, or their squares do."""
    job = job_of(name)
    for number in range(19):
        vectors = gradients(number)
        if number == 5:
            vectors[number % WORKERS][300:4300] *= np.float32(least)
        run(job, number, vectors)
    assert job[0].network.usable
    assert all(codec.bytes[Phase.COMPRESSED].fallbacks == 0 for codec in job)


def test_guard_accepts_a_sound_autoencoder(states: tuple[str, list[dict[str, Any]]]) -> None:
    job = poisoned(states[0], np.copy, states[1])
    for number in range(15, 19):
        run(job, number)
    assert all(codec.bytes[Phase.COMPRESSED].fallbacks == 0 for codec in job)


def test_error_feedback_says_everything_in_the_end(states: tuple[str, list[dict[str, Any]]]) -> None:
    name, kept = states
    job = [ErrorFeedback(codec) for codec in job_of(name)]
    for codec, state in zip(job, kept, strict=True):
        codec.codec.load_state_dict(state)  # type: ignore[attr-defined]
    vectors, total, rounds = gradients(50), np.zeros(SIZE), 200
    for number in range(rounds):
        total += run(job, 15 + number, vectors).values
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    left = np.mean([codec.memory("model") for codec in job], axis=0, dtype=np.float64)
    np.testing.assert_allclose(total + left, rounds * mean, atol=1e-3 * rounds * np.abs(mean).max())
    assert np.linalg.norm(total / rounds - mean) < 0.25 * np.linalg.norm(mean)


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("stop", [1, 5, 14, 16])
def test_resumed_is_as_if_nothing_had_happened(name: str, stop: int) -> None:
    """Through a file, as ``torch.load`` takes it by default; stopped in each phase, and where one ends."""
    import torch

    from lanesum.torch.checkpoint import _with_tensors

    here, later = ([ErrorFeedback(codec) for codec in job_of(name)] for _ in range(2))
    for number in range(stop):
        run(here, number)
    for one, before in zip(later, here, strict=True):
        file = io.BytesIO()
        torch.save(_with_tensors(before.state_dict()), file)
        file.seek(0)
        one.load_state_dict(torch.load(file))
    for number in range(stop, 18):
        went, again = run(here, number), run(later, number)
        assert [words.tobytes() for words in went.aggregates] == [words.tobytes() for words in again.aggregates]
        assert went.values.tobytes() == again.values.tobytes()
    first, second = (one[0].codec for one in (here, later))
    assert first.bytes == second.bytes and first.network.check == second.network.check  # type: ignore[attr-defined]


def test_checkpoints_of_others_are_refused_and_change_nothing(states: tuple[str, list[dict[str, Any]]]) -> None:
    name, kept = states
    state = kept[0]
    codec = job_of(name)[0]
    other = next(one for one in INSTANCES if one != name)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "not the state of codec"),
        ({**state, "codec": other}, "not the state of codec"),
        ({**state, "architecture": [9, 16, 1]}, "channels, width and heads .* Build the codec with those"),
        ({**state, "network": {}}, "autoencoder of this state has other parameters than that of this codec"),
        (
            {**state, "network": {**state["network"], "up0": np.zeros((1, 2, 3), np.float32)}},
            "Parameter 'up0' of the autoencoder has shape",
        ),
        ({**state, "counts": {"a": "b"}}, "no counts of the all-reduces"),
        ({**state, "sizes": None}, "This state of codec .* is incomplete"),
        ({**state, "bytes": {"late": {}}}, "This state of codec .* is incomplete"),
        (
            {**state, "trainer": {"parameters": {}}},
            "autoencoder of this state has other parameters than that of this codec",
        ),
        ({**state, "trainer": {}}, "autoencoder in training"),
    ]
    learning = job_of(name)
    for number in range(4):
        run(learning, number)
    training = learning[0].state_dict()
    for moments in ({"other": {}}, {"encoder": {}}, {"encoder": training["trainer"]["moments"]["up0"]}):
        wrong.append(({**training, "trainer": {**training["trainer"], "moments": moments}}, "autoencoder in training"))
    for one, match in wrong:
        with pytest.raises(CodecError, match=match):
            codec.load_state_dict(one)
        assert codec.network is None and codec.phase("weight") is Phase.DENSE
    with pytest.raises(CodecError, match="channels, width and heads"):
        codecs.get(name, workers=4, channels=5).load_state_dict(state)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "parts",
    [
        (Part("conv", 0, 310), Part("weight", 310, 4310)),
        (Part("conv", 0, 300), Part("weights", 300, 4310)),
        (),
    ],
)
def test_checkpoint_of_another_model_is_refused(job: list[Any], parts: tuple[Part, ...]) -> None:
    with pytest.raises(CodecError, match=r"trained on another model: .* Load the checkpoint of this model, or start"):
        simulate(job, gradients(15), tensor="model", parts=parts, round=15)


def test_workers_that_differ_are_told(job: list[Any], states: tuple[str, list[dict[str, Any]]]) -> None:
    name, kept = states
    behind = job_of(name, warm_up=3)
    for codec, state in zip(behind, kept, strict=True):
        codec.load_state_dict({**state, "counts": dict.fromkeys(state["counts"], 14)})
    with pytest.raises(
        CodecError, match=r"have different histories of tensor 'model'.*Load the same checkpoint|do not match"
    ):
        run([*job[:3], behind[3]], 15)
    other = poisoned(name, lambda one: one * np.float32(2), kept)
    with pytest.raises(CodecError, match="or different autoencoders"):
        run([*poisoned(name, np.copy, kept)[:3], other[3]], 15)
    with pytest.raises(CodecError, match="do not match"):
        run([*job_of(name)[:3], other[3]], 15)


@pytest.mark.parametrize("name", INSTANCES)
def test_nothing_is_imported_in_an_all_reduce(name: str) -> None:
    """PyTorch's optimizers take seconds, for which the other workers would wait."""
    script = f"""
import sys
import numpy as np
from lanesum import codecs
from lanesum_lab.codec_simulation import simulate

codec = codecs.get({name!r}, workers=1, warm_up=0, training=1, passes=1)
before = set(sys.modules)
for number in range(3):
    simulate([codec], [np.ones(5000, np.float32)], tensor="t", round=number)
print(codec.network is not None, len(set(sys.modules) - before))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    known, imported = ran.stdout.split()
    assert known == "True" and int(imported) < 10


@pytest.mark.parametrize("name", INSTANCES)
def test_next_all_reduce_waits_for_the_training_step(name: str) -> None:
    """Rounds of a phase in which something is learned, or told to all, never say that they are the last."""
    (codec,) = job_of(name, 1, training=2, guard=1.0)
    for number in range(6):
        phase = codec.phase("weight")
        steps = codec.all_reduce(gradients(number, 1)[0], CodecContext(workers=1, worker=0, parts=PARTS, complete=True))
        said, made = [], next(steps)
        try:
            while True:
                group = isinstance(made, RoundGroup)
                said.append(any(one.last() for one in made.rounds))
                replies = tuple(Aggregate(one.words.copy(), 1) for one in made.rounds)
                made = steps.send(replies if group else replies[0])
        except StopIteration:
            pass
        assert said[:-1] == [False] * (len(said) - 1)
        assert said[-1] is (phase is Phase.DENSE)


def test_few_values_stay_without_an_autoencoder() -> None:
    for name in INSTANCES:
        job = job_of(name, 2)
        vectors = [np.random.default_rng(worker).normal(size=300).astype(np.float32) for worker in range(2)]
        for number in range(16):
            values = simulate(job, vectors, tensor="small", round=number).values
        assert np.count_nonzero(values) == 15 and job[0].network is None
        assert job[0].bytes[Phase.TRAINING].all_reduces == 14


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("fresh", [True, False])
def test_bad_input_is_refused(name: str, fresh: bool, request: pytest.FixtureRequest) -> None:
    x = gradients(0)[0]

    def job() -> list[Any]:
        return job_of(name, warm_up=2 if fresh else 0)

    for bad in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[307] = bad
        with pytest.raises(CodecError, match=r"'weight': element 7 is .*skip the step or lower the loss scale"):
            run(job(), 0, [y] * WORKERS)
    for wrong in (x.astype(np.float64), x.astype(np.float16), x.astype(np.int64), x.reshape(10, -1), np.float32(1)):
        with pytest.raises(CodecError, match="as a float32 array of one dimension"):
            run(job(), 0, [wrong] * WORKERS)  # type: ignore[list-item]
    with pytest.raises(CodecError, match="2,147,483,648 values are more"):
        run(job(), 0, [np.broadcast_to(np.float32(1), 2**31)] * WORKERS)
    with pytest.raises(CodecError, match=r"do not match|have different histories"):
        simulate(job(), [x, x, x, x[:4000]], tensor="model")
    empty = simulate(job(), [np.zeros(0, np.float32)] * WORKERS, tensor="model", keep_residual=True)
    assert empty.values.size == 0 and not empty.aggregates
    assert simulate(job(), [np.float32([2])] * WORKERS, tensor="model").values == 2
    strided, copied = (run(job(), 0, [y] * WORKERS).values for y in (np.repeat(x, 2)[::2], x))
    assert strided.tobytes() == copied.tobytes()


def test_zeros_and_scales_that_differ_much() -> None:
    for name in INSTANCES:
        job = trained(name)
        assert not run(job, 15, [np.zeros(SIZE, np.float32)] * WORKERS).values.any()
        vectors = gradients(16)
        vectors[0][300:4300] = 0  # the leader has zeros there, so all workers send zeros
        went = run(job, 16, vectors, keep_residual=True)
        if name == "lgc":
            assert not went.values[300:4300].any()
            assert (went.results[1].residual[300:4300] == vectors[1][300:4300]).all()  # type: ignore[index]
        huge = [vector * np.float32(1e37) for vector in gradients(17)]
        values = run(job, 17, huge).values
        assert np.isfinite(values).all() and values.any()


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanesum_lab.lgc import training

    monkeypatch.setattr(training.importlib.util, "find_spec", lambda name: None)
    for name in INSTANCES:
        with pytest.raises(
            MissingToolError, match="Learned compression trains an autoencoder with PyTorch, which is not installed"
        ):
            codecs.get(name, workers=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"density": 0.0}, r"Invalid density=0\.0 for codec lgc-server: expected 0 < density <= 1"),
        ({"warm_up": -1}, "Invalid warm_up=-1 or training=.*: expected integers from 0 and from 1"),
        ({"training": 0}, "or training=0: expected integers from 0 and from 1"),
        ({"channels": 17}, "Invalid channels=17 or width=.*: expected 1 to 16 channels and an even width from 2 to 64"),
        ({"width": 7}, "or width=7: expected 1 to 16 channels and an even width from 2 to 64"),
        ({"latent_bits": 1}, "Invalid latent_bits=1: expected an integer from 2 to 16"),
        ({"guard": 0.0}, r"Invalid guard=0\.0: expected 0 < guard <= 1"),
        ({"guard": 1.5}, r"Invalid guard=1\.5: expected 0 < guard <= 1"),
        ({"passes": 0}, "Invalid passes=0 for codec lgc-server: expected an integer from 1"),
        ({"innovation": 0.0}, r"Invalid innovation=0\.0: expected 0 < innovation <= 1"),
        ({"innovation_bits": 1}, "Invalid innovation_bits=1: expected an integer from 2 to 16"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        codecs.get("lgc-server", workers=2, **wrong)
