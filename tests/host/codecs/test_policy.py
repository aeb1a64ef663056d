# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A codec for each parameter: which one, error feedback by parameter, warm-up, and gradients that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import (
    THC,
    CodecContext,
    CodecError,
    ErrorFeedback,
    NotFiniteError,
    Part,
    Policy,
    Result,
    RoundGroup,
    Rule,
    TopK,
    UnencodableError,
)
from lanesum.codecs.base import Vector
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import Simulation, simulate

SIZES = {"embedding": 20_000, "bias": 30, "weight": 3000, "norm": 7}
PARTS: tuple[Part, ...] = tuple(
    Part(key, sum(list(SIZES.values())[:i]), sum(list(SIZES.values())[: i + 1])) for i, key in enumerate(SIZES)
)
RULES = (
    Rule("fixed", names="norm*"),
    Rule("sketch", max_density=0.05),
    Rule("thc", min_size=1000),
)


class InParts:
    """A policy that is told of the parameters, as a session does."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name, self.workers, self.code_table = policy.name, policy.workers, policy.code_table
        self.shapes = policy.shapes

    def all_reduce(self, x: Vector, context: CodecContext) -> Any:
        from dataclasses import replace

        return self.policy.all_reduce(x, replace(context, parts=PARTS))


def job_of(workers: int, **options: Any) -> list[Policy]:
    return [Policy(workers=workers, **{"rules": RULES, **options}) for _ in range(workers)]


def run(job: list[Policy], vectors: list[np.ndarray], number: int, **options: Any) -> Simulation:
    return simulate([InParts(one) for one in job], vectors, tensor="bucket 0", round=number, **options)


def gradients(seed: int, workers: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    vectors = []
    for _ in range(workers):
        x = generator.normal(size=PARTS[-1].stop).astype(np.float32)
        x[: SIZES["embedding"]] *= generator.random(SIZES["embedding"]) < 0.01
        vectors.append(x)
    return vectors


def names(policy: Policy) -> dict[str, str]:
    return {key: policy.codec_for(key, size).name for key, size in SIZES.items()}


def test_rules_choose_by_name_size_and_density() -> None:
    job = job_of(2)
    assert names(job[0]) == {"embedding": "thc", "bias": "fixed", "weight": "thc", "norm": "fixed"}
    run(job, gradients(0, 2), 0)
    for one in job:
        assert names(one) == {"embedding": "sketch", "bias": "fixed", "weight": "thc", "norm": "fixed"}


def test_every_parameter_has_the_mean_of_its_codec() -> None:
    job = job_of(3)
    for number in range(4):
        vectors = gradients(number, 3)
        result = run(job, vectors, number)
        mean = np.mean(np.array(vectors, np.float64), axis=0)
        for part in PARTS:
            error = np.linalg.norm(result.values[part.start : part.stop] - mean[part.start : part.stop])
            share = error / np.linalg.norm(mean[part.start : part.stop])
            # The embedding gets what error feedback kept of the first round by itself.
            exact = part.key in ("bias", "norm") or (part.key == "embedding" and number > 1)
            assert share < 1e-6 if exact else number or share < 0.3
        for other in result.results:
            assert other.values.tobytes() == result.values.tobytes()


def test_rounds_of_all_codecs_come_together() -> None:
    job = job_of(1)
    (x,) = gradients(1, 1)
    run(job, [x], 0)
    step = next(InParts(job[0]).all_reduce(x, CodecContext(workers=1, worker=0, tensor="bucket 0", round=1)))
    assert isinstance(step, RoundGroup)
    assert step.rounds[0].label == "guard" and step.rounds[0].op is LaneOp.MAX
    assert {"scale", "index", "norm"} <= {one.label for one in step.rounds}


def test_warm_up_is_in_fixed_point() -> None:
    job = job_of(2, warm_up=2)
    for number in range(2):
        assert set(names(job[0]).values()) == {"fixed"}
        vectors = gradients(number, 2)
        np.testing.assert_allclose(run(job, vectors, number).values, np.mean(vectors, axis=0), rtol=1e-5, atol=1e-7)
    assert names(job[0]) == {"embedding": "sketch", "bias": "fixed", "weight": "thc", "norm": "fixed"}


def test_error_feedback_by_parameter_outlives_new_buckets() -> None:
    codec = [Policy(workers=2, rules=(Rule(TopK(workers=2, density=0.05), min_size=100),)) for _ in range(2)]
    total = np.zeros(PARTS[-1].stop)
    vectors = gradients(3, 2)
    rounds = 60
    for number in range(rounds):
        if number == 20:
            assert codec[0].memory("weight") is not None and codec[0].memory("bias") is None
        total += run(codec, vectors, number).values
    mean = np.mean(np.array(vectors, np.float64), axis=0)
    left = np.zeros_like(total)
    for part in PARTS:
        kept = [one.memory(part.key) for one in codec]
        if kept[0] is not None:
            left[part.start : part.stop] = np.mean(kept, axis=0)
    np.testing.assert_allclose(total + left, rounds * mean, atol=2e-3)
    other = Part("weight", 0, 10)
    with pytest.raises(CodecError, match=r"'weight' has 10 values, its memory 3000"):
        next(codec[0].all_reduce(np.ones(10, np.float32), CodecContext(workers=2, worker=0, parts=(other,))))


@pytest.mark.parametrize(("reaction", "error"), [("mean", UnencodableError), ("raise", NotFiniteError)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_raise_reaches_all_workers_and_names_parameter(bad: float, reaction: str, error: type[CodecError]) -> None:
    job = job_of(2, not_finite=reaction)
    vectors = gradients(0, 2)
    vectors[1][PARTS[2].start + 5] = bad
    replies: list[Any] = []
    for worker in range(2):
        steps = InParts(job[worker]).all_reduce(vectors[worker], CodecContext(workers=2, worker=worker, tensor="b"))
        group = next(steps)
        replies.append((steps, group))
    summed = tuple(
        codecs.Aggregate(np.maximum(one.words, other.words), 2)
        for one, other in zip(replies[0][1].rounds, replies[1][1].rounds, strict=True)
    )
    for steps, _ in replies:
        with pytest.raises(error, match="'weight'"):
            steps.send(summed)


def test_skip_reaches_all_workers_and_keeps_memory() -> None:
    job = job_of(3, not_finite="skip")
    run(job, gradients(0, 3), 0)
    before = [one.state_dict() for one in job]
    vectors = gradients(1, 3)
    vectors[2][PARTS[1].start] = np.inf
    result = run(job, vectors, 1)
    for one in result.results:
        assert one.skipped == "bias" and not one.values.any()
    for one, state in zip(job, before, strict=True):
        np.testing.assert_equal(one.state_dict(), state)
    assert all(one.skipped is None for one in run(job, gradients(2, 3), 2).results)


def test_skip_inside_error_feedback_keeps_its_memory() -> None:
    job = [ErrorFeedback(one) for one in job_of(2, not_finite="skip", error_feedback=False)]
    vectors = gradients(0, 2)
    simulate(job, vectors, tensor="t")
    before = [one.memory("t") for one in job]
    vectors[1][3] = np.nan
    assert simulate(job, vectors, tensor="t", round=1).results[0].skipped == "t"
    for one, memory in zip(job, before, strict=True):
        np.testing.assert_array_equal(one.memory("t"), memory)
        assert memory is not None and memory.any()


def test_zero_counts_the_values_as_zero() -> None:
    job = job_of(2, not_finite="zero", rules=())
    vectors = gradients(0, 2)
    vectors[0][[3, 40, 20_010]] = [np.nan, np.inf, -np.inf]
    expected = np.mean(np.where(np.isfinite(vectors), vectors, 0), axis=0)
    result = run(job, vectors, 0)
    np.testing.assert_allclose(result.values, expected, rtol=1e-5, atol=1e-7)
    assert result.results[0].skipped is None


def test_without_parts_the_tensor_is_the_parameter() -> None:
    job = [codecs.get("policy", workers=2) for _ in range(2)]
    vectors = [np.arange(50, dtype=np.float32)] * 2
    for number in range(2):
        assert (simulate(job, vectors, tensor="t", round=number).values == vectors[0]).all()
    empty = np.zeros(0, np.float32)
    assert simulate(job, [empty] * 2).values.size == 0
    assert job[0].shapes(0) == () and job[0].shapes(50)[0].op is LaneOp.MAX


def test_parameter_without_values_has_no_density() -> None:
    job = job_of(2, rules=(Rule("auto", if_fewer_bits=True), Rule("thc")))
    parts = (Part("empty", 0, 0), Part("weight", 0, 5000))
    vectors = [np.random.default_rng(worker).standard_normal(5000, np.float32) for worker in range(2)]
    for number in range(3):
        assert simulate(job, vectors, tensor="t", round=number, parts=parts).values.any()
    empty = simulate(job, [vectors[0][:0]] * 2, tensor="t", round=3, parts=parts[:1])
    assert empty.values.size == 0
    assert set(job[0].state_dict()["densities"]) == {"weight"}


def test_vector_without_name_has_no_memory_of_another() -> None:
    job = [codecs.get("policy", workers=1)]
    large, small = (np.random.default_rng(seed).standard_normal(5000, np.float32) for seed in range(2))
    simulate(job, [large * np.float32(1000)])
    alone = simulate([codecs.get("policy", workers=1)], [small], round=1)
    assert simulate(job, [small], round=1).values.tobytes() == alone.values.tobytes()
    assert simulate(job, [small[:4999]], round=2).values.any()  # of another length


def test_checkpoint_continues_with_the_same_bits() -> None:
    job = job_of(2, warm_up=1)
    for number in range(4):
        run(job, gradients(number, 2), number)
    later = job_of(2, warm_up=1)
    for one, before in zip(later, job, strict=True):
        one.load_state_dict(before.state_dict())
    here, there = (run(some, gradients(4, 2), 4) for some in (job, later))
    assert [words.tobytes() for words in here.aggregates] == [words.tobytes() for words in there.aggregates]
    assert here.values.tobytes() == there.values.tobytes()
    for wrong, message in (
        ({}, "This is not the state of a policy. Load a state_dict of codec 'policy'"),
        ({"codec": "policy"}, "state"),
        ({"codecs": {}}, "This state is of a policy with other rules. Build the policy with the same rules"),
        ({"memory": 3}, "state"),
        ({"counts": {"a": -1}}, "state"),
        ({"densities": {"a": None}}, "This is not the state of a policy: TypeError"),
        ({"used": {"a": 7}}, "This state is of a policy with other rules. Build the policy with the same rules"),
    ):
        with pytest.raises(CodecError, match=message):
            later[0].load_state_dict(wrong if wrong.keys() <= {"codec"} else {**job[0].state_dict(), **wrong})


class Tensor:
    """One sparse tensor, summed by the default rules; bits per value of each all-reduce."""

    def __init__(self, workers: int, size: int = 50_000) -> None:
        self.workers, self.size = workers, size
        self.job = [Policy(workers=workers) for _ in range(workers)]
        self.rng = np.random.default_rng(5)
        self.sent, self.received = np.zeros(size), np.zeros(size)
        self.rounds = 0

    def reduce(self, density: float) -> tuple[str, float, float]:
        """Return codec and bits per value, uplink and downlink, of gradients with values at different places."""
        codec = self.job[0].codec_for("t", self.size).name
        vectors = [
            np.where(self.rng.random(self.size) < density, self.rng.normal(size=self.size), 0).astype(np.float32)
            for _ in range(self.workers)
        ]
        run = simulate(self.job, vectors, tensor="t", round=self.rounds)
        self.rounds += 1
        self.sent += np.mean(vectors, axis=0, dtype=np.float64)
        self.received += run.values
        up, down = (sum(shape[kind] for shape in self.words(run)) for kind in (0, 1))
        return codec, up * 32 / self.size, down * 32 / self.size

    @staticmethod
    def words(run: Simulation) -> list[tuple[int, int]]:
        return [(shape.words, shape.result_words) for shape in run.rounds]


def test_residual_of_dense_codec_is_not_sent_uncompressed() -> None:
    tensor = Tensor(workers=1)
    bits = [tensor.reduce(0.03) for _ in range(6)]
    assert [name for name, _, _ in bits] == ["thc"] + ["auto"] * 5
    # The memory of the first all-reduce is summed once more by thc, beside the first sparse one.
    assert bits[1][1] < 4.1 + 2 and all(up < 4 for _, up, _ in bits[2:])
    kept = tensor.job[0].memory("t")
    assert kept is not None
    # Nothing is lost: the rest, 1 % of one gradient, waits for the next dense all-reduce.
    np.testing.assert_allclose(tensor.received + kept, tensor.sent, atol=1e-4)
    assert np.linalg.norm(kept) < 0.02 * np.linalg.norm(tensor.sent)
    tensor.reduce(1.0)
    assert tensor.reduce(1.0)[0] == "thc"
    np.testing.assert_allclose(tensor.received + tensor.job[0].memory("t"), tensor.sent, atol=1e-4)


def test_denser_gradient_now_and_then_costs_little() -> None:
    tensor = Tensor(workers=1)
    bits = [tensor.reduce(0.06 if number % 8 == 7 else 0.03)[1] for number in range(34)][2:]
    assert np.mean(bits) < 3


def test_one_dense_gradient_costs_one_dense_round() -> None:
    tensor = Tensor(workers=2)
    bits = [tensor.reduce(1.0 if number == 5 else 0.03) for number in range(10)]
    assert bits[5][1] > 32 and all(up < 8 for _, up, _ in (*bits[1:5], *bits[6:]))
    assert [name for name, _, _ in bits[5:]] == ["auto", "thc", "auto", "auto", "auto"]


def test_memory_of_topk_is_sent_beside_sparse_gradients() -> None:
    rules = (Rule("sketch", max_density=0.1), Rule(TopK(workers=1, density=0.1)))
    policy = Policy(workers=1, rules=rules)
    x = np.random.default_rng(1).standard_normal(5000, np.float32)
    norms = []
    for number in range(9):
        sent = x if number == 0 else np.zeros_like(x)
        simulate([policy], [sent], tensor="t", round=number)
        kept = policy.memory("t")
        assert kept is not None
        norms.append(float(np.linalg.norm(kept)))
    assert policy.codec_for("t", x.size).name == "sketch"
    assert norms == sorted(norms, reverse=True) and norms[-1] < 0.1 * norms[0]


def test_choice_is_by_the_union_of_all_workers() -> None:
    # Eight workers with 4.5 % each, at different places, have a union of 31 %: 11 bits per value for auto.
    tensor = Tensor(workers=8)
    assert [tensor.reduce(0.045)[0] for _ in range(4)] == ["thc"] * 4
    tensor = Tensor(workers=2)
    assert [tensor.reduce(0.045)[0] for _ in range(4)] == ["thc", "auto", "auto", "auto"]


def test_union_near_the_limit_keeps_the_codec() -> None:
    tensor = Tensor(workers=1)
    limit = dict(tensor.job[0]._options("t", tensor.size))[1]
    assert limit == pytest.approx((6 - 1) / 32, abs=0.01)
    tensor.reduce(0.1)
    found = [tensor.reduce(limit + 0.01 * (-1) ** number)[0] for number in range(12)]
    assert set(found[1:]) == {"auto"}


def test_density_is_estimated_from_sample_of_any_structure() -> None:
    size, row = 1 << 17, 64
    rows, columns = np.zeros((size // row, row), np.float32), np.zeros((size // row, row), np.float32)
    rows[::10], columns[:, ::8] = 1, 1
    for vector, density in ((rows, 0.1), (columns, 0.125), (np.zeros(size, np.float32), 0)):
        for number in range(4):
            policy = Policy(workers=1)
            simulate([policy], [vector.reshape(-1)], tensor="t", round=number)
            assert policy.state_dict()["densities"]["t"] == pytest.approx(density, abs=0.02)


def test_policy_keeps_no_memory_around_error_feedback_codec() -> None:
    """Two memories of one error would send it twice."""
    job = [Policy(workers=2, rules=(Rule(ErrorFeedback(THC(workers=2))),)) for _ in range(2)]
    vectors = [np.random.default_rng(worker).standard_normal(5000, np.float32) for worker in range(2)]
    total = np.zeros(5000)
    for number in range(40):
        total += simulate(job, vectors, round=number, tensor="w").values
    assert job[0].memory("w") is None
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    assert np.sum((total / 40 - mean) ** 2) < 0.001 * np.sum(mean**2)


def test_without_error_feedback_the_residual_is_the_codecs() -> None:
    job = job_of(2, error_feedback=False)
    vectors = gradients(0, 2)
    result: Result = run(job, vectors, 0, keep_residual=True).results[0]
    assert result.residual is not None and job[0].memory("weight") is None
    weight = PARTS[2]
    assert 0 < np.linalg.norm(result.residual[weight.start : weight.stop]) < np.linalg.norm(vectors[0])
    with pytest.raises(CodecError, match="Codec policy keeps error feedback itself"):
        run(job_of(2), vectors, 0, keep_residual=True)


def test_mismatched_state_is_refused() -> None:
    tables = (Rule("thc-paper"), Rule(codecs.get("thc-paper", workers=2, granularity=20)))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"warm_up": -1}, "Invalid warm_up=-1 for codec policy: expected an integer from 0"),
        ({"not_finite": "ignore"}, "Invalid not_finite='ignore' for codec policy: expected one of mean, "),
        ({"rules": tables}, "The codecs of this policy have different code tables"),
        ({"rules": (Rule(codecs.get("fixed", workers=1)),)}, "fixed of a rule was built for 1 workers, not for 2"),
    ]
    for options, message in wrong:
        with pytest.raises(ConfigurationError, match=message):
            Policy(**{"workers": 2, **options})
    with pytest.raises(ConfigurationError, match="Invalid rule: min_size=3 is larger than max_size=2"):
        Rule("fixed", min_size=3, max_size=2)
    with pytest.raises(ConfigurationError, match=r"Invalid max_density=2\.0: expected a number from 0 to 1"):
        Rule("fixed", max_density=2.0)


def test_rule_fits_both_limits_of_its_size() -> None:
    rule = Rule("fixed", min_size=2, max_size=3)
    assert [rule.fits("x", size) for size in (1, 2, 3, 4)] == [False, True, True, False]


def test_descriptions_tell_policies_apart() -> None:
    lines = {
        Policy(workers=2, **options).describe()
        for options in (
            {},
            {"warm_up": 3},
            {"not_finite": "skip"},
            {"rules": RULES},
            {"rules": RULES[:2]},
            {"rules": (Rule("fixed", names="a"),)},
            {"rules": (Rule("fixed", min_size=1),)},
            {"rules": (Rule("fixed", max_size=1),)},
            {"rules": (Rule("fixed", max_density=0.5),)},
            {"rules": (Rule("fixed", if_fewer_bits=True),)},
        )
    }
    assert len(lines) == 10
    assert Policy(workers=2, error_feedback=False).describe() in lines
