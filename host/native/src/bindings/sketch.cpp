// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the sparse codecs on NumPy arrays, with the interface of lanesum/codecs/sparse/reference.py. Arrays are
// neither copied nor converted: an array of another type is a TypeError; one of another length, or a key beyond it, is
// a ValueError. All kernels release the GIL.
#include "codecs/sketch.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"

namespace nb = nanobind;
namespace sketch = lanesum::codecs::sketch;

namespace lanesum::bindings {
namespace {

template <typename Element>
using Array = nb::ndarray<Element, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = Array<const float>;
using Results = Array<float>;
using Words = Array<std::uint32_t>;
using ConstWords = Array<const std::uint32_t>;

void require(bool fits, const char *what) {
    if (!fits) {
        throw std::invalid_argument(std::string("sketch kernel requires: ") + what);
    }
}

std::size_t blocks(std::size_t count, std::size_t block) {
    require(block > 0, "blocks of at least one value");
    return count / block + (count % block != 0);
}

sketch::Keys checked(const ConstWords &keys, std::uint64_t limit) {
    for (std::size_t k = 0; k < keys.size(); ++k) {
        require(keys.data()[k] < limit, "keys below the number of blocks");
    }
    return {keys.data(), keys.size()};
}

sketch::Cells checked(const nb::object &cells) {
    const sketch::Cells found{nb::cast<std::uint64_t>(cells.attr("count")),
                              nb::cast<std::uint64_t>(cells.attr("segment"))};
    require(found.count >= 3 && found.count < 1ull << 32, "3 to 2**32 - 1 cells");
    require(found.segment == 0 || (std::has_single_bit(found.segment) && found.count % found.segment == 0 &&
                                   found.count / found.segment >= 3),
            "at least three segments, of a power of two of cells");
    return found;
}

void require_filter(std::size_t words) {
    require(words > 0 && words % 2 == 0 && words < 1ull << 32, "fewer than 2**31 filter words of 64 bits");
}

/// Stateless. It is a class so that tests can substitute another object.
struct SketchKernels {
    static std::pair<std::size_t, std::uint32_t> nonzero_blocks(const Floats &values, std::size_t block,
                                                                const Words &keys) {
        require(keys.size() >= blocks(values.size(), block), "a key per block");
        Released released;
        const auto found = sketch::nonzero_blocks(values.data(), values.size(), block, keys.data());
        return {found.keys, found.largest};
    }

    static void gather_integers(const Floats &values, const ConstWords &keys, std::size_t block, int exponent,
                                std::int32_t peak, const Words &integers) {
        require(integers.size() == keys.size() * block, "a block of integers per key");
        const auto checked_keys = checked(keys, blocks(values.size(), block));
        Released released;
        sketch::gather_integers(values.data(), values.size(), checked_keys, block, exponent, peak, integers.data());
    }

    static void insert(const ConstWords &integers, const ConstWords &keys, std::size_t block, std::uint64_t seed,
                       const nb::object &cells, const Words &words) {
        require(integers.size() == keys.size() * block, "a block of integers per key");
        const auto checked_cells = checked(cells);
        require(words.size() % checked_cells.count == 0 && words.size() / checked_cells.count == block,
                "a block of words per cell");
        Released released;
        sketch::insert(integers.data(), {keys.data(), keys.size()}, block, seed, checked_cells, words.data());
    }

    static std::pair<sketch::Order, std::size_t> peeling_order(const ConstWords &keys, std::uint64_t seed,
                                                               const nb::object &cells, const Words &left) {
        require(left.size() >= keys.size(), "an entry per key");
        require(keys.size() < 1ull << 32, "fewer keys than 2**32");
        const auto checked_cells = checked(cells);
        std::pair<sketch::Order, std::size_t> found;
        Released released;
        found.second = sketch::peeling_order({keys.data(), keys.size()}, seed, checked_cells, found.first, left.data());
        return found;
    }

