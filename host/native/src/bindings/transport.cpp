// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A worker's rounds as lanesum/transport/native_rounds.py sees them.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "transport/rounds.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using namespace transport;

using Uplink = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<std::uint32_t, nb::numpy>;

/// What a bytes-like object holds, for as long as this is there.
class Buffer {
public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
            throw nb::python_error();
        }
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte *>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_;
};

/// Copies, so that nobody in Python can look at what has been given back.
nb::list datagrams(std::span<const Datagram> made) {
    nb::list views;
    for (const Datagram &one : made) {
        const nb::bytes copy(one.data(), one.size());
        views.append(nb::steal(PyMemoryView_FromObject(copy.ptr())));
    }
    return views;
}

void make_rounds(RoundSequence *at, std::uint32_t job, std::uint32_t tag, std::uint32_t worker, std::uint32_t workers,
                 std::uint32_t slots, std::uint32_t accumulator_words, std::uint32_t epoch, std::uint32_t quorum,
                 const std::vector<std::pair<std::uint32_t, std::uint32_t>> &places, std::uint32_t servers,
                 std::int64_t window, const std::string &congestion, bool pacing) {
    if (servers == 0) {
        throw std::invalid_argument("no servers");
    }
    auto control = congestion_control(congestion, std::min<std::int64_t>(window, slots));
    if (control == nullptr) {
        throw std::invalid_argument("no such congestion control");
    }
    JobTicket ticket{job, tag, worker, workers, slots, accumulator_words, epoch, quorum, {}, servers};
    for (const auto &[rack, bit] : places) {
        ticket.places.push_back({rack, bit});
    }
    new (at) RoundSequence(std::move(ticket), window, std::move(control), pacing);
}

nb::dict stats(const RoundSequence &rounds) {
    nb::dict counts;
    rounds.stats().each([&](const char *name, std::uint64_t count) { counts[name] = count; });
    return counts;
}

nb::bytes latency(const RoundSequence &rounds) {
    const auto counts = rounds.stats().latency.counts();
    return nb::bytes(reinterpret_cast<const char *>(counts.data()), sizeof counts);
}

// The arrays are the window's own words: it lives as long as they do.

Array result(const std::shared_ptr<RoundWindow> &window) {
    const auto words = window->result();
    return Array(words.data(), {words.size()}, nb::cast(window));
}

Array contributors(const std::shared_ptr<RoundWindow> &window) {
    return Array(window->contributors().data(), {window->chunks(), window->racks()}, nb::cast(window));
}

}  // namespace

