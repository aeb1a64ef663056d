// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the codecs on NumPy arrays, with the interface of lanesum/codecs/kernels/reference.py. Arrays are neither
// copied nor converted: an array of another type is a TypeError, one of another length a ValueError. All kernels
// release the GIL.
#include "codecs/kernels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arguments.hpp"
#include "bindings/module.hpp"
#include "bindings/parts.hpp"
#include "bindings/released.hpp"
#include "lanes/level.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using Powers = std::array<float, 2>;

void require(bool fits, const char *what) {
    if (!fits) {
        throw std::invalid_argument(std::string("codec kernel requires: ") + what);
    }
}

std::size_t blocks(std::size_t count, std::size_t block) {
    require(block > 0, "blocks of at least one value");
    return count / block + (count % block != 0);
}

template <typename Element>
const Element *data_or_null(const Maybe<Element> &array) {
    return array ? array->data() : nullptr;
}

codecs::RandomKey random_key(const arguments::RandomKey &key) {
    return {{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)},
            key.chunk,
            static_cast<std::uint32_t>(key.round),
            key.stream << 24 | key.worker};
}

/// Returns the rotation of a chunk of ``count`` values, padded to ``length``.
codecs::Rotation rotation(const arguments::Rotation &how, std::size_t length, std::size_t count) {
    require(std::has_single_bit(length) && length >= 8, "a padded chunk of a power of two from 8");
    require(std::has_single_bit(how.block) && how.block <= length, "transforms of a power of two, at most the chunk");
    require(how.signs.size() >= blocks(length, 32), "a sign for each coordinate");
    require(count <= length, "a chunk no longer than its padded length");
    return {how.signs.data(), length, how.block};
}

codecs::Scale scale(const arguments::Scale &scale) {
    return {scale.factors[0], {scale.factors[1], scale.factors[2]}, scale.limit};
}

codecs::BlockUnits block_units(const arguments::BlockUnits &units, std::size_t count) {
    require(units.maxima.size() == blocks(count, units.block), "one magnitude per block");
    return {units.maxima.data(), units.peak, units.block};
}

/// Returns the array of the transform: the result, unless that lacks the padding.
float *workspace(const Array<float> &out, const Array<float> &scratch, std::size_t length) {
    if (out.size() == length) {
        return out.data();
    }
    require(scratch.size() >= length, "scratch of the length of the padded chunk");
    return scratch.data();
}

codecs::BlockUnits after(const codecs::BlockUnits &units, std::size_t blocks) {
    return {units.maxima + blocks, units.peak, units.block};
}

/// Values of blocks ``first`` to ``stop`` (exclusive) of ``size`` values.
struct Range {
    std::size_t start;
    std::size_t count;

    Range(std::size_t size, std::size_t block, std::size_t first, std::size_t stop)
        : start(first * block), count(std::min(size, stop * block) - start) {}
};

class CodecKernels {
public:
    CodecKernels(const std::optional<std::string> &level, std::size_t threads) : threads_(checked_threads(threads)) {
        level_ = level.value_or(std::string(lanesum::level().name));
        for (const Level &known : supported_levels()) {
            if (known.name == level_) {
                kernels_ = &codecs::kernels(level_);
                return;
            }
        }
        throw std::invalid_argument("Invalid level '" + level_ + "': this processor has no such vector instructions.");
    }

    static std::vector<std::string> levels() {
        std::vector<std::string> names;
        for (const Level &known : supported_levels()) {
            names.emplace_back(known.name);
        }
        return names;
    }

    const std::string &level() const { return level_; }

    void random_words(const arguments::RandomKey &key, Array<std::uint32_t> out) const {
        const Released released;
        kernels_->random_words(random_key(key), out.data(), out.size());
    }

    void hadamard_transform(Array<float> values, std::size_t block) const {
        require(std::has_single_bit(block) && values.size() % block == 0,
                "blocks of a power of two that fill the array");
        require(values.size() % 8 == 0, "a multiple of 8 values");
        const Released released;
        for_length(values.size()).hadamard_transform(values.data(), values.size(), block);
    }

    void square_sums(Array<const float> values, std::size_t chunk, Array<double> out) const {
        require(out.size() == blocks(values.size(), chunk), "one sum per chunk");
        const Released released;
        in_parts(values.size(), chunk, threads_, [&](std::size_t, std::size_t first, std::size_t stop) {
            for (std::size_t i = first; i < stop; ++i) {
                const std::size_t start = i * chunk;
                out.data()[i] = kernels_->square_sum(values.data() + start, std::min(chunk, values.size() - start));
            }
        });
    }

