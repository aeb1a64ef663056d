# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``sketch``, ``union`` and ``auto``: exact sums in every circumstance, and the words that they are said to send."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import Aggregate, Auto, CodecContext, CodecError, RoundGroup, Sketch, SparseCodec, Union
from lanesum.codecs.sparse.all_reduce import SparseReduction, _checked_magnitude, _header
from lanesum.codecs.sparse.hashing import cells_of, round_seed
from lanesum.codecs.sparse.plan import BLOCKS, SparseMethod, SparsePlan
from lanesum.codecs.sparse.tensor_stats import TensorStats, exponent_for, nonzero_counts, suits, union_counts
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import Simulation, simulate

Vectors = list[np.ndarray]
KINDS = [Sketch, Union, Auto]


def whole_numbers(seed: int, masks: Sequence[np.ndarray]) -> Vectors:
    """A vector for each mask: whole numbers where it is set, none of them zero."""
    generator = np.random.default_rng(seed)
    return [
        (mask * generator.integers(1, 1000, mask.size) * generator.choice([-1, 1], mask.size)).astype(np.float32)
        for mask in masks
    ]


def masks(seed: int, workers: int, size: int, density: float, overlap: float) -> list[np.ndarray]:
    """Give every worker a share ``overlap`` of values at common positions, and the rest at positions of its own."""
    order = np.random.default_rng(seed).permutation(size)
    each = round(size * density)
    common = round(each * overlap)
    result = []
    for worker in range(workers):
        mask = np.zeros(size, np.bool_)
        mask[order[:common]] = True
        first = common + worker * (each - common)
        mask[order[first : first + each - common]] = True
        result.append(mask)
    return result


def run_rounds(job: Sequence[SparseCodec], rounds: Sequence[Vectors], **options: Any) -> list[Simulation]:
    """One all-reduce after the other; all must be exact, on all workers, and leave them all with the same memory."""
    runs = []
    for number, vectors in enumerate(rounds):
        run = simulate(job, vectors, tensor="t", round=number, average=False, keep_residual=True, **options)
        expected = np.sum(np.array(vectors, np.int64), axis=0)
        for result in run.results:
            assert (result.values == expected).all() and result.values.dtype == np.float32
            assert result.residual is not None and not result.residual.any()
        assert all(one.state_dict() == job[0].state_dict() for one in job)
        runs.append(run)
    return runs


def workers_with(kind: type[Any], workers: int, **parameters: Any) -> list[Any]:
    return [kind(workers=workers, **parameters) for _ in range(workers)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2, 8, 16])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
def test_sums_of_whole_numbers_are_exact(kind: type[Any], workers: int, overlap: float) -> None:
    # The first all-reduce has no estimate; later ones estimate from the sums before.
    for size, density in ((5003, 0.01), (1024, 0.05)):
        rounds = [whole_numbers(number, masks(number, workers, size, density, overlap)) for number in range(3)]
        runs = run_rounds(workers_with(kind, workers), rounds)
        assert sum(words.size for words in runs[-1].aggregates) < size or density * workers * (1 - overlap) > 0.3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [None, 1, 8, 1024])
@pytest.mark.parametrize("size", [1, 7, 1023, 1025, 9000])
def test_length_not_multiple_of_block_is_exact(kind: type[Any], block: int | None, size: int) -> None:
    rounds = []
    for number in range(3):
        chosen = masks(number, 3, size, 0.1, 0.5)
        chosen[0][-1] = True
        rounds.append(whole_numbers(number, chosen))
    run_rounds(workers_with(kind, 3, block=block), rounds)


@pytest.mark.parametrize("kind", KINDS)
def test_from_zero_to_dense_and_back(kind: type[Any]) -> None:
    rounds = [whole_numbers(9, masks(9, 4, 3000, density, 1.0)) for density in (0, 0, 1, 1, 0, 0.01, 0.3, 0, 0.001)]
    run_rounds(workers_with(kind, 4), rounds)


