// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Python bindings of the server, used by lanesum/server/native_aggregator.py and loops.py.
#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/released.hpp"
#include "lanes/lanes.hpp"
#include "server/aggregator.hpp"
#include "server/udp_server.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using namespace lanesum::server;

/// ip, port, worker, rack, bit
using BoundMember = std::tuple<std::string, std::uint16_t, std::uint32_t, std::uint32_t, std::uint32_t>;

/// Aggregator with the answers and counters of one caller. The GIL admits one caller at a time.
struct BoundAggregator {
    Aggregator aggregator;
    Answers answers;
    Counters &counters = aggregator.new_counters();
};

std::optional<sockaddr_in> parsed(const std::string &ip, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    return inet_pton(AF_INET, ip.c_str(), &address.sin_addr) == 1 ? std::optional(address) : std::nullopt;
}

nb::tuple as_tuple(const sockaddr_in &address) {
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return nb::make_tuple(text, ntohs(address.sin_port));
}

nb::bytes as_bytes(std::span<const std::byte> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

void require(bool holds, const char *what) {
    if (!holds) {
        throw std::invalid_argument(what);
    }
}

/// Check the values that index memory here; ServerJob in Python has checked all others.
void admit(BoundAggregator &self, std::uint32_t job, std::uint32_t tag, const std::vector<BoundMember> &members,
           std::uint32_t slots, std::uint32_t servers, const std::vector<std::uint32_t> &ops,
           const std::optional<nb::bytes> &code_table, std::size_t accumulator_words, bool two_levels, bool on_switches,
           bool joined_packets) {
    require(!members.empty() && members.size() <= WorkerSet::MAX_SIZE, "too few or too many members");
    require(slots >= 1 && slots <= MAX_SLOTS, "too few or too many slots");
    require(servers >= 1 && servers <= MAX_SLOTS, "too few or too many servers");
    require(accumulator_words >= 1 && accumulator_words <= MAX_WORDS, "too few or too many words");
    ServerJob admitted;
    admitted.job = job;
    admitted.tag = tag;
    admitted.slots = slots;
    admitted.servers = servers;
    admitted.accumulator_words = accumulator_words;
    admitted.two_levels = two_levels;
    admitted.on_switches = on_switches;
    admitted.joined_packets = joined_packets;
    for (const auto &[ip, port, worker, rack, bit] : members) {
        const std::optional<sockaddr_in> address = parsed(ip, port);
        require(address.has_value(), "no IPv4 address");
        require(worker == admitted.members.size() && rack < MAX_RACKS && bit < MAX_WORKERS, "not in order, or beyond");
        admitted.members.push_back({*address, {worker, rack, bit}});
    }
    for (const std::uint32_t op : ops) {
        require(op < LANE_OPS, "no operation");
        require(fills(static_cast<LaneOp>(op), accumulator_words), "widened words do not fill the accumulator");
        admitted.ops |= std::uint32_t{1} << op;
    }
    if (code_table) {
        require(code_table->size() == CODE_TABLE_ENTRIES, "no code table");
        std::memcpy(admitted.code_table.emplace().data(), code_table->data(), CODE_TABLE_ENTRIES);
    }
    self.aggregator.admit(admitted);
}

/// Return the answers to one datagram; None for a contribution to a delegated job.
std::optional<nb::list> handle_one(BoundAggregator &self, const std::string &ip, std::uint16_t port, nb::bytes datagram,
                                   bool congested) {
    self.answers.clear();
    // No member has port 0, which stands for an invalid address here.
    const sockaddr_in sender = parsed(ip, port).value_or(sockaddr_in{});
    const std::span bytes(static_cast<const std::byte *>(datagram.data()), datagram.size());
    if (!handle(*self.aggregator.jobs(), sender, bytes, congested, self.answers, self.counters)) {
        return std::nullopt;
    }
    nb::list answers;
    for (const Answers::Answer &answer : self.answers.list()) {
        answers.append(nb::make_tuple(as_tuple(answer.receiver), as_bytes(answer.bytes)));
    }
    return answers;
}

/// Return the counters that are not 0, by name.
nb::dict decisions(const BoundAggregator &self) {
    nb::dict counted;
    for (std::size_t i = 0; i < DECISION_NAMES.size(); ++i) {
        if (const std::uint64_t count = self.aggregator.decisions(i)) {
            counted[DECISION_NAMES[i]] = count;
        }
    }
    return counted;
}

nb::dict refused(const BoundAggregator &self) {
    nb::dict counted;
    for (std::size_t i = 0; i < REFUSAL_NAMES.size(); ++i) {
        if (const std::uint64_t count = self.aggregator.refused(i)) {
            counted[REFUSAL_NAMES[i]] = count;
        }
    }
    return counted;
}

/// Return epoch and chunk of the owner of an entry; None if it was never used.
std::optional<std::tuple<std::uint32_t, std::uint32_t>> owner(const BoundAggregator &self, std::uint32_t job,
                                                              std::uint32_t slot, std::uint32_t shadow) {
    const std::shared_ptr<const Jobs> jobs = self.aggregator.jobs();
    const auto found = jobs->find(job);
    if (found == jobs->end() || found->second == nullptr) {
        return std::nullopt;
    }
    ServerSlotTable &slots = found->second->slots();
    require(slot < slots.slots() && shadow < 2, "no such entry");
    const std::lock_guard guard(slots.run(slot).lock);
    const ServerEntry *entry = slots.find(slot, shadow);
    if (entry == nullptr) {
        return std::nullopt;
    }
    return std::tuple(entry->owner.epoch, entry->owner.chunk);
}

/// UdpServer with a Python callable as delegate. Its threads acquire the GIL for that, so ``stop`` releases it.
class BoundUdpServer {
public:
    BoundUdpServer(BoundAggregator &aggregator, const std::vector<int> &sockets, bool gso, bool join_all, bool gro,
                   double spin_s, nb::callable delegate)
        : delegate_(std::move(delegate)),
          server_(sockets, aggregator.aggregator, gso, join_all, gro, spin_s,
                  [this](const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
                         Answers &answers) { call_delegate(sender, datagram, congested, answers); }) {}

    ~BoundUdpServer() { stop(); }

    void start() { server_.start(); }

    void stop() {
        const Released released;
        server_.stop();
    }

    std::uint64_t broken() const { return server_.broken(); }
    std::vector<std::uint64_t> received() const { return server_.received(); }

private:
    void call_delegate(const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
                       Answers &answers) {
        const nb::gil_scoped_acquire acquired;
        for (const nb::handle one : delegate_(as_tuple(sender), as_bytes(datagram), congested)) {
            const auto [to, bytes] = nb::cast<std::tuple<std::tuple<std::string, std::uint16_t>, nb::bytes>>(one);
            const std::span<std::byte> copy = answers.allocate(bytes.size());
            std::memcpy(copy.data(), bytes.data(), bytes.size());
            answers.add(parsed(std::get<0>(to), std::get<1>(to)).value(), copy);
        }
    }

    nb::callable delegate_;
    UdpServer server_;
};

}  // namespace