    void rotate(Array<const float> values, Powers powers, const arguments::Rotation &rotated, Array<float> out) const {
        const codecs::Rotation how = rotation(rotated, out.size(), values.size());
        const Released released;
        for_length(how.length).rotate(values.data(), values.size(), powers.data(), how, out.data());
    }

    void quantize(Array<const float> rotated, float factor, Array<const std::uint32_t> cells,
                  const arguments::RandomKey &key, Array<std::uint32_t> words) const {
        require(cells.size() > 1 && cells.size() <= 256, "2 to 256 cells");
        require(words.size() * 8 == rotated.size(), "a word per eight codes");
        const std::size_t granularity = cells.size() - 1;
        codecs::Cells unit{static_cast<float>(granularity),
                           static_cast<float>(granularity) / 2,
                           cells.size() <= 32,
                           {}};
        std::copy_n(cells.data(), cells.size(), unit.entries);
        const Released released;
        for_length(rotated.size())
            .quantize(rotated.data(), rotated.size(), factor, unit, random_key(key), words.data());
    }

    void decode(Array<const std::uint32_t> lanes, const arguments::LaneContributors &contributors,
                const arguments::Rotation &rotated, const arguments::Scale &scaled, Array<float> scratch,
                Array<float> out) const {
        const codecs::Rotation how = rotation(rotated, lanes.size() * 4, out.size());
        const Maybe<const float> &counts = contributors.counts;
        require(!counts || counts->size() == lanes.size(), "one count per accumulator word");
        const codecs::LaneContributors in{contributors.offset, data_or_null(counts), contributors.average};
        float *const work = workspace(out, scratch, how.length);
        const Released released;
        for_length(how.length).decode(lanes.data(), in, how, scale(scaled), work, out.data(), out.size());
    }

    void residual(Array<const float> values, Array<const std::uint32_t> codes, Array<const float> levels,
                  Maybe<const std::uint8_t> included, const arguments::Rotation &rotated,
                  const arguments::Scale &scaled, Array<float> scratch, Array<float> out) const {
        const codecs::Rotation how = rotation(rotated, codes.size() * 8, out.size());
        require(levels.size() == 16, "16 levels");
        require(!included || included->size() == codes.size() * 2, "one choice per accumulator word");
        require(values.size() == out.size(), "a residual of the length of the vector");
        float *const work = workspace(out, scratch, how.length);
        const Released released;
        for_length(how.length)
            .residual(codes.data(), levels.data(), data_or_null(included), how, scale(scaled), values.data(), work,
                      out.data(), out.size());
    }

    void magnitudes(Array<const float> values, std::size_t block, Array<std::uint32_t> out) const {
        require(out.size() == blocks(values.size(), block), "one magnitude per block");
        const Released released;
        in_parts(values.size(), block, threads_, [&](std::size_t, std::size_t first, std::size_t stop) {
            const Range part(values.size(), block, first, stop);
            kernels_->magnitudes(values.data() + part.start, part.count, block, out.data() + first);
        });
    }

    void not_below(Array<const float> values, std::uint32_t least, Array<std::uint8_t> mask) const {
        require(mask.size() == values.size(), "one mark per value");
        require(least <= INT32_MAX, "a magnitude without a sign");
        const Released released;
        kernels_->not_below(values.data(), values.size(), least, mask.data());
    }

    void largest(Array<const float> values, std::size_t wanted, Array<std::uint8_t> mask) const {
        require(mask.size() == values.size(), "one mark per value");
        require(wanted <= values.size() && values.size() < 1ull << 32,
                "at most as many as values, and fewer than 2**32");
        const Released released;
        kernels_->largest(values.data(), values.size(), wanted, mask.data());
    }

    void to_integers(Array<const float> values, const arguments::BlockUnits &units, Array<std::int32_t> out) const {
        const codecs::BlockUnits own = block_units(units, values.size());
        require(out.size() == values.size(), "one integer per value");
        require(units.peak >= 1 && units.peak <= INT32_MAX, "a peak from 1 to 2**31 - 1");
        const Released released;
        in_parts(values.size(), own.block, threads_, [&](std::size_t, std::size_t first, std::size_t stop) {
            const Range part(values.size(), own.block, first, stop);
            kernels_->to_integers(values.data() + part.start, part.count, after(own, first), out.data() + part.start);
        });
    }