def test_all_zero_vectors_take_no_values() -> None:
    job = workers_with(Union, 2)
    zero = [np.zeros(100_000, np.float32)] * 2
    first, second = run_rounds(job, [zero, zero])
    assert [words.size for words in first.aggregates] == [3, 3125]
    assert [words.size for words in second.aggregates] == [3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_dense_vector_is_sent_as_fixed_point(kind: type[Any]) -> None:
    job = workers_with(kind, 2)
    rounds = [whole_numbers(number, [np.ones(100_000, np.bool_)] * 2) for number in range(2)]
    runs = run_rounds(job, rounds)
    assert [words.size for words in runs[1].aggregates] == [98, 100_000]
    choice = job[0].choice("t", 100_000)
    assert choice.plan.method is SparseMethod.DENSE
    assert choice.why.startswith("dense: 100 % of its values")


@pytest.mark.parametrize("placement", ["uniform", "coupled"])
def test_union_larger_than_its_sketch_stays_exact(placement: str) -> None:
    """Loads from 0.5 to 3: keys are left over, and another round brings them."""
    size = 20_000
    job = workers_with(Sketch, 2, placement=placement, block=1)
    run_rounds(job, [whole_numbers(n, masks(n, 2, size, 0.02, 1.0)) for n in range(4)])
    rounds_of = []
    for number, density in enumerate((0.01, 0.015, 0.03, 0.06, 0.2)):
        fresh = workers_with(Sketch, 2, placement=placement, block=1)
        for one in fresh:
            one.load_state_dict(job[0].state_dict())
        (run,) = run_rounds(fresh, [whole_numbers(number, masks(number, 2, size, density, 1.0))])
        rounds_of.append(len(run.aggregates))
    assert rounds_of[0] == 3 and rounds_of[-1] == 4


def test_sketch_is_one_group_of_rounds() -> None:
    job = workers_with(Sketch, 2)
    rounds = [whole_numbers(number, masks(number, 2, 50_000, 0.01, 0.5)) for number in range(2)]
    run_rounds(job, rounds)
    assert job[0].choice("t", 50_000).plan.round_trips == 1
    step = next(job[0].all_reduce(rounds[0][0], CodecContext(workers=2, worker=0, tensor="t", round=2)))
    assert isinstance(step, RoundGroup)
    assert [one.op for one in step.rounds] == [LaneOp.MAX, LaneOp.OR, LaneOp.ADD32]


def test_cells_may_overflow() -> None:
    """Every value is as large as it may be, so that any two of one sign in a cell are beyond 32 bits."""
    size = 30_000
    chosen = masks(3, 1, size, 0.05, 1.0)[0]
    x = np.where(chosen, np.float32(2**20), np.float32(0))
    job = workers_with(Sketch, 1)
    # The unit has no room to spare: values become 2**30.
    job[0]._stats.keep("t", size, TensorStats([nonzero_counts(x)], [2.0**18]))
    plan = job[0].choice("t", size).plan
    (run,) = run_rounds(job, [[x]])
    assert plan.block == 1 and len(run.aggregates) == 3
    placed, signs = cells_of(np.flatnonzero(x).astype(np.uint32), round_seed(0, 0, 0), plan.cells)
    cells = np.zeros(plan.cells.count, np.int64)
    for number in range(3):
        np.add.at(cells, placed[:, number], (1 - 2 * (signs >> number & 1).astype(np.int64)) << 30)
    assert np.count_nonzero(np.abs(cells) >= 2**31) > 50
    assert (run.aggregates[2] == cells.astype(np.uint32)).all()


@pytest.mark.parametrize("factor", [2.0**40, 1e6, 8.0, 2.0, 0.5, 1e-4, 2.0**-40])
def test_values_beyond_the_agreed_unit_take_another_round(factor: float) -> None:
    size, workers = 20_000, 3
    job = workers_with(Sketch, workers)
    generator = np.random.default_rng(5)
    vectors = [(generator.normal(size=size) * mask).astype(np.float32) for mask in masks(1, workers, size, 0.01, 0.5)]
    for number in range(2):
        simulate(job, vectors, tensor="t", round=number)
    scaled = [vector * np.float32(factor) for vector in vectors]
    run = simulate(job, scaled, tensor="t", round=2, keep_residual=True)
    largest = max(float(np.abs(vector).max()) for vector in scaled)
    unit = largest / job[0].peak * 64 * 2
    mean = np.mean(np.array(scaled, np.float64), axis=0)
    assert np.abs(run.values - mean).max() <= unit / 2 + largest * 2**-24
    for result in run.results:
        assert result.residual is not None and np.abs(result.residual).max() <= unit / 2
    assert len(run.aggregates) == (3 if 0.5 <= factor <= 2 else 4)
    # The next one estimates it.
    assert len(simulate(job, scaled, tensor="t", round=3).aggregates) == (3 if factor >= 0.5 else 4)


@pytest.mark.parametrize("sparsity", [0.95, 0.99])
@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_words_are_those_of_the_formula(sparsity: float, overlap: float) -> None:
    """Bits per value of index and sketch together, from the union alone; within 5 %."""
    size, workers = 1 << 19, 4
    density = (1 - sparsity) / (workers if overlap == 0 else 1)
    job = workers_with(Sketch, workers, block=1)
    rounds = [whole_numbers(number, masks(number, workers, size, density, overlap)) for number in range(2)]
    run = run_rounds(job, rounds)[-1]
    union = np.count_nonzero(np.any(rounds[-1], axis=0))
    share = union / size
    assert 1 - share == pytest.approx(sparsity, abs=1e-4)
    # Cells per key: the threshold and what sketches of this size need beyond it.
    cells = min(1.2226 + 2 / math.sqrt(union), 1.125 + 16 / math.sqrt(union))
    false = union / (32 * cells * math.log(2) ** 2 * (size - union))
    filter_bits = -math.log(false) / math.log(2) ** 2 * share
    bits = min(1 + 32 * cells * share, filter_bits + 32 * cells * (share + false * (1 - share)))
    sent = 32 * sum(words.size for words in run.aggregates) / size
    assert sent == pytest.approx(bits, rel=0.05)


def test_union_sends_about_one_word_per_value() -> None:
    size = 1 << 18
    job = workers_with(Union, 2, block=1)
    rounds = [whole_numbers(number, masks(number, 2, size, 0.02, 0.5)) for number in range(2)]
    run = run_rounds(job, rounds)[-1]
    union = np.count_nonzero(np.any(rounds[-1], axis=0))
    # False positives of the index are values, too; all in all they pay.
    assert union <= run.aggregates[2].size <= 1.1 * union
    assert sum(words.size for words in run.aggregates) < size / 32 + union


def test_rows_give_large_blocks_and_scattered_values_small() -> None:
    size = 1 << 20
    rows = np.repeat(np.random.default_rng(2).random(size // 256) < 0.05, 256)
    scattered = np.random.default_rng(2).random(size) < 0.01
    blocks = {}
    for name, mask in (("rows", rows), ("scattered", scattered)):
        job = workers_with(Sketch, 2)
        run_rounds(job, [whole_numbers(number, [mask, mask]) for number in range(2)])
        blocks[name] = job[0].choice("t", size).plan.block
    assert blocks["scattered"] == 1 and blocks["rows"] >= 16


def test_auto_weighs_words_against_round_trips() -> None:
    size = 1 << 18
    rounds = [whole_numbers(number, masks(number, 2, size, 0.05, 1.0)) for number in range(2)]
    chosen = {}
    for bytes_ in (0, 1 << 20):
        job = workers_with(Auto, 2, round_trip_bytes=bytes_)
        run_rounds(job, rounds)
        choice = job[0].choice("t", size)
        chosen[bytes_] = choice.plan.method
        assert re.fullmatch(
            choice.plan.method.value + r": 5(\.\d+)? % of its values are expected not to be zero everywhere. Bits per "
            r"value: dense 32; sketch 2\.\d+ in blocks of 1 and 1 round trip; union 2\.\d+ in blocks of 1 and 2 round "
            r"trips\.",
            choice.why,
        )
    assert chosen == {0: SparseMethod.UNION, 1 << 20: SparseMethod.SKETCH}


def test_few_values_come_as_they_are() -> None:
    vectors = [np.array([1.5, 0, -2], np.float32), np.array([1, 0, 2], np.float32)]
    job = workers_with(Auto, 2)
    run = simulate(job, vectors, average=False, complete=True)
    assert run.values.tolist() == [2.5, 0, 0] and len(run.aggregates) == 1
    assert "are gathered" in job[0].choice("", 3).why


def test_means_are_those_of_the_sums() -> None:
    vectors = whole_numbers(4, masks(4, 3, 5000, 0.02, 0.5))
    job = workers_with(Sketch, 3)
    for number in range(3):
        run = simulate(job, vectors, round=number)
        assert (run.values == (np.sum(np.array(vectors, np.float64), axis=0) / 3).astype(np.float32)).all()


def test_shapes_are_those_of_first_dense_all_reduce() -> None:
    codec = Sketch(workers=1)
    run = simulate(codec, [np.ones(3000, np.float32)])
    assert [shape.result_words for shape in codec.shapes(3000)] == [words.size for words in run.aggregates]


def test_parameters_that_do_not_fit_are_refused() -> None:
    for wrong, message in (
        ({"workers": 0}, "Invalid workers=0 for codec auto: expected an integer from 1"),
        ({"block": 3}, "Invalid block=3 for codec auto: expected one of "),
        ({"placement": "left"}, "Invalid placement='left' for codec auto: expected one of "),
        ({"round_trip_bytes": -1}, "Invalid round_trip_bytes=-1 for codec auto: expected an integer from 0"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            Auto(**{"workers": 2, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_missing_worker_is_an_error(kind: type[Any]) -> None:
    vectors = whole_numbers(1, masks(1, 3, 5000, 0.01, 0.0))
    with pytest.raises(CodecError, match="quorum"):
        simulate(workers_with(kind, 3), vectors, contributors=[0, 2])


def test_different_histories_are_refused() -> None:
    vectors = whole_numbers(1, masks(1, 2, 50_000, 0.01, 0.5))
    job = workers_with(Sketch, 2)
    for number in range(2):
        simulate(job, vectors, tensor="t", round=number)
    state = job[0].state_dict()
    state["tensors"][0]["magnitudes"] = [12345.0]
    job[1].load_state_dict(state)
    with pytest.raises(CodecError, match="have different histories of tensor 't'"):
        simulate(job, vectors, tensor="t", round=2)


def test_different_plans_are_refused_at_each_worker() -> None:
    """The check of one worker is the largest: the complements tell it of the other one."""
    steps = [
        Union(workers=2).all_reduce(np.ones(size, np.float32), CodecContext(workers=2, worker=worker))
        for worker, size in enumerate((3000, 3001))
    ]
    rounds = [next(one).rounds for one in steps]
    scale = np.maximum(rounds[0][0].words, rounds[1][0].words)
    for one, (_, index) in zip(steps, rounds, strict=True):
        with pytest.raises(CodecError, match="have different histories"):
            one.send((Aggregate(scale, 2), Aggregate(index.words, 2)))


def test_aggregate_of_an_infinite_magnitude_is_refused() -> None:
    steps = Union(workers=1).all_reduce(np.ones(3000, np.float32), CodecContext(workers=1, worker=0))
    scale, index = next(steps).rounds
    words = scale.words.copy()
    words[0] = 0x7F800000
    with pytest.raises(CodecError, match="is not finite at some worker"):
        steps.send((Aggregate(words, 1), Aggregate(index.words, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoint_continues_with_the_same_words(kind: type[Any]) -> None:
    rounds = [whole_numbers(number, masks(number, 2, 9000, 0.02, 0.5)) for number in range(5)]
    job = workers_with(kind, 2)
    run_rounds(job, rounds[:3])
    state = job[0].state_dict()
    later = workers_with(kind, 2)
    for one in later:
        one.load_state_dict(state)
    for number in (3, 4):
        here, there = (simulate(some, rounds[number], tensor="t", round=number) for some in (job, later))
        assert [words.tobytes() for words in here.aggregates] == [words.tobytes() for words in there.aggregates]
    job[0].forget("t")
    assert job[0].state_dict()["tensors"] == []


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"codec": "union", "tensors": []},
        {"codec": "sketch", "tensors": [{}]},
        {"codec": "sketch", "tensors": [{"tensor": "t", "size": 8, "counts": [[9] * 11], "magnitudes": []}]},
        {"codec": "sketch", "tensors": [{"tensor": "t", "size": 8, "counts": [[1] * 3], "magnitudes": []}]},
        {"codec": "sketch", "tensors": [{"tensor": "t", "size": 8, "counts": [], "magnitudes": [math.nan]}]},
        {"codec": "sketch", "tensors": [{"tensor": "t", "size": "x", "counts": [], "magnitudes": []}]},
    ],
)
def test_invalid_state_is_refused(state: dict[str, Any]) -> None:
    codec = Sketch(workers=1)
    simulate(codec, [np.ones(3000, np.float32)])
    before = codec.state_dict()
    message = r"This is not (a state of codec 'sketch'|the state of a sparse codec: \w+Error)"
    with pytest.raises(CodecError, match=message):
        codec.load_state_dict(state)
    assert codec.state_dict() == before


def test_counts_are_those_of_blocks() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2, 1023, 1024, 1025, 5000):
        values = (generator.random(size) < 0.01).astype(np.float32)
        expected = [sum(bool(values[i : i + block].any()) for i in range(0, size, block)) for block in BLOCKS]
        assert list(nonzero_counts(values)) == expected


def test_values_that_cancel_are_counted() -> None:
    assert union_counts([0] * len(BLOCKS), 4096, 4, 10) == (40, 20, *[10] * 5, 10, 10, 8, 4)
    values = np.zeros(4096, np.float32)
    values[:40] = 1
    assert union_counts(nonzero_counts(values), 4096, 4, 20)[:3] == (80, 40, 20)


def test_forecast_leaves_one_outlier_out() -> None:
    def expected(*counts: int) -> int:
        stats = TensorStats(counts=[(count,) * len(BLOCKS) for count in counts])
        found = stats.expected()
        assert found is not None
        return found[0]

    assert expected(100) == 100 and expected(3, 100) == expected(100, 3) == 3
    assert expected(3, 4, 100, 3) == 4 and expected(3, 100, 3, 100) == 100 and expected(5, 6, 7, 8) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_one_dense_all_reduce_leaves_next_ones_sparse(kind: type[Any]) -> None:
    job = [kind(workers=1)]
    rng = np.random.default_rng(1)
    bits = []
    for number in range(8):
        density = 1.0 if number == 3 else 0.03
        x = np.where(rng.random(50_000) < density, rng.normal(size=50_000), 0).astype(np.float32)
        bits.append(simulate(job, [x], tensor="t", round=number).uplink_words * 32 / x.size)
    assert bits[3] > 32 and all(one < 3 for one in (*bits[:3], *bits[4:]))


def test_units_fit_magnitudes() -> None:
    magnitudes = [1e-45, 1.0, 0.5, 0.75, 1e38, float(np.float32(3e-39)), *np.random.default_rng(1).random(50)]
    for magnitude, workers in itertools.product(magnitudes, (1, 2, 3, 7, 1024)):
        peak = (2**31 - 1) // workers
        exponent = exponent_for(magnitude, peak)
        assert magnitude <= peak * 2.0**exponent
        assert exponent == -149 or magnitude > peak * 2.0 ** (exponent - 1)
        assert suits(exponent, magnitude, peak)
        assert not suits(exponent - 1, magnitude, peak)
    assert exponent_for(0.0, 5) == -149


def test_pieces_that_the_driver_leaves_are_decoded() -> None:
    size = 2**17 + 5  # three pieces
    x = np.arange(1, size + 1, dtype=np.float32)
    for num_decoded in (0, 1, 3):
        steps = Union(workers=1).all_reduce(x, CodecContext(workers=1, worker=0, complete=True, in_pieces=True))
        group = next(steps)
        assert isinstance(group, RoundGroup)
        for one in group.rounds:
            if one.pieces is not None:
                one.pieces.encode_all()
        values = steps.send(tuple(Aggregate(one.words, 1) for one in group.rounds))
        assert not isinstance(values, RoundGroup) and values.pieces is not None and len(values.pieces) == 3
        values.pieces.encode_all()
        for _ in range(num_decoded):
            values.pieces.decode_up_to(values.pieces.needed, values.words)
        with pytest.raises(StopIteration) as stop:
            steps.send(Aggregate(values.words.copy(), 1))
        assert (stop.value.value.values == x).all()


def test_more_blocks_than_keys_are_refused() -> None:
    """Without a vector of so many values: it is asked for before that is looked at."""
    context, size = CodecContext(workers=2, worker=0, tensor="t"), 2**32 + 1
    for block, fits in ((1, False), (None, False), (2, True)):
        codec = Union(workers=2, block=block)
        planned = codec.planned_blocks(context, size)
        assert planned is not None
        steps = codec.by_blocks(Refusing, None, size, *planned, context)
        with pytest.raises(AssertionError if fits else CodecError, match="looked at" if fits else "in pieces"):
            next(steps)


class Refusing(SparseReduction):
    def __init__(self, *_: Any) -> None:
        raise AssertionError("looked at")


def test_scale_round_of_different_plans_raises_on_both() -> None:
    plan = SparsePlan(SparseMethod.DENSE)
    headers = [_header(1, plan, None, size) for size in (100, 101)]
    largest = np.maximum(*headers)
    for header in headers:
        with pytest.raises(CodecError, match="have different histories of tensor 't'"):
            _checked_magnitude(largest, header, CodecContext(workers=2, worker=0, tensor="t"))
        assert _checked_magnitude(header, header, CodecContext(workers=2, worker=0, tensor="t")) > 0
