// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A worker's rounds on its sockets as lanesum/transport/native_loop.py sees them.
#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "codecs/kernels.hpp"
#include "lanes/level.hpp"
#include "transport/udp_rounds.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {

using transport::Pause;
using transport::UdpRounds;

using Uplink = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableFloats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableWords = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

namespace {

constexpr std::uint32_t INFINITY_BITS = 0x7F800000;  // those of NaN are above

/// As lanesum/codecs/fixed.py:Fixed._gather.
std::tuple<bool, Pause, std::shared_ptr<transport::RoundWindow>> gather(UdpRounds &self, const Floats &vector,
                                                                         std::size_t worker, double divisor,
                                                                         const WritableWords &words,
                                                                         const WritableFloats &out, double deadline_s,
                                                                         double slice_s) {
    const std::size_t size = vector.size();
    if (size == 0 || out.size() != size || words.size() % size != 0 || worker >= words.size() / size) {
        throw std::invalid_argument("arrays of other sizes");
    }
    const codecs::Kernels &loops = size < codecs::MIN_LENGTH ? codecs::BASELINE : codecs::kernels(level().name);
    std::shared_ptr<transport::RoundWindow> window;
    const Released released;
    std::uint32_t largest = 0;
    loops.magnitudes(vector.data(), size, size, &largest);
    if (largest >= INFINITY_BITS) {
        return {false, Pause::slice, nullptr};
    }
    std::copy_n(reinterpret_cast<const std::uint32_t *>(vector.data()), size, words.data() + worker * size);
    const Pause pause =
        self.exchange(LaneOp::ADD32, {words.data(), words.size()}, deadline_s, slice_s, window);
    if (pause != Pause::reached) {
        return {true, pause, window};
    }
    loops.sum_rows(reinterpret_cast<const float *>(window->result().data()), words.size() / size, size, divisor,
                   out.data());
    return {true, pause, nullptr};
}

}  // namespace

void define_udp_rounds(nb::module_ &module) {
    nb::enum_<Pause>(module, "Pause")
        .value("REACHED", Pause::reached)
        .value("WOKEN", Pause::woken)
        .value("SLICE", Pause::slice)
        .value("DEADLINE", Pause::deadline)
        .value("CONFLICT", Pause::conflict)
        .value("GONE", Pause::gone)
        .value("SEND_FAILED", Pause::send_failed)
        .value("RECEIVE_FAILED", Pause::receive_failed)
        .value("CLOSED", Pause::closed);

    nb::class_<UdpRounds>(module, "UdpRounds")
        .def(
            "__init__",
            [](UdpRounds *at, transport::RoundSequence &rounds, const std::vector<int> &fds, bool join,
               bool take_joined, double spin_s) {
                new (at) UdpRounds(rounds, fds, join, take_joined, spin_s);
            },
            nb::arg("rounds"), nb::arg("fds"), nb::arg("join"), nb::arg("take_joined"), nb::arg("spin_s") = 0.0,
            nb::keep_alive<1, 2>())
        .def("begin", &UdpRounds::begin, nb::arg("deadline_s"), nb::arg("leave_s"))
        .def("run", &UdpRounds::run, nb::arg("slice_s"), nb::call_guard<Released>())
        .def(
            "exchange",
            [](UdpRounds &self, std::uint32_t op, const Uplink &words, double deadline_s, double slice_s) {
                std::shared_ptr<transport::RoundWindow> window;
                Pause pause;
                {
                    const Released released;
                    pause = self.exchange(static_cast<LaneOp>(op), {words.data(), words.size()}, deadline_s, slice_s,
                                          window);
                }
                return std::pair(pause, window);
            },
            nb::arg("op"), nb::arg("words"), nb::arg("deadline_s"), nb::arg("slice_s"),
            "Returns why it came back, and the round, which is over if that is REACHED; else the caller keeps ``words`` "
            "there, unchanged, until ``finish``.")
        .def("gather", gather, nb::arg("vector"), nb::arg("worker"), nb::arg("divisor"), nb::arg("words"),
             nb::arg("out"), nb::arg("deadline_s"), nb::arg("slice_s"),
             "``exchange`` of all workers' vectors side by side, and their sum. ``words`` are zeros with room for all of "
             "them. Returns whether the vector is finite, and nothing was sent where it is not; why it came back; and the "
             "round where that is not REACHED, else ``out`` has the sum.")
        .def("wake", &UdpRounds::wake, nb::call_guard<Released>())
        .def("send", &UdpRounds::send, nb::call_guard<Released>())
        .def("attend", &UdpRounds::attend, nb::call_guard<Released>())
        .def("close", &UdpRounds::close, nb::call_guard<Released>())
        .def_prop_ro("verdict",
                     [](const UdpRounds &rounds) {
                         return nb::bytes(rounds.verdict().data(), rounds.verdict().size());
                     })
        .def_prop_ro("error", &UdpRounds::error)
        .def_prop_ro("failed_server", &UdpRounds::failed_server)
        .def_prop_ro("joins", &UdpRounds::joins);
}

}  // namespace lanesum::bindings
