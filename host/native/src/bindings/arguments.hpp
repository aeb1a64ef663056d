// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Arguments that the kernels share: the records of lanesum/codecs/kernels/interface.py and
// lanesum/codecs/thc/dither.py. They have the same fields in the same order. A record is a named tuple in Python. Its
// arrays are not converted: an array of another type is a TypeError.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

namespace lanesum::bindings {

template <typename Element>
using Array = nanobind::ndarray<Element, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <typename Element>
using Maybe = std::optional<Array<Element>>;

namespace arguments {

struct RandomKey {
    std::uint64_t seed;
    std::uint32_t stream;
    std::uint32_t worker;
    std::uint64_t round;
    std::uint32_t chunk;
};

struct Rotation {
    Array<const std::uint32_t> signs;
    std::size_t block;
};

struct Scale {
    std::array<float, 3> factors;
    float limit;
};

struct LaneContributors {
    float offset;
    Maybe<const float> counts;
    bool average;
};

struct BlockUnits {
    Array<const float> maxima;
    double peak;
    std::size_t block;
};

struct SharedDithers {
    std::uint64_t seed;
    std::uint64_t round;
    std::uint32_t first;
};

struct Rounding {
    unsigned granularity;
    Array<const std::uint8_t> cells;
    Array<const std::uint8_t> levels;
    std::uint16_t offset;
    unsigned flip;
    unsigned op;
};

struct DitherSum {
    std::uint16_t multiplier;
    Array<const std::uint16_t> offsets;
    int sign;
    std::uint32_t constant;
    std::size_t num_workers;
};

}  // namespace arguments
}  // namespace lanesum::bindings

namespace nanobind::detail {

template <typename>
struct Member;
template <typename Record, typename Field>
struct Member<Field Record::*> {
    using Type = Field;
};

template <typename Field>
constexpr bool is_array = false;
template <typename... Options>
constexpr bool is_array<ndarray<Options...>> = true;
template <typename... Options>
constexpr bool is_array<std::optional<ndarray<Options...>>> = true;

/// Loads a tuple into the members of a record, in their order.
template <typename Record, auto... Members>
struct RecordCaster {
    NB_TYPE_CASTER(Record, const_name("tuple"))

    bool from_python(handle source, std::uint32_t flags, cleanup_list *cleanup) noexcept {
        if (!PyTuple_Check(source.ptr()) || PyTuple_GET_SIZE(source.ptr()) != sizeof...(Members)) {
            return false;
        }
        Py_ssize_t position = 0;
        return (load<Members>(PyTuple_GET_ITEM(source.ptr(), position++), flags, cleanup) && ...);
    }

    static handle from_cpp(const Record &, rv_policy, cleanup_list *) noexcept { return {}; }

private:
    template <auto Place>
    bool load(handle item, std::uint32_t flags, cleanup_list *cleanup) noexcept {
        using Field = typename Member<decltype(Place)>::Type;
        constexpr std::uint32_t convert = static_cast<std::uint8_t>(cast_flags::convert);
        make_caster<Field> caster;
        // A number may be converted; a converted array would be a copy.
        const std::uint32_t own = is_array<Field> ? flags & ~convert : flags | convert;
        if (!caster.from_python(item, flags_for_local_caster<Field>(own), cleanup)) {
            return false;
        }
        value.*Place = caster.operator cast_t<Field>();
        return true;
    }
};

namespace records = lanesum::bindings::arguments;

template <>
struct type_caster<records::RandomKey>
    : RecordCaster<records::RandomKey, &records::RandomKey::seed, &records::RandomKey::stream,
                   &records::RandomKey::worker, &records::RandomKey::round, &records::RandomKey::chunk> {};

template <>
struct type_caster<records::Rotation>
    : RecordCaster<records::Rotation, &records::Rotation::signs, &records::Rotation::block> {};

template <>
struct type_caster<records::Scale> : RecordCaster<records::Scale, &records::Scale::factors, &records::Scale::limit> {};

template <>
struct type_caster<records::LaneContributors>
    : RecordCaster<records::LaneContributors, &records::LaneContributors::offset, &records::LaneContributors::counts,
                   &records::LaneContributors::average> {};

template <>
struct type_caster<records::BlockUnits> : RecordCaster<records::BlockUnits, &records::BlockUnits::maxima,
                                                       &records::BlockUnits::peak, &records::BlockUnits::block> {};

template <>
struct type_caster<records::SharedDithers>
    : RecordCaster<records::SharedDithers, &records::SharedDithers::seed, &records::SharedDithers::round,
                   &records::SharedDithers::first> {};

template <>
struct type_caster<records::Rounding>
    : RecordCaster<records::Rounding, &records::Rounding::granularity, &records::Rounding::cells,
                   &records::Rounding::levels, &records::Rounding::offset, &records::Rounding::flip,
                   &records::Rounding::op> {};

template <>
struct type_caster<records::DitherSum>
    : RecordCaster<records::DitherSum, &records::DitherSum::multiplier, &records::DitherSum::offsets,
                   &records::DitherSum::sign, &records::DitherSum::constant, &records::DitherSum::num_workers> {};

}  // namespace nanobind::detail
