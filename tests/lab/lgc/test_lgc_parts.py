# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of learned compression: places as bits, an autoencoder that computes the same bits in any order, the guard."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.codecs import CodecError, Part
from lanesum_lab.lgc.latents import Guard, LatentCodes
from lanesum_lab.lgc.network import Architecture, Autoencoder, product
from lanesum_lab.lgc.selection import SelectionLayout
from lanesum_lab.lgc.server import Innovation

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed.")


def network(channels: int = 4, width: int = 16, heads: int = 2, seed: int = 1) -> Autoencoder:
    shape = Architecture(channels, width, heads)
    return Autoencoder(shape, shape.initial(seed))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=5), st.floats(0.001, 1), st.integers(0, 10**6))
def test_places_come_back(sizes: list[int], density: float, seed: int) -> None:
    stops = np.cumsum(sizes).tolist()
    parts = [Part(str(n), stop - size, stop) for n, (size, stop) in enumerate(zip(sizes, stops, strict=True))]
    vector = (np.random.default_rng(seed).integers(-5, 6, stops[-1]) * 0.7).astype(np.float32)
    layout = SelectionLayout.of(parts, density)
    chosen = layout.select(vector)
    words = layout.encode(chosen)
    bits = sum(16 + k * (max(1, (n - 1).bit_length()) + 1) for k, n in zip(layout.counts, sizes, strict=True))
    assert words.size == layout.words == -(-bits // 32)
    again = layout.decode(words)
    for name in ("positions", "signs", "scales"):
        assert (getattr(again, name) == getattr(chosen, name)).all()
    start = 0
    for part, count in zip(parts, layout.counts, strict=True):
        assert count == math.ceil((part.stop - part.start) * density)
        places = chosen.positions[start : start + count]
        magnitudes = np.abs(vector[places])
        assert (np.diff(magnitudes) <= 0).all()  # a falling curve
        others = np.delete(np.abs(vector[part.start : part.stop]), places - part.start)
        assert magnitudes.min() >= others.max(initial=0)
        assert magnitudes.max() <= chosen.scales[start] <= magnitudes.max() * (1 + 2**-7)
        start += count
    normalized = chosen.normalized(vector[chosen.positions])
    assert (normalized >= 0).all() and (normalized <= 1).all()
    np.testing.assert_allclose(chosen.restored(normalized), vector[chosen.positions], rtol=1e-6)


def test_places_that_cannot_be_are_refused() -> None:
    layout = SelectionLayout.of([Part("a", 0, 300)], 0.1)
    good = layout.encode(layout.select(np.arange(300, dtype=np.float32)))
    twice = good.copy()
    twice[:] = good[0]
    for words in (np.full_like(good, 0xFFFFFFFF), twice, np.zeros_like(good)):
        with pytest.raises(CodecError, match="positions that parameter 'a' does not have"):
            layout.decode(words)
    scale = good.copy()
    scale[0] = good[0] & 0xFFFF0000 | 0x7F80
    with pytest.raises(CodecError, match="The leader has sent a scale that is not a non-negative number"):
        layout.decode(scale)


@needs_torch
@pytest.mark.parametrize("size", [32, 33, 100, 1600])
@pytest.mark.parametrize("channels", [1, 4, 16])
def test_it_computes_what_pytorch_does(size: int, channels: int) -> None:
    from lanesum_lab.lgc.training import AutoencoderTrainer, TrainingSample

    own = network(channels)
    trainer = AutoencoderTrainer(own.architecture, 1)
    trainer._begin(own.parameters)
    values = np.random.default_rng(size).normal(size=(3, size)).astype(np.float32)
    sample = TrainingSample(values, np.ones(size, np.float32), (0, 0, 2), (0, 1, 1))
    theirs = trainer.decoded(sample)
    for row, source, head in zip(theirs, sample.sources, sample.heads, strict=True):
        mine = own.decode(own.encode(values[source].astype(np.float64)), size, head)
        np.testing.assert_allclose(mine, row, atol=2e-4 * np.abs(row).max())


def test_latents_of_mean_are_mean_of_latents() -> None:
    own, values = network(), np.random.default_rng(0).normal(size=(5, 500))
    latents = [own.encode(one) for one in values]
    assert latents[0].size == own.architecture.latents(500) == 32 * 4
    np.testing.assert_allclose(np.mean(latents, axis=0), own.encode(values.mean(axis=0)), atol=1e-12)
    np.testing.assert_allclose(
        np.mean([own.around(one, 500) for one in latents], axis=0), own.around(np.mean(latents, axis=0), 500), atol=1e-5
    )


def test_products_have_the_same_bits_in_any_order() -> None:
    rng = np.random.default_rng(0)
    left = rng.normal(size=(40, 128)) * np.exp(4 * rng.normal(size=128))
    right = rng.normal(size=(128, 30))
    found = product(left, right)
    np.testing.assert_allclose(found, left @ right, atol=1e-4 * np.abs(found).max())
    for _ in range(5):
        order = rng.permutation(128)
        assert product(left[:, order], right[order]).tobytes() == found.tobytes()
        one_by_one = np.zeros_like(found)
        shuffled, matrix = left[:, order], right[order]
        for column in range(0, 128, 32):  # the largest of all is in one of the pieces only
            scale = np.zeros((1, 128))
            scale[0, column : column + 32] = 1
            whole = np.vstack((shuffled * scale, shuffled))
            one_by_one += product(whole, matrix)[:40]
        np.testing.assert_allclose(one_by_one, found, rtol=0, atol=1e-9 * np.abs(found).max())
    assert not product(np.zeros((2, 3)), np.ones((3, 2))).any()
    assert np.isfinite(product(np.full((2, 3), 1e-300), np.full((3, 2), 1e300))).all()


def test_non_finite_input_computes_nothing() -> None:
    own = network()
    assert np.isnan(own.decode(np.full(8, np.inf), 20)).all()
    broken = Autoencoder(own.architecture, {**own.parameters, "up1.bias": np.full(16, np.nan, np.float32)})
    assert not broken.usable and np.isnan(broken.decode(np.zeros(8), 20)).all()
    assert broken.check != own.check


@pytest.mark.parametrize(("bits", "workers"), [(2, 1), (8, 4), (8, 33), (16, 1024)])
def test_sums_of_latents_are_means(bits: int, workers: int) -> None:
    codes = LatentCodes(bits, workers)
    latents = np.random.default_rng(bits).normal(size=(workers, 50))
    peak = float(np.abs(latents).max())
    total = sum(codes.pack(codes.codes(one, peak)).astype(np.uint64) for one in latents)
    assert total.max() < 2**32 and total.size == codes.words(50)  # type: ignore[union-attr]
    mean = codes.latents(codes.unpack(total.astype(np.uint32), 50, workers), peak, workers)  # type: ignore[union-attr]
    assert np.abs(mean - latents.mean(axis=0)).max() <= peak / (2 ** (bits - 1) - 1) / 2 * 1.001
    assert not codes.codes(np.zeros(3), 0.0).any()


@pytest.mark.parametrize("peak", [-1.0, math.inf, math.nan])
def test_peak_that_no_worker_could_send_is_refused(peak: float) -> None:
    assert LatentCodes.received_peak(np.array([0.5, 7], np.float32).view(np.uint32)) == 0.5
    with pytest.raises(CodecError, match=f"The peak of the latents is {peak:g}: expected a finite number from 0"):
        LatentCodes.received_peak(np.array([peak, 7], np.float32).view(np.uint32))


def test_guard_weighs_largest_error_by_largest_energy() -> None:
    guard = Guard(0.25)
    values = np.full(100, 2.0)

    def told(*errors: float) -> np.ndarray:
        return np.maximum.reduce([guard.words(values * share, values * share + error) for error, share in errors])  # type: ignore[misc]

    assert not guard.trips(told((0.9, 1.0), (0.1, 0.1)))  # type: ignore[arg-type]
    assert guard.trips(told((1.1, 1.0), (0.1, 0.1)))  # type: ignore[arg-type]
    assert not guard.trips(told((0.0, 1.0), (0.2, 0.1)))  # type: ignore[arg-type]
    assert guard.trips(guard.words(values, np.full(100, np.nan)))
    assert guard.trips(guard.words(np.full(2, 1e200), np.zeros(2)))
    assert not guard.trips(guard.words(np.zeros(5), np.zeros(5)))
    with pytest.raises(CodecError, match="guard's round"):
        guard.trips(np.array([0x7FC00000, 0], np.uint32))


@given(st.integers(1, 300), st.floats(0.001, 1), st.integers(2, 16), st.integers(0, 10**6))
def test_innovation_is_a_gain_and_the_largest_errors(size: int, share: float, bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sent, decoded = rng.laplace(size=(2, size)).astype(np.float32)
    innovation = Innovation(share, bits)
    message = innovation.message(sent, decoded)
    assert message.size == innovation.words(size)
    corrected = innovation.corrected(decoded, message)
    wide, guess = sent.astype(np.float64), decoded.astype(np.float64)
    gain = float((message[:1] << np.uint32(16)).view(np.float32)[0])
    assert gain == pytest.approx(np.sum(guess * wide) / np.sum(guess**2), rel=2**-7)
    errors = wide - gain * guess
    said = np.zeros(size, bool)
    said[np.argsort(-np.abs(errors))[: math.ceil(share * size)]] = True
    assert (corrected[~said] == (gain * guess[~said]).astype(np.float32)).all()
    # Half a step, and the largest one may be cut to a number of 8 bits.
    largest = np.abs(errors).max()
    max_error = largest * max(1 / (2 ** (bits - 1) - 1) / 2, 2**-7)
    assert np.abs(corrected[said] - wide[said]).max() <= max_error * (1 + 1e-6) + 1e-6


def test_decoded_values_are_never_worse_than_zeros() -> None:
    rng = np.random.default_rng(0)
    sent = rng.normal(size=1000).astype(np.float32)
    innovation = Innovation(0.01, 8)
    for decoded in (-3 * sent, 1e20 * rng.normal(size=1000).astype(np.float32), np.zeros(1000, np.float32)):
        corrected = innovation.corrected(decoded, innovation.message(sent, decoded))
        assert np.sum((corrected - sent) ** 2) <= np.sum(sent**2)
    assert np.isnan(innovation.corrected(np.full(1000, np.nan, np.float32), innovation.message(sent, sent))).any()
    nothing = innovation.message(np.zeros(50, np.float32), np.ones(50, np.float32))
    assert not innovation.corrected(np.ones(50, np.float32), nothing).any()


@pytest.mark.parametrize(("share", "size"), [(0.5, 64), (0.02, 100)], ids=["bitmap", "list"])
def test_innovations_that_cannot_be_are_refused(share: float, size: int) -> None:
    innovation = Innovation(share, 4)
    sent, decoded = np.random.default_rng(1).normal(size=(2, size)).astype(np.float32)
    good = innovation.message(sent, decoded)
    infinite = good.copy()
    infinite[0] = good[0] & 0xFFFF0000 | 0x7F80
    negative = good.copy()
    negative[0] = good[0] & 0xFFFF | 0xBF800000
    places = good.copy()
    places[1:] = 0xFFFFFFFF
    for message in (infinite, negative, places):
        with pytest.raises(CodecError, match="invalid positions or values"):
            innovation.corrected(decoded, message)
