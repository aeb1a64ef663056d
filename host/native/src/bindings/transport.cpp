// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A worker's rounds for lanesum/transport/native_engine.py.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "transport/round_sequence.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using namespace transport;

using Uplink = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<std::uint32_t, nb::numpy>;

/// The bytes of a bytes-like object, during the lifetime of this.
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

/// Copies the datagrams, so that Python never reads a buffer that was reused.
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
                 const std::vector<std::pair<std::uint32_t, std::uint32_t>> &places, std::uint64_t seed, bool certified,
                 std::uint32_t servers, std::int64_t window, const std::string &congestion, bool pacing,
                 std::uint32_t shares, std::uint32_t run_slots) {
    if (servers == 0) {
        throw std::invalid_argument("no servers");
    }
    JobTicket ticket{job, tag, worker, workers, slots, accumulator_words, epoch, quorum, {}, servers, seed, certified};
    for (const auto &[rack, bit] : places) {
        ticket.places.push_back({rack, bit});
    }
    new (at) RoundSequence(ticket, window, congestion, pacing, shares, run_slots);
}

nb::dict stats(const RoundSequence &rounds) {
    nb::dict counts;
    rounds.stats().each([&](const char *name, std::uint64_t count) { counts[name] = count; });
    return counts;
}

nb::bytes latency(const RoundSequence &rounds) {
    const auto counts = rounds.stats().latency;
    return nb::bytes(reinterpret_cast<const char *>(counts.data()), sizeof counts);
}

// The arrays are views of the round's own words: it lives as long as they do.

Array result(const std::shared_ptr<RoundState> &round) {
    const auto words = round->result();
    if (!round->size().gathered) {
        return Array(words.data(), {words.size()}, nb::cast(round));
    }
    return Array(words.data(), {round->result_shards(), words.size()}, nb::cast(round),
                 {static_cast<std::int64_t>(round->result_stride()), 1});
}

Array contributors(const std::shared_ptr<RoundState> &round) {
    return Array(round->contributors().data(), {round->chunks(), round->racks()}, nb::cast(round));
}

}  // namespace