void define_server(nb::module_ &module) {
    nb::class_<BoundAggregator>(module, "Aggregator", "Server state of all jobs without a quorum.")
        .def(nb::init<>())
        .def("admit", &admit, nb::arg("job"), nb::arg("tag"), nb::arg("members"), nb::arg("slots"), nb::arg("servers"),
             nb::arg("ops"), nb::arg("code_table").none(), nb::arg("accumulator_words"), nb::arg("two_levels"),
             nb::arg("on_switches"), nb::arg("joined_packets"))
        .def(
            "delegate", [](BoundAggregator &self, std::uint32_t job) { self.aggregator.delegate(job); }, nb::arg("job"))
        .def(
            "set_on_switches",
            [](BoundAggregator &self, std::uint32_t job, bool on) { self.aggregator.set_on_switches(job, on); },
            nb::arg("job"), nb::arg("on_switches"))
        .def(
            "remove", [](BoundAggregator &self, std::uint32_t job) { self.aggregator.remove(job); }, nb::arg("job"))
        .def("handle", &handle_one, nb::arg("ip"), nb::arg("port"), nb::arg("datagram"), nb::arg("congested"))
        .def("decisions", &decisions)
        .def("refused", &refused)
        .def("owner", &owner, nb::arg("job"), nb::arg("slot"), nb::arg("shadow"));
    nb::class_<BoundUdpServer>(module, "UdpServer", "Server threads on sockets that the caller owns.")
        .def(nb::init<BoundAggregator &, const std::vector<int> &, bool, bool, bool, double, nb::callable>(),
             nb::arg("aggregator"), nb::arg("sockets"), nb::arg("gso"), nb::arg("join_all"), nb::arg("gro"),
             nb::arg("spin_s"), nb::arg("delegate"), nb::keep_alive<1, 2>())
        .def("start", &BoundUdpServer::start)
        .def("stop", &BoundUdpServer::stop)
        .def("broken", &BoundUdpServer::broken)
        .def("received", &BoundUdpServer::received);
}

}  // namespace lanesum::bindings
