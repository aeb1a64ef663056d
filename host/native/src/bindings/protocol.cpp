// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Python bindings of packet headers, for tests that compare the layout of both implementations.
#include <stdexcept>

#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "protocol/header.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

void check_size(const nb::bytes &packed) {
    if (packed.size() < HEADER_BYTES) {
        throw std::invalid_argument("shorter than a header");
    }
}

nb::bytes repack(nb::bytes packed) {
    check_size(packed);
    std::byte result[HEADER_BYTES];
    Header::unpack(static_cast<const std::byte *>(packed.data())).pack(result);
    return nb::bytes(result, HEADER_BYTES);
}

nb::dict fields(nb::bytes packed) {
    check_size(packed);
    const Header header = Header::unpack(static_cast<const std::byte *>(packed.data()));
    nb::dict result;
    header.each([&](const char *name, std::uint32_t value) { result[name] = value; });
    return result;
}

}  // namespace

void define_protocol(nb::module_ &module) {
    module.attr("PROTOCOL_VERSION") = VERSION;
    module.def("header_fields", &fields, nb::arg("packed"), "Returns the fields of a packed header, by name.");
    module.def("repack_header", &repack, nb::arg("packed"), "Unpacks and packs a header.");
}

}  // namespace lanesum::bindings