void define_transport(nb::module_ &module) {
    nb::class_<RttEstimator>(module, "RttEstimator")
        .def(nb::init<>())
        .def("sample", &RttEstimator::sample, nb::arg("rtt_s"))
        .def_prop_ro("shortest_s", &RttEstimator::shortest_s)
        .def_prop_ro("queued", &RttEstimator::queued)
        .def_prop_ro("loss_delay_s", &RttEstimator::loss_delay_s)
        .def_prop_ro("probe_timeout_s", &RttEstimator::probe_timeout_s);

    nb::class_<CongestionControl>(module, "CongestionControl")
        .def_prop_ro("congestion_window", &CongestionControl::congestion_window)
        .def("on_packet_acked", &CongestionControl::on_packet_acked, nb::arg("sent"), nb::arg("next_sequence"),
             nb::arg("marked"))
        .def("on_packet_lost", &CongestionControl::on_packet_lost, nb::arg("sent"), nb::arg("next_sequence"))
        .def("on_persistent_congestion", &CongestionControl::on_persistent_congestion, nb::arg("next_sequence"),
             nb::arg("in_flight"));
    nb::class_<FixedWindow, CongestionControl>(module, "FixedWindow").def(nb::init<std::int64_t>(), nb::arg("packets"));
    nb::class_<Aimd, CongestionControl>(module, "Aimd").def(nb::init<std::int64_t>(), nb::arg("max_window"));

    nb::class_<SlotBackoff>(module, "SlotBackoff")
        .def(nb::init<>())
        .def("bypasses", &SlotBackoff::bypasses, nb::arg("slot"))
        .def("on_result", &SlotBackoff::on_result, nb::arg("slot"), nb::arg("collided"));

    nb::class_<ServerPath>(module, "ServerPath")
        .def_ro("rtt", &ServerPath::rtt, nb::rv_policy::reference_internal)
        .def_ro("sequence", &ServerPath::sequence)
        .def_prop_ro("min_request_interval_s", &ServerPath::min_request_interval_s);

    nb::class_<Link>(module, "Link")
        .def_prop_ro(
            "congestion", [](const Link &link) { return link.congestion.get(); }, nb::rv_policy::reference_internal)
        .def_ro("slot_backoff", &Link::slot_backoff, nb::rv_policy::reference_internal)
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
        .def_ro("unanswered_probes", &Link::unanswered_probes);

    nb::enum_<ReceiveOutcome>(module, "ReceiveOutcome")
        .value("NOTHING", ReceiveOutcome::nothing)
        .value("COMPLETED", ReceiveOutcome::completed)
        .value("CONFLICT", ReceiveOutcome::conflict)
        .value("GONE", ReceiveOutcome::gone)
        .value("FAILED", ReceiveOutcome::failed);

    nb::class_<RoundState>(module, "RoundState")
        .def_ro_static("NO_TARGET", &RoundState::NO_TARGET)
        .def_prop_ro("chunks", &RoundState::chunks)
        .def_prop_ro("epoch", &RoundState::epoch)
        .def_prop_ro("begin", &RoundState::begin)
        .def_prop_ro("data_words", &RoundState::data_words)
        .def_prop_ro("certified", &RoundState::certified)
        .def_prop_ro("scattered", [](const RoundState &round) { return round.size().scattered; })
        .def_prop_ro("gathered", [](const RoundState &round) { return round.size().gathered; })
        .def_prop_ro("refused_results", &RoundState::refused_results)
        .def_prop_ro("failed_results", &RoundState::failed_results)
        .def_prop_ro("complete", nb::overload_cast<>(&RoundState::complete, nb::const_))
        .def_prop_ro("answered", &RoundState::answered)
        .def("is_done", &RoundState::is_done, nb::arg("chunk"))
        .def("withhold", &RoundState::withhold)
        .def("release", &RoundState::release, nb::arg("chunks"))
        .def_prop_ro("done_chunks", nb::overload_cast<>(&RoundState::done_chunks))
        .def("set_target", &RoundState::set_target, nb::arg("chunks"))
        .def("missing_workers", &RoundState::missing_workers)
        .def("result", &result, "Returns the accumulator words, a view of the round's own memory.")
        .def("contributors", &contributors,
             "Returns bitmaps, shape (chunks, racks), a view of the round's own memory.");

    nb::class_<RoundSequence>(module, "RoundSequence")
        .def("__init__", &make_rounds, nb::kw_only(), nb::arg("job"), nb::arg("tag"), nb::arg("worker"),
             nb::arg("workers"), nb::arg("slots"), nb::arg("accumulator_words"), nb::arg("epoch"), nb::arg("quorum"),
             nb::arg("places"), nb::arg("seed"), nb::arg("certified"), nb::arg("servers"), nb::arg("window"),
             nb::arg("congestion"), nb::arg("pacing") = false, nb::arg("shares") = 1, nb::arg("run_slots") = SLOT_RUN)
        .def_prop_ro("shares", &RoundSequence::shares)
        .def_prop_ro("epoch", &RoundSequence::epoch)
        .def_prop_ro("position", &RoundSequence::position)
        .def_prop_ro("answered", &RoundSequence::answered)
        .def_prop_ro("link", &RoundSequence::link, nb::rv_policy::reference_internal)
        .def("stats", &stats, "Returns the counters by name.")
        .def("latency", &latency, "Returns the latency histogram, uint64 counts by bucket.")
        .def(
            "start",
            [](RoundSequence &rounds, std::uint32_t op, const Uplink &words, bool opening, bool scattered,
               bool gathered) {
                return rounds.start(static_cast<LaneOp>(op), {words.data(), words.size()}, opening, scattered,
                                    gathered);
            },
            nb::arg("op"), nb::arg("words"), nb::arg("opening") = false, nb::arg("scattered") = false,
            nb::arg("gathered") = false, "``words`` have to exist, unchanged, until ``finish``.")
        .def("continue_at", &RoundSequence::continue_at, nb::arg("epoch"))
        .def_prop_ro("can_start", &RoundSequence::can_start)
        .def("finish", &RoundSequence::finish, nb::arg("round"))
        .def(
            "due", [](RoundSequence &rounds, double now) { return datagrams(rounds.due(now)); }, nb::arg("now"))
        .def("next_timeout", &RoundSequence::next_timeout, nb::arg("now"))
        .def(
            "receive",
            [](RoundSequence &rounds, nb::handle datagram, double now) {
                return rounds.receive(Buffer(datagram).bytes(), now);
            },
            nb::arg("datagram"), nb::arg("now"))
        .def("final_datagrams", [](const RoundSequence &rounds) { return datagrams(rounds.final_datagrams()); })
        .def("missing_workers", &RoundSequence::missing_workers);
}

}  // namespace lanesum::bindings