void define_transport(nb::module_ &module) {
    nb::class_<RttEstimator>(module, "RttEstimator")
        .def(nb::init<>())
        .def("sample", &RttEstimator::sample, nb::arg("rtt_s"))
        .def_prop_ro("shortest_s", &RttEstimator::shortest_s)
        .def_prop_ro("queued", &RttEstimator::queued)
        .def_prop_ro("quick_timeout_s", &RttEstimator::quick_timeout_s)
        .def_prop_ro("timeout_s", &RttEstimator::timeout_s);

    nb::class_<CongestionControl>(module, "CongestionControl")
        .def_prop_ro("packets", &CongestionControl::packets)
        .def("result", &CongestionControl::result, nb::arg("sent"), nb::arg("following"), nb::arg("marked"))
        .def("loss", &CongestionControl::loss, nb::arg("sent"), nb::arg("following"))
        .def("silence", &CongestionControl::silence, nb::arg("following"), nb::arg("under_way"));
    nb::class_<Fixed, CongestionControl>(module, "Fixed").def(nb::init<std::int64_t>(), nb::arg("packets"));
    nb::class_<Aimd, CongestionControl>(module, "Aimd").def(nb::init<std::int64_t>(), nb::arg("most"));

    nb::class_<SlotWindow>(module, "SlotWindow")
        .def(nb::init<>())
        .def("bypass", &SlotWindow::bypass, nb::arg("slot"))
        .def("result", &SlotWindow::result, nb::arg("slot"), nb::arg("collided"));

    nb::class_<ServerPath>(module, "ServerPath")
        .def_ro("rtt", &ServerPath::rtt, nb::rv_policy::reference_internal)
        .def_ro("sequence", &ServerPath::sequence)
        .def_prop_ro("answer_interval_s", &ServerPath::answer_interval_s);

    nb::class_<Link>(module, "Link")
        .def_prop_ro(
            "congestion", [](const Link &link) { return link.congestion.get(); }, nb::rv_policy::reference_internal)
        .def_ro("slots", &Link::slots, nb::rv_policy::reference_internal)
        .def_prop_ro(
            "paths",
            [](Link &link) {
                std::vector<ServerPath *> paths;
                for (ServerPath &path : link.paths) {
                    paths.push_back(&path);
                }
                return paths;
            },
            nb::rv_policy::reference_internal)
        .def_ro("sequence", &Link::sequence)
        .def_ro("unanswered", &Link::unanswered);

    nb::class_<RoundWindow>(module, "RoundWindow")
        .def_ro_static("NOBODY", &RoundWindow::NOBODY)
        .def_prop_ro("chunks", &RoundWindow::chunks)
        .def_prop_ro("epoch", &RoundWindow::epoch)
        .def_prop_ro("strangers", &RoundWindow::strangers)
        .def_prop_ro("finished", &RoundWindow::finished)
        .def_prop_ro("answered", &RoundWindow::answered)
        .def("is_done", &RoundWindow::is_done, nb::arg("chunk"))
        .def("withhold", &RoundWindow::withhold)
        .def("offer", &RoundWindow::offer, nb::arg("chunks"))
        .def_prop_ro("done_chunks", &RoundWindow::done_chunks)
        .def("await_", &RoundWindow::await, nb::arg("chunks"))
        .def("missing_workers", &RoundWindow::missing_workers)
        .def("result", &result, "The accumulator words; a view of the window's own.")
        .def("contributors", &contributors, "Bitmaps, shape (chunks, racks); a view of the window's own.");

    nb::class_<RoundSequence>(module, "RoundSequence")
        .def("__init__", &make_rounds, nb::kw_only(), nb::arg("job"), nb::arg("tag"), nb::arg("worker"),
             nb::arg("workers"), nb::arg("slots"), nb::arg("accumulator_words"), nb::arg("epoch"), nb::arg("quorum"),
             nb::arg("places"), nb::arg("servers"), nb::arg("window"), nb::arg("congestion"), nb::arg("pacing") = false)
        .def_prop_ro("epoch", &RoundSequence::epoch)
        .def_prop_ro("position", &RoundSequence::position)
        .def_prop_ro("answered", &RoundSequence::answered)
        .def_prop_ro("link", &RoundSequence::link, nb::rv_policy::reference_internal)
        .def("stats", &stats, "Counts by name.")
        .def("latency", &latency, "Counts by bucket, uint64.")
        .def(
            "start",
            [](RoundSequence &rounds, std::uint32_t op, const Uplink &words) {
                return rounds.start(static_cast<LaneOp>(op), {words.data(), words.size()});
            },
            nb::arg("op"), nb::arg("words"), "The caller keeps ``words`` there, unchanged, until ``finish``.")
        .def_prop_ro("can_start", &RoundSequence::can_start)
        .def("finish", &RoundSequence::finish, nb::arg("window"))
        .def("due", [](RoundSequence &rounds, double now) { return datagrams(rounds.due(now)); }, nb::arg("now"))
        .def("next_timeout", &RoundSequence::next_timeout, nb::arg("now"))
        .def(
            "receive",
            [](RoundSequence &rounds, nb::handle datagram, double now) {
                return static_cast<int>(rounds.receive(Buffer(datagram).bytes(), now));
            },
            nb::arg("datagram"), nb::arg("now"), "0 nothing, 1 completed a chunk, 2 a conflict, 3 gone.")
        .def("last_words", [](const RoundSequence &rounds) { return datagrams(rounds.last_words()); })
        .def("missing_workers", &RoundSequence::missing_workers);
    module.attr("MAX_ACTIVE") = RoundSequence::MAX_ACTIVE;
    module.attr("LATENCY_BUCKETS") = Latency::BUCKETS;
    module.attr("TAKEN_COMPLETED") = static_cast<int>(Taken::completed);
    module.attr("TAKEN_CONFLICT") = static_cast<int>(Taken::conflict);
    module.attr("TAKEN_GONE") = static_cast<int>(Taken::gone);
}

}  // namespace lanesum::bindings