    static void peel(const Words &integers, const sketch::Order &order, std::size_t block, const Words &words) {
        require(block > 0 && integers.size() / block == order.keys && integers.size() % block == 0,
                "a block of integers per key");
        require(words.size() / block == order.cells && words.size() % block == 0, "a block of words per cell");
        Released released;
        sketch::peel(integers.data(), order, block, words.data());
    }

    static void scatter_floats(const ConstWords &integers, const ConstWords &keys, std::size_t block, int exponent,
                               double divisor, const Results &values) {
        require(integers.size() == keys.size() * block, "a block of integers per key");
        const auto checked_keys = checked(keys, blocks(values.size(), block));
        Released released;
        sketch::scatter_floats(integers.data(), checked_keys, block, exponent, divisor, values.data(), values.size());
    }

    static void count_blocks(const ConstWords &integers, const ConstWords &keys, std::size_t block,
                             const Array<std::int64_t> &counts) {
        require(integers.size() == keys.size() * block, "a block of integers per key");
        require(counts.size() <= 64, "at most 64 lengths of blocks");
        Released released;
        sketch::count_blocks(integers.data(), {keys.data(), keys.size()}, block, counts.data(), counts.size());
    }

    static void set_bits(const ConstWords &keys, const Words &words) {
        const auto checked_keys = checked(keys, words.size() * 32);
        Released released;
        sketch::set_bits(checked_keys, words.data());
    }

    static std::size_t keys_of_bits(const ConstWords &words, const Words &keys) {
        require(words.size() >= blocks(keys.size(), 32), "a bit per key");
        Released released;
        return sketch::keys_of_bits(words.data(), keys.size(), keys.data());
    }

    static void fill_filter(const ConstWords &keys, std::uint64_t seed, unsigned hashes, const Words &words) {
        require_filter(words.size());
        Released released;
        sketch::fill_filter({keys.data(), keys.size()}, seed, hashes, words.data(), words.size());
    }

    static std::size_t keys_of_filter(const ConstWords &words, std::uint64_t seed, unsigned hashes, const Words &keys) {
        require_filter(words.size());
        Released released;
        return sketch::keys_of_filter(words.data(), words.size(), seed, hashes, keys.size(), keys.data());
    }
};

}  // namespace

void define_sketch(nb::module_ &module) {
    // noconvert: a converted array would be a copy, and results in it would be lost.
    const auto array = [](const char *name) { return nb::arg(name).noconvert(); };
    const nb::arg block("block"), seed("seed"), cells("cells"), hashes("hashes");
    nb::class_<sketch::Order>(module, "PeelingOrder", "Result of SketchKernels.peeling_order.");
    nb::class_<SketchKernels>(module, "SketchKernels",
                              "Kernels of the sparse codecs; see lanesum.codecs.sparse.all_reduce.")
        .def(nb::init<>())
        .def_static("nonzero_blocks", &SketchKernels::nonzero_blocks, array("values"), block, array("keys"))
        .def_static("gather_integers", &SketchKernels::gather_integers, array("values"), array("keys"), block,
                    nb::arg("exponent"), nb::arg("peak"), array("integers"))
        .def_static("insert", &SketchKernels::insert, array("integers"), array("keys"), block, seed, cells,
                    array("sketch"))
        .def_static("peeling_order", &SketchKernels::peeling_order, array("keys"), seed, cells, array("left"))
        .def_static("peel", &SketchKernels::peel, array("integers"), nb::arg("order"), block, array("sketch"))
        .def_static("scatter_floats", &SketchKernels::scatter_floats, array("integers"), array("keys"), block,
                    nb::arg("exponent"), nb::arg("divisor"), array("values"))
        .def_static("count_blocks", &SketchKernels::count_blocks, array("integers"), array("keys"), block,
                    array("counts"))
        .def_static("set_bits", &SketchKernels::set_bits, array("keys"), array("words"))
        .def_static("keys_of_bits", &SketchKernels::keys_of_bits, array("words"), array("keys"))
        .def_static("fill_filter", &SketchKernels::fill_filter, array("keys"), seed, hashes, array("words"))
        .def_static("keys_of_filter", &SketchKernels::keys_of_filter, array("words"), seed, hashes, array("keys"));
}

}  // namespace lanesum::bindings
