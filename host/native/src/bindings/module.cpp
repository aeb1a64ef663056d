// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "bindings/module.hpp"

NB_MODULE(_core, module) {
    // Loops live as long as the interpreter, because a thread may use them until its end: this is no leak.
    nanobind::set_leak_warnings(false);
    module.attr("SOURCES") = LANESUM_SOURCES;
    lanesum::bindings::define_blocks(module);
    lanesum::bindings::define_codecs(module);
    lanesum::bindings::define_io(module);
    lanesum::bindings::define_lanes(module);
    lanesum::bindings::define_memory(module);
    lanesum::bindings::define_protocol(module);
    lanesum::bindings::define_server(module);
    lanesum::bindings::define_sketch(module);
    lanesum::bindings::define_transport(module);
    lanesum::bindings::define_worker_loop(module);
}
