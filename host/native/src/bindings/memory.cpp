// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Memory of large arrays as lanesum/arrays.py sees it.
#include "memory/words.hpp"

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
    auto owner = std::make_unique<Owner>(memory::make_words(count));
    std::uint32_t *at = owner->words.get();
    const nb::capsule capsule(owner.get(), [](void *one) noexcept { delete static_cast<Owner *>(one); });
    owner.release();
    return Array(at, {count}, capsule);
}

}  // namespace

void define_memory(nb::module_ &module) {
    module.attr("LEAST_KEPT_BYTES") = memory::LEAST_KEPT_BYTES;
    module.def("make_words", words);
    module.def("kept_bytes", memory::kept_bytes);
    module.def("release_kept", memory::release_kept);
}

}  // namespace lanesum::bindings
