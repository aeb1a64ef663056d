// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Python bindings of the lane operations, for tests against lanesum.aggregation.combine and for the benchmark.
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "lanes/lanes.hpp"
#include "lanes/level.hpp"
#include "lanes/rate.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using Words = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstWords = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

LaneOp checked(unsigned op) {
    if (op >= LANE_OPS) {
        throw std::invalid_argument("no lane operation has this number");
    }
    return static_cast<LaneOp>(op);
}

void check_size(std::size_t size, std::size_t expected) {
    if (size != expected) {
        throw std::invalid_argument("sizes do not fit");
    }
}

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (const Level &level : supported_levels()) {
        names.emplace_back(level.name);
    }
    return names;
}

void choose_level(const std::string &name) {
    if (!set_level(name)) {
        throw std::invalid_argument("this machine has no level " + name);
    }
}

void contribute_to(unsigned op, Words accumulator, ConstBytes payload, bool wide, std::optional<nb::bytes> code_table,
                   bool first) {
    const LaneOp known = checked(op);
    check_size(wide || fills(known, accumulator.size()), true);
    check_size(payload.size(), (wide ? accumulator.size() : uplink_words(known, accumulator.size())) * WORD_BYTES);
    const std::uint8_t *table = nullptr;
    if (code_table) {
        check_size(code_table->size(), CODE_TABLE_ENTRIES);
        table = static_cast<const std::uint8_t *>(code_table->data());
    }
    contribute(known, {accumulator.data(), accumulator.size()}, reinterpret_cast<const std::byte *>(payload.data()),
               wide, table, first);
}

void merge_into(unsigned op, Words accumulator, ConstWords words) {
    check_size(words.size(), accumulator.size());
    merge(checked(op), {accumulator.data(), accumulator.size()}, {words.data(), words.size()});
}

void store(Bytes wire, ConstWords words) {
    check_size(wire.size(), words.size() * WORD_BYTES);
    store_words(reinterpret_cast<std::byte *>(wire.data()), {words.data(), words.size()});
}

void load(Words words, ConstBytes wire) {
    check_size(wire.size(), words.size() * WORD_BYTES);
    load_words({words.data(), words.size()}, reinterpret_cast<const std::byte *>(wire.data()));
}

std::pair<double, double> rate(unsigned op, std::size_t words, std::size_t entries, double seconds, bool first) {
    const LaneOp known = checked(op);
    if (words == 0 || !fills(known, words) || entries == 0) {
        throw std::invalid_argument("needs at least one entry, and words of whole groups");
    }
    const LaneRate found = [&] {
        Released release;
        return lane_rate(known, words, entries, seconds, first);
    }();
    return {found.operation, found.copy};
}

}  // namespace

void define_lanes(nb::module_ &module) {
    module.def("lane_levels", &level_names, "Levels of vector instructions that this processor has, narrowest first.");
    module.def("lane_level", [] { return std::string(level().name); }, "The level in use.");
    module.def("set_lane_level", &choose_level, nb::arg("name"), "Use another level from now on; for tests.");
    module.def("contribute", &contribute_to, nb::arg("op"), nb::arg("accumulator"), nb::arg("payload"), nb::kw_only(),
               nb::arg("wide") = false, nb::arg("code_table") = nb::none(), nb::arg("first") = false,
               "Put one contribution, bytes as on the wire, into an accumulator.");
    module.def("merge", &merge_into, nb::arg("op"), nb::arg("accumulator"), nb::arg("words"),
               "Combine an accumulator with the words of another one.");
    module.def("store_words", &store, nb::arg("wire"), nb::arg("words"), "Words to network order.");
    module.def("load_words", &load, nb::arg("words"), nb::arg("wire"), "Words from network order.");
    module.def("lane_rate", &rate, nb::arg("op"), nb::arg("words"), nb::arg("entries"), nb::arg("seconds"),
               nb::arg("first") = false, "Bytes of payload per second and core: of the operation, and of memcpy.");
}

}  // namespace lanesum::bindings