    void from_integers(Array<const std::int32_t> sums, const arguments::BlockUnits &units, double divisor,
                       Maybe<const double> counts, Array<float> out) const {
        const codecs::BlockUnits own = block_units(units, sums.size());
        require(out.size() == sums.size(), "one value per integer");
        require(!counts || counts->size() == sums.size(), "one count per value");
        const Released released;
        const double *const each = data_or_null(counts);
        in_parts(sums.size(), own.block, threads_, [&](std::size_t, std::size_t first, std::size_t stop) {
            const Range part(sums.size(), own.block, first, stop);
            kernels_->from_integers(sums.data() + part.start, part.count, after(own, first), divisor,
                                    each == nullptr ? nullptr : each + part.start, out.data() + part.start);
        });
    }

    void integer_residual(Array<const float> values, Array<const std::int32_t> integers,
                          const arguments::BlockUnits &units, Array<float> out) const {
        const codecs::BlockUnits own = block_units(units, values.size());
        require(integers.size() == values.size() && out.size() == values.size(), "one integer and result per value");
        const Released released;
        in_parts(values.size(), own.block, threads_, [&](std::size_t, std::size_t first, std::size_t stop) {
            const Range part(values.size(), own.block, first, stop);
            kernels_->integer_residual(values.data() + part.start, integers.data() + part.start, part.count,
                                       after(own, first), out.data() + part.start);
        });
    }

    void sum_rows(Array<const float> rows, double divisor, Array<float> out) const {
        require(out.size() > 0 && rows.size() > 0 && rows.size() % out.size() == 0,
                "whole rows of the length of the result");
        const Released released;
        kernels_->sum_rows(rows.data(), rows.size() / out.size(), out.size(), divisor, out.data());
    }

private:
    const codecs::Kernels &for_length(std::size_t length) const {
        return length % codecs::MIN_LENGTH == 0 ? *kernels_ : codecs::BASELINE;
    }

    std::size_t threads_;
    std::string level_;
    const codecs::Kernels *kernels_ = nullptr;
};

}  // namespace

void define_codecs(nb::module_ &module) {
    // noconvert: a converted array would be a copy, and results in it would be lost.
    const auto array = [](const char *name) { return nb::arg(name).noconvert(); };
    module.attr("MAX_THREADS") = MAX_THREADS;
    module.attr("KERNEL_ARGUMENTS") = nb::make_tuple("RandomKey", "Rotation", "Scale", "LaneContributors", "BlockUnits",
                                                     "SharedDithers", "Rounding", "DitherSum");
    nb::class_<CodecKernels>(
        module, "CodecKernels",
        "Kernels of the codecs; see lanesum.codecs.kernels.dispatch. ``level``: vector instructions to use.")
        .def(nb::init<const std::optional<std::string> &, std::size_t>(), nb::arg("level") = nb::none(),
             nb::arg("threads") = 1)
        .def_static("levels", &CodecKernels::levels, "Levels of this processor, narrowest first.")
        .def_prop_ro("level", &CodecKernels::level)
        .def("random_words", &CodecKernels::random_words, nb::arg("key"), array("out"))
        .def("hadamard_transform", &CodecKernels::hadamard_transform, array("values"), nb::arg("block"))
        .def("square_sums", &CodecKernels::square_sums, array("values"), nb::arg("chunk"), array("out"))
        .def("rotate", &CodecKernels::rotate, array("values"), nb::arg("powers"), nb::arg("rotation"), array("out"))
        .def("quantize", &CodecKernels::quantize, array("rotated"), nb::arg("factor"), array("cells"), nb::arg("key"),
             array("words"))
        .def("decode", &CodecKernels::decode, array("lanes"), nb::arg("contributors"), nb::arg("rotation"),
             nb::arg("scale"), array("scratch"), array("out"))
        .def("residual", &CodecKernels::residual, array("values"), array("codes"), array("levels"),
             array("included").none(), nb::arg("rotation"), nb::arg("scale"), array("scratch"), array("out"))
        .def("magnitudes", &CodecKernels::magnitudes, array("values"), nb::arg("block"), array("out"))
        .def("not_below", &CodecKernels::not_below, array("values"), nb::arg("least"), array("mask"))
        .def("largest", &CodecKernels::largest, array("values"), nb::arg("wanted"), array("mask"))
        .def("to_integers", &CodecKernels::to_integers, array("values"), nb::arg("units"), array("out"))
        .def("from_integers", &CodecKernels::from_integers, array("sums"), nb::arg("units"), nb::arg("divisor"),
             array("counts").none(), array("out"))
        .def("integer_residual", &CodecKernels::integer_residual, array("values"), array("integers"), nb::arg("units"),
             array("out"))
        .def("sum_rows", &CodecKernels::sum_rows, array("rows"), nb::arg("divisor"), array("out"));
}

}  // namespace lanesum::bindings
