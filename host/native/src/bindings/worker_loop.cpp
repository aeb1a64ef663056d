// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Worker loop for lanesum/transport/native_engine.py.
#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "codecs/kernels.hpp"
#include "lanes/level.hpp"
#include "transport/worker_loop.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {

using transport::LoopExit;
using transport::WorkerLoop;

using Uplink = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableFloats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableWords = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

namespace {

constexpr std::uint32_t INFINITY_BITS = 0x7F800000;  // bits of NaN are above

/// As lanesum/codecs/fixed.py:Fixed._gather.
std::tuple<bool, LoopExit, std::shared_ptr<transport::RoundState>> gather(WorkerLoop &self, const Floats &vector,
                                                                          std::size_t worker, std::size_t workers,
                                                                          double divisor, const WritableWords &words,
                                                                          const WritableFloats &out, double deadline_s,
                                                                          double slice_s) {
    const std::size_t size = vector.size();
    if (size == 0 || out.size() != size || words.size() / size < workers || worker >= workers) {
        throw std::invalid_argument("sizes of vector, words and out do not match");
    }
    const codecs::Kernels &loops = size < codecs::MIN_LENGTH ? codecs::BASELINE : codecs::kernels(level().name);
    std::shared_ptr<transport::RoundState> round;
    const Released released;
    std::uint32_t largest = 0;
    loops.magnitudes(vector.data(), size, size, &largest);
    if (largest >= INFINITY_BITS) {
        return {false, LoopExit::slice, nullptr};
    }
    std::copy_n(reinterpret_cast<const std::uint32_t *>(vector.data()), size, words.data() + worker * size);
    const LoopExit reason = self.exchange(LaneOp::ADD32, {words.data(), words.size()}, deadline_s, slice_s, round);
    if (reason != LoopExit::reached) {
        return {true, reason, round};
    }
    const auto result = round->result();
    if (std::any_of(result.data() + size * workers, result.data() + words.size(),
                    [](std::uint32_t word) { return word != 0; })) {
        return {true, reason, round};
    }
    loops.sum_rows(reinterpret_cast<const float *>(result.data()), workers, size, divisor, out.data());
    return {true, reason, nullptr};
}

}  // namespace

void define_worker_loop(nb::module_ &module) {
    nb::enum_<LoopExit>(module, "LoopExit")
        .value("REACHED", LoopExit::reached)
        .value("WOKEN", LoopExit::woken)
        .value("SLICE", LoopExit::slice)
        .value("DEADLINE", LoopExit::deadline)
        .value("CONFLICT", LoopExit::conflict)
        .value("GONE", LoopExit::gone)
        .value("FAILED", LoopExit::failed)
        .value("SEND_FAILED", LoopExit::send_failed)
        .value("RECEIVE_FAILED", LoopExit::receive_failed)
        .value("CLOSED", LoopExit::closed);

    nb::class_<WorkerLoop>(module, "WorkerLoop")
        .def(
            "__init__",
            [](WorkerLoop *at, transport::RoundSequence &rounds, const std::vector<int> &fds, bool gso, bool gro,
               double spin_s, const std::vector<Address> &servers) {
                std::vector<sockaddr_in> addresses;
                std::ranges::transform(servers, std::back_inserter(addresses), to_sockaddr);
                new (at) WorkerLoop(rounds, fds, addresses, gso, gro, spin_s);
            },
            nb::arg("rounds"), nb::arg("fds"), nb::arg("gso"), nb::arg("gro"), nb::arg("spin_s") = 0.0,
            nb::arg("servers") = std::vector<Address>(), nb::keep_alive<1, 2>())
        .def("begin", &WorkerLoop::begin, nb::arg("deadline_s"), nb::arg("leave_s"))
        .def("run", &WorkerLoop::run, nb::arg("slice_s"), nb::call_guard<Released>())
        .def(
            "exchange",
            [](WorkerLoop &self, std::uint32_t op, const Uplink &words, double deadline_s, double slice_s) {
                std::shared_ptr<transport::RoundState> round;
                LoopExit reason;
                {
                    const Released released;
                    reason = self.exchange(static_cast<LaneOp>(op), {words.data(), words.size()}, deadline_s, slice_s,
                                           round);
                }
                return std::pair(reason, round);
            },
            nb::arg("op"), nb::arg("words"), nb::arg("deadline_s"), nb::arg("slice_s"),
            "Returns the exit reason and the round, which is retired if the reason is REACHED. Otherwise ``words`` "
            "have to "
            "exist, unchanged, until ``finish``.")
        .def("gather", gather, nb::arg("vector"), nb::arg("worker"), nb::arg("workers"), nb::arg("divisor"),
             nb::arg("words"), nb::arg("out"), nb::arg("deadline_s"), nb::arg("slice_s"),
             "Exchanges all workers' vectors side by side, and sums them. ``words`` are zeros, with room for all "
             "vectors and further words. "
             "Returns False if the vector is not finite (nothing is sent then), else True; the exit reason; and the "
             "round, or None if ``out`` has the sum: the reason is REACHED and the further words of all workers are 0.")
        .def("wake", &WorkerLoop::wake, nb::call_guard<Released>())
        .def("send", &WorkerLoop::send, nb::call_guard<Released>())
        .def("poll", &WorkerLoop::poll, nb::call_guard<Released>())
        .def("close", &WorkerLoop::close, nb::call_guard<Released>())
        .def_prop_ro("fatal_header",
                     [](const WorkerLoop &loop) {
                         return nb::bytes(loop.fatal_header().data(), loop.fatal_header().size());
                     })
        .def_prop_ro("error", &WorkerLoop::error)
        .def_prop_ro("failed_server", &WorkerLoop::failed_server)
        .def_prop_ro("gso", &WorkerLoop::gso);
}

}  // namespace lanesum::bindings
