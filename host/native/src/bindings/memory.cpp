// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Python bindings of the array pool, used by lanesum/_internal/arrays.py.
#include "memory/array_pool.hpp"

#include <nanobind/ndarray.h>

#include "bindings/module.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using Array = nb::ndarray<std::uint32_t, nb::numpy>;

Array words(std::size_t count) {
    struct Owner {
        memory::Words words;
    };
    auto owner = std::make_unique<Owner>(memory::allocate_words(count));
    std::uint32_t *at = owner->words.get();
    const nb::capsule capsule(owner.get(), [](void *one) noexcept { delete static_cast<Owner *>(one); });
    owner.release();
    return Array(at, {count}, capsule);
}

}  // namespace

void define_memory(nb::module_ &module) {
    module.attr("MIN_POOLED_BYTES") = memory::MIN_POOLED_BYTES;
    module.def("allocate_words", words);
    module.def("pooled_bytes", memory::pooled_bytes);
    module.def("release_pooled", memory::release_pooled);
}

}  // namespace lanesum::bindings
