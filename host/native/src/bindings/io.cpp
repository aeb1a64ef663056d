// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams for tests and measurements in Python.
#include <arpa/inet.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "io/datagrams.hpp"
#include "io/offload.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {

sockaddr_in to_sockaddr(const Address &address) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(static_cast<std::uint16_t>(address.second));
    if (inet_pton(AF_INET, address.first.c_str(), &result.sin_addr) != 1) {
        throw std::invalid_argument("invalid IPv4 address: " + address.first);
    }
    return result;
}

namespace {

Address from_sockaddr(const sockaddr_in &address) {
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return {text, ntohs(address.sin_port)};
}

nb::list receive(io::Receiver &receiver) {
    nb::list result;
    for (const io::Received &one : receiver.receive()) {
        result.append(
            nb::make_tuple(nb::bytes(one.bytes.data(), one.bytes.size()), from_sockaddr(one.sender), one.congested));
    }
    return result;
}

std::size_t drain(io::Receiver &receiver) {
    std::size_t bytes = 0;
    for (const io::Received &one : receiver.receive()) {
        bytes += one.bytes.size();
    }
    return bytes;
}

/// Keeps the queued datagrams alive.
struct KeepingSender {
    io::Sender sender;
    std::vector<nb::bytes> queue;

    KeepingSender(int fd, bool gso) : sender(fd, gso) {}

    void add(nb::bytes datagram, const std::optional<Address> &to, bool joined, std::uint32_t run) {
        const sockaddr_in receiver = to ? to_sockaddr(*to) : sockaddr_in{};
        const std::span bytes(static_cast<const std::byte *>(datagram.data()), datagram.size());
        sender.add(to ? &receiver : nullptr, bytes, joined, run);
        queue.push_back(std::move(datagram));
    }

    int flush() {
        int error;
        {
            Released released;
            error = sender.flush();
        }
        queue.clear();
        return error;
    }
};

}  // namespace

void define_io(nb::module_ &module) {
    nb::class_<io::Receiver>(module, "DatagramReceiver")
        .def(nb::init<int, std::size_t, bool>(), nb::arg("fd"), nb::arg("batch"), nb::arg("gro"))
        .def("receive", &receive, "Returns a list of (bytes, sender, congested).")
        .def("drain", &drain, nb::call_guard<Released>(), "Receives one batch and returns its number of bytes.")
        .def_prop_ro("error", &io::Receiver::error)
        .def_prop_ro("gro", &io::Receiver::gro)
        .def_prop_ro("full", &io::Receiver::full);
    nb::class_<KeepingSender>(module, "DatagramSender")
        .def(nb::init<int, bool>(), nb::arg("fd"), nb::arg("gso"))
        .def("add", &KeepingSender::add, nb::arg("datagram"), nb::arg("to") = nb::none(), nb::arg("joined") = true,
             nb::arg("run") = 0)
        .def("flush", &KeepingSender::flush)
        .def_prop_ro("gso", [](const KeepingSender &one) { return one.sender.gso(); });
    module.def(
        "probe_offload",
        [](int fd) {
            io::Offload offload = io::probe(fd);
            return std::pair(offload.super_packets, std::move(offload.reason));
        },
        nb::arg("fd"), "Returns True if super-packets may be used on the path to the socket's peer, and the reason.");
}

}  // namespace lanesum::bindings
