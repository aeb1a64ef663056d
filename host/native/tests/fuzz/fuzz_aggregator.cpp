// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Fuzz the server with datagrams to a job of one level and to a job of two levels. The circumstances of a datagram are
// its sender (lowest six bits: the number of a member, or an unknown address), a change by the controller before it, and
// its ECN mark. seeds.py has the same jobs.
#include <arpa/inet.h>

#include <optional>
#include <span>

#include "input.hpp"
#include "protocol/header.hpp"
#include "server/aggregator.hpp"

namespace lanesum::fuzz {
namespace {

using namespace server;

constexpr std::uint32_t TAG = 0xC0FFEE42;
constexpr std::uint32_t ONE_LEVEL = 7, TWO_LEVELS = 8, DELEGATED = 9;
constexpr std::uint32_t WORKERS = 4, RACKS = 2;
constexpr std::uint32_t SLOTS = 4;
constexpr std::size_t ACCUMULATOR_WORDS = 16;
constexpr std::uint8_t SENDER = 0x3F, CHANGE = 0x40, CONGESTED = 0x80;

sockaddr_in address(std::uint32_t number) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(0x0A000001 + number);
    made.sin_port = htons(UDP_PORT);
    return made;
}

ServerJob job(std::uint32_t number) {
    ServerJob made;
    made.job = number;
    made.tag = TAG;
    made.slots = SLOTS;
    made.ops = (1U << LANE_OPS) - 1;
    made.code_table.emplace();
    for (std::size_t code = 0; code < CODE_TABLE_ENTRIES; ++code) {
        (*made.code_table)[code] = static_cast<std::uint8_t>(3 * code);
    }
    made.accumulator_words = ACCUMULATOR_WORDS;
    made.two_levels = number == TWO_LEVELS;
    made.on_switches = made.two_levels;
    for (std::uint32_t worker = 0; worker < WORKERS; ++worker) {
        const bool racks = made.two_levels;
        made.members.push_back(
            {address(worker), {worker, racks ? worker / RACKS : 0, racks ? worker % RACKS : worker}});
    }
    return made;
}

void check(const Answers::Answer &answer, const Header &asked) {
    require(answer.bytes.size() >= HEADER_BYTES, "an answer has a header");
    const Header header = Header::unpack(answer.bytes.data());
    require(answer.bytes.size() == HEADER_BYTES + header.words * WORD_BYTES, "an answer is as long as it says");
    require(header.version == VERSION, "answers are of this version");
    require(header.job == asked.job && header.tag == TAG && header.slot == asked.slot && header.shadow == asked.shadow,
            "an answer has the job and slot of its contribution");
    require(header.kind == KIND_RESULT || header.kind == KIND_PENDING || header.kind == KIND_CONFLICT,
            "an answer is a result, pending or conflict");
    require(header.words == (header.kind == KIND_RESULT ? ACCUMULATOR_WORDS : 0), "only results have words");
    require(header.kind != KIND_RESULT || header.job == TWO_LEVELS || header.workers == (1U << WORKERS) - 1,
            "without a quorum a result names all workers");
    bool member = false;
    for (std::uint32_t worker = 0; worker < WORKERS; ++worker) {
        member |= address_key(answer.receiver) == address_key(address(worker));
    }
    require(member, "only members get answers");
}

/// Change jobs, as the controller may at any time.
void change(Aggregator &aggregator, std::uint8_t choices, std::size_t turn) {
    switch ((choices + turn) % 5) {
        case 0:
            aggregator.set_on_switches(ONE_LEVEL, turn % 2 == 0);
            break;
        case 1:
            aggregator.set_on_switches(TWO_LEVELS, turn % 2 == 0);
            break;
        case 2:
            aggregator.admit(job(ONE_LEVEL));
            break;
        case 3:
            aggregator.remove(TWO_LEVELS);
            break;
        default:
            aggregator.admit(job(TWO_LEVELS));
    }
}

}  // namespace
}  // namespace lanesum::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace lanesum;
    using namespace lanesum::fuzz;
    const Input input = read({data, size});
    server::Aggregator aggregator;
    aggregator.admit(job(ONE_LEVEL));
    aggregator.admit(job(TWO_LEVELS));
    aggregator.delegate(DELEGATED);
    server::Counters &counters = aggregator.new_counters();
    server::Answers answers;
    for (std::size_t turn = 0; turn < input.records.size(); ++turn) {
        const auto &[circumstances, datagram] = input.records[turn];
        if (circumstances & CHANGE) {
            change(aggregator, input.choices, turn);
        }
        answers.clear();
        const bool served = server::handle(*aggregator.jobs(), address(circumstances & SENDER), datagram,
                                           (circumstances & CONGESTED) != 0, answers, counters);
        require(served || answers.list().empty(), "a delegated job gets no answer here");
        for (const server::Answers::Answer &answer : answers.list()) {
            require(datagram.size() >= HEADER_BYTES, "only datagrams with a header get answers");
            check(answer, Header::unpack(datagram.data()));
        }
    }
    return 0;
}
