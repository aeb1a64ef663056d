# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Conformance of every registered codec with the protocol in ``lanesum.codecs.base`` and with its own traits.

A new codec is tested here as soon as it is registered. Tests of its own cover its wire format and its parameters.
"""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import Codec, CodecContext, CodecError, Part, UnencodableError
from lanesum.codecs.base import Vector, as_stateful
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.lanes import LaneOp
from lanesum.session import Session
from lanesum_lab.codec_simulation import Simulation, simulate

#: Codecs that take other rounds than with their defaults.
WITH_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {"thc with a budget": ("thc", {"budget": 4})}

pytestmark = pytest.mark.parametrize("name", [*codecs.names(), *WITH_OPTIONS])

WORKERS = 3
#: On both sides of the lengths of words, packets, blocks and chunks.
SIZES = (1, 2, 7, 8, 9, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097, 9001)
FEW_SIZES = (1, 33, 1025, 4097)


def build(name: str, workers: int = WORKERS) -> Codec:
    try:
        codec, options = WITH_OPTIONS.get(name, (name, {}))
        return codecs.get(codec, workers=workers, **options)
    except MissingToolError as error:
        pytest.skip(str(error))


def job_of(name: str, workers: int = WORKERS) -> list[Codec]:
    """One codec object for each worker, as in a real job."""
    return [build(name, workers) for _ in range(workers)]


def normal(size: int, workers: int = WORKERS, seed: int = 0) -> list[Vector]:
    return [np.random.default_rng([seed, size, worker]).standard_normal(size, np.float32) for worker in range(workers)]


def reduce(job: Sequence[Codec], vectors: Sequence[Vector], **options: Any) -> Simulation:
    return simulate(job, vectors, **{"tensor": "t", "seed": 5, **options})


def words_of(run: Simulation) -> list[bytes]:
    return [words.tobytes() for words in run.aggregates]


def error_of(values: Vector, vectors: Sequence[Vector]) -> float:
    """Error as ``CodecTraits.max_nmse`` defines it."""
    wide = [vector.astype(np.float64) for vector in vectors]
    return float(np.sum((values - np.mean(wide, axis=0)) ** 2) / np.mean([np.sum(one**2) for one in wide]))


def test_codec_yields_the_rounds_of_its_shapes(name: str) -> None:
    for size in SIZES:
        run = reduce(job_of(name), normal(size), complete=True)
        planned = build(name).shapes(size)
        assert [one.op for one in run.rounds] == [one.op for one in planned]
        assert all(one.words <= plan.words for one, plan in zip(run.rounds, planned, strict=True))
        assert [words.size for words in run.aggregates] == [one.result_words for one in run.rounds]
        # Only codecs that leave values out may need fewer words than planned.
        assert run.rounds == list(planned) or not run.values.all()


def test_codec_takes_no_round_for_an_empty_vector(name: str) -> None:
    codec = build(name)
    assert codec.shapes(0) == ()
    run = reduce(job_of(name), normal(0), keep_residual=not codec.traits.keeps_error_feedback)
    assert run.values.shape == (0,) and run.values.dtype == np.float32 and not run.rounds


@pytest.mark.parametrize("average", [True, False])
def test_all_workers_decode_the_same_bits(name: str, average: bool) -> None:
    for size in SIZES:
        job = job_of(name)
        for number in range(3):
            run = reduce(job, normal(size, seed=number), round=number, average=average, complete=True)
            assert {one.values.tobytes() for one in run.results} == {run.values.tobytes()}
            assert run.values.shape == (size,) and run.values.dtype == np.float32
            assert np.isfinite(run.values).all()


def test_mean_is_sum_over_number_of_workers(name: str) -> None:
    for size in FEW_SIZES:
        total, mean = (reduce(job_of(name), normal(size), average=average).values for average in (False, True))
        np.testing.assert_allclose(total, mean * WORKERS, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("workers", [1, 4])
def test_error_is_within_the_bound_of_the_traits(name: str, workers: int) -> None:
    vectors = normal(1 << 15, workers)
    traits = build(name).traits
    for number in range(3):
        run = reduce(job_of(name, workers), vectors, round=number)
        assert error_of(run.values, vectors) <= traits.max_nmse
    assert not traits.nearly_exact or traits.max_nmse <= 1e-9


def test_zeros_give_zeros(name: str) -> None:
    codec = build(name)
    for size in FEW_SIZES:
        zeros = [np.zeros(size, np.float32)] * WORKERS
        job, keep = job_of(name), not codec.traits.keeps_error_feedback
        for number in range(3):
            run = reduce(job, zeros, round=number, keep_residual=keep)
            assert not run.values.any()
            assert not keep or all(one.residual is not None and not one.residual.any() for one in run.results)


def test_one_value_is_estimated(name: str) -> None:
    run = reduce(job_of(name), [np.float32([0.5])] * WORKERS)
    assert run.values == pytest.approx(0.5, abs=1e-6 if build(name).traits.nearly_exact else 0.15)


def test_residual_is_the_error_of_a_single_worker(name: str) -> None:
    if build(name).traits.keeps_error_feedback:
        with pytest.raises(CodecError, match=r"error feedback|itself"):
            reduce(job_of(name), normal(9), keep_residual=True)
        return
    for size in FEW_SIZES:
        (vector,) = normal(size, 1)
        (result,) = reduce(job_of(name, 1), [vector], keep_residual=True).results
        assert result.residual is not None and result.residual.dtype == np.float32
        np.testing.assert_allclose(result.residual, vector - result.values, atol=1e-6)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("past", [0, 2])
def test_value_that_is_not_finite_is_refused(name: str, past: int, complete: bool) -> None:
    """Before the first round; or, where a codec announces it in a round, with an error on every worker."""
    for size, index in ((1, 0), (33, 32), (5000, 4321)):
        job = job_of(name)
        for number in range(past):
            reduce(job, normal(size), round=number, complete=complete)
        for bad in (np.nan, np.inf, -np.inf):
            vectors = [vector.copy() for vector in normal(size)]
            vectors[1][index] = bad
            context = CodecContext(workers=WORKERS, worker=1, tensor="t", round=past, complete=complete)
            steps = job[1].all_reduce(vectors[1], context)
            try:
                next(steps)
            except UnencodableError as error:
                assert f"tensor 't': element {index} is {bad}, and 1 of {size}" in str(error)
                continue
            with pytest.raises(UnencodableError, match="'t'"):
                reduce(job, vectors, round=past, complete=complete)


def test_value_not_finite_is_named_by_parameter(name: str) -> None:
    x = normal(100)[0]
    x[60] = np.nan
    context = CodecContext(workers=1, worker=0, tensor="t", parts=(Part("a", 0, 60), Part("b", 60, 100)))
    try:
        next(build(name).all_reduce(x, context))
    except UnencodableError as error:
        assert "tensor 'b': element 0 is nan" in str(error)
    else:
        with pytest.raises(UnencodableError, match="'b'"):
            simulate(build(name, 1), [x], parts=context.parts)


def test_array_of_another_type_or_shape_is_refused(name: str) -> None:
    x = normal(50)[0]
    codec = build(name)
    wrong: list[Any] = [x.astype(kind) for kind in (np.float16, np.float64, np.int32)]
    for one in (*wrong, x.reshape(5, 10), np.float32(3), [1.0]):
        with pytest.raises(CodecError, match="Expected tensor 't' as a float32 array of one dimension"):
            next(codec.all_reduce(one, CodecContext(workers=2, worker=0, tensor="t")))


def test_job_with_more_workers_is_refused(name: str) -> None:
    codec = build(name)
    context = CodecContext(workers=codec.workers + 1, worker=0)
    with pytest.raises(CodecError, match=f"{codec.workers + 1} workers would sum lanes .* for {codec.workers}"):
        next(codec.all_reduce(normal(50)[0], context))


def test_strided_vector_has_the_sum_of_its_copy(name: str) -> None:
    vectors = normal(3 * 700)
    strided, copied = (
        reduce(job_of(name), some) for some in ([x[::3] for x in vectors], [x[::3].copy() for x in vectors])
    )
    assert strided.values.tobytes() == copied.values.tobytes() and words_of(strided) == words_of(copied)


def test_input_vector_is_not_changed(name: str) -> None:
    codec = build(name)
    vectors = normal(5000)
    before = [vector.copy() for vector in vectors]
    run = reduce(job_of(name), vectors, keep_residual=not codec.traits.keeps_error_feedback)
    assert all((one == other).all() for one, other in zip(vectors, before, strict=True))
    for result in run.results:
        assert not any(np.shares_memory(result.values, vector) for vector in vectors)


def test_same_seed_and_round_give_the_same_bits(name: str) -> None:
    for size in FEW_SIZES:
        runs = []
        for noise in (1, 2):
            np.random.seed(noise)
            job = job_of(name)
            runs.append([reduce(job, normal(size), seed=7, round=number) for number in range(2)])
        for one, other in zip(*runs, strict=True):
            assert words_of(one) == words_of(other) and one.values.tobytes() == other.values.tobytes()


def test_only_declared_codecs_depend_on_past_sums(name: str) -> None:
    job = job_of(name)
    if job[0].traits.depends_on_past_sums:
        return
    for number in range(3):
        reduce(job, normal(5000, seed=number), round=number)
    again, fresh = (reduce(some, normal(5000), round=9) for some in (job, job_of(name)))
    assert words_of(again) == words_of(fresh) and again.values.tobytes() == fresh.values.tobytes()


def test_lengths_are_comparable_in_the_first_round(name: str) -> None:
    """A session compares lengths in a MAX round, in packed ADD32 words, or by the number of words."""
    codec = build(name)
    for complete, size in itertools.product((True, False), (5, 900, 6000)):
        context = CodecContext(workers=WORKERS, worker=0, tensor="t", complete=complete)
        ops, words = zip(
            *[
                (one[0].op, sum(round_.words.size for round_ in one))
                for one in (next(codec.all_reduce(normal(n)[0], context)).rounds for n in (size, size + 1))
            ],
            strict=True,
        )
        assert len(set(ops)) == 1
        if codec.traits.packs_values:
            assert ops[0] in (LaneOp.MAX, LaneOp.ADD32)
        else:
            assert ops[0] is LaneOp.MAX or words[0] != words[1]


def test_code_table_exists_exactly_where_it_is_used(name: str) -> None:
    codec = build(name)
    table = codec.code_table
    used = any(shape.op.shape.lookup for size in SIZES for shape in codec.shapes(size))
    assert used == (table is not None) or name == "policy"
    if table is not None:
        assert table.dtype == np.uint8 and table.shape == (16,)


def test_quorum_is_refused_where_all_workers_are_needed(name: str) -> None:
    codec = build(name)
    table = None if codec.code_table is None else codec.code_table.tobytes()
    ticket = SimpleNamespace(workers=WORKERS, quorum=WORKERS - 1, code_table=table, label="1")
    session = cast(Session, SimpleNamespace(ticket=ticket))
    if codec.traits.needs_all_workers:
        with pytest.raises(ConfigurationError, match=f"Codec {name} needs every worker in every sum"):
            Session.resolve_codec(session, codec)
        return
    assert Session.resolve_codec(session, codec) is codec
    vectors = normal(5000)
    run = reduce(job_of(name), vectors, contributors=[0, 2], keep_residual=True)
    assert {one.values.tobytes() for one in run.results} == {run.values.tobytes()}
    assert error_of(run.values, [vectors[0], vectors[2]]) <= 1.5 * codec.traits.max_nmse
    np.testing.assert_allclose(run.results[1].residual, vectors[1], atol=1e-6)


def test_description_is_one_line_for_equal_parameters(name: str) -> None:
    job, other = job_of(name), build(name, WORKERS - 1)
    line = job[0].describe()
    assert (
        line.startswith(WITH_OPTIONS.get(name, (name,))[0])
        and line.isprintable()
        and line == job[1].describe() != other.describe()
    )
    reduce(job, normal(50))
    assert job[0].describe() == line


def test_codec_survives_pickling_and_copying(name: str) -> None:
    job = job_of(name)
    reduce(job, normal(3000))
    for clone in (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy):
        clones = [clone(one) for one in job]
        assert clones[0].describe() == job[0].describe() and clones[0].traits == job[0].traits
        originals = copy.deepcopy(job)
        one, other = (reduce(some, normal(3000, seed=1), round=1) for some in (originals, clones))
        assert words_of(one) == words_of(other) and one.values.tobytes() == other.values.tobytes()


def test_state_of_a_checkpoint_continues_the_job(name: str) -> None:
    job = job_of(name)
    assert job[0].traits.stateful == hasattr(job[0], "state_dict") == hasattr(job[0], "load_state_dict")
    if not job[0].traits.stateful:
        return
    for number in range(3):
        reduce(job, normal(5000, seed=number), round=number)
    later = job_of(name)
    for one, other in zip(later, job, strict=True):
        loaded, saved = as_stateful(one), as_stateful(other)
        assert loaded is not None and saved is not None
        for wrong in ({}, {"codec": "another"}):
            with pytest.raises(CodecError, match="state"):
                loaded.load_state_dict(wrong)
        loaded.load_state_dict(saved.state_dict())
    here, there = (reduce(some, normal(5000, seed=9), round=3) for some in (job, later))
    assert words_of(here) == words_of(there) and here.values.tobytes() == there.values.tobytes()


def test_traits_do_not_contradict_each_other(name: str) -> None:
    traits = build(name).traits
    assert isinstance(traits, codecs.CodecTraits)
    assert not traits.adds_error_feedback or traits.accepts_device_tensors
    assert traits.max_nmse > 0
