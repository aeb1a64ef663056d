// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Parts of the Python module, each defined in the file of its name.
#pragma once

#include <nanobind/nanobind.h>
#include <netinet/in.h>

#include <string>
#include <utility>

namespace lanesum::bindings {

using Address = std::pair<std::string, int>;

/// Throws std::invalid_argument if the host is no IPv4 address.
sockaddr_in to_sockaddr(const Address &address);

void define_blocks(nanobind::module_ &module);
void define_codecs(nanobind::module_ &module);
void define_io(nanobind::module_ &module);
void define_lanes(nanobind::module_ &module);
void define_memory(nanobind::module_ &module);
void define_protocol(nanobind::module_ &module);
void define_server(nanobind::module_ &module);
void define_sketch(nanobind::module_ &module);
void define_transport(nanobind::module_ &module);
void define_worker_loop(nanobind::module_ &module);

}  // namespace lanesum::bindings
