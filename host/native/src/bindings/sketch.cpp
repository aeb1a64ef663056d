// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The sparse codecs' loops on NumPy arrays, with the interface of lanesum/codecs/sketch_reference.py. Nothing is copied
// or converted: an array of another type is a TypeError, one of another length, or a key beyond it, a ValueError. All
// run without the GIL.
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
using Words = Array<std::uint32_t>;
using ConstWords = Array<const std::uint32_t>;

void require(bool fits, const char *what) {
    if (!fits) {
        throw std::invalid_argument(std::string("sketch kernel: ") + what);
    }
}

std::size_t blocks(std::size_t count, std::size_t block) {
    require(block > 0, "a block has at least one value");
    return count / block + (count % block != 0);
}

sketch::Keys checked(const ConstWords &keys, std::uint64_t limit) {
    for (std::size_t k = 0; k < keys.size(); ++k) {
        require(keys.data()[k] < limit, "a key is beyond the last block");
    }
    return {keys.data(), keys.size()};
}

sketch::Cells checked(const nb::object &cells, std::size_t block, std::size_t words) {
    const sketch::Cells found{nb::cast<std::uint64_t>(cells.attr("count")),
                              nb::cast<std::uint64_t>(cells.attr("segment"))};
    require(found.count >= 3 && found.count < 1ull << 32, "a sketch has 3 cells at least, and less than 2**32");
    require(found.segment == 0 || (std::has_single_bit(found.segment) && found.count % found.segment == 0 &&
                                   found.count / found.segment >= 3),
            "cells are three segments at least, of a power of two");
    require(words % found.count == 0 && words / found.count == block, "a sketch has a block of words per cell");
    return found;
}

void require_filter(std::size_t words) {
    require(words > 0 && words % 2 == 0 && words < 1ull << 32, "a filter has words of 64 bits, less than 2**31");
}

/// Stateless: a class, so that tests can put another object in its place.
struct SketchKernels {
    static std::pair<std::size_t, std::uint32_t> nonzero_blocks(const Floats &values, std::size_t block,
                                                                const Words &keys) {
        require(keys.size() >= blocks(values.size(), block), "room for a key per block");
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
        const auto checked_cells = checked(cells, block, words.size());
        Released released;
        sketch::insert(integers.data(), {keys.data(), keys.size()}, block, seed, checked_cells, words.data());
    }

    static std::size_t peel(const Words &integers, const ConstWords &keys, std::size_t block, std::uint64_t seed,
                            const nb::object &cells, const Words &words, const Words &left) {
        require(integers.size() == keys.size() * block, "a block of integers per key");
        require(left.size() >= keys.size(), "room for every key");
        const auto checked_cells = checked(cells, block, words.size());
        Released released;
        return sketch::peel(integers.data(), {keys.data(), keys.size()}, block, seed, checked_cells, words.data(),
                            left.data());
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
    // noconvert: what nanobind converted would be a copy, and results would be lost with it.
    const auto array = [](const char *name) { return nb::arg(name).noconvert(); };
    const nb::arg block("block"), seed("seed"), cells("cells"), hashes("hashes");
    nb::class_<SketchKernels>(module, "SketchKernels", "The loops; see lanesum.codecs.sketch_kernels.")
        .def(nb::init<>())
        .def_static("nonzero_blocks", &SketchKernels::nonzero_blocks, array("values"), block, array("keys"))
        .def_static("gather_integers", &SketchKernels::gather_integers, array("values"), array("keys"), block,
                    nb::arg("exponent"), nb::arg("peak"), array("integers"))
        .def_static("insert", &SketchKernels::insert, array("integers"), array("keys"), block, seed, cells,
                    array("sketch"))
        .def_static("peel", &SketchKernels::peel, array("integers"), array("keys"), block, seed, cells, array("sketch"),
                    array("left"))
        .def_static("set_bits", &SketchKernels::set_bits, array("keys"), array("words"))
        .def_static("keys_of_bits", &SketchKernels::keys_of_bits, array("words"), array("keys"))
        .def_static("fill_filter", &SketchKernels::fill_filter, array("keys"), seed, hashes, array("words"))
        .def_static("keys_of_filter", &SketchKernels::keys_of_filter, array("words"), seed, hashes, array("keys"));
}

}  // namespace lanesum::bindings
