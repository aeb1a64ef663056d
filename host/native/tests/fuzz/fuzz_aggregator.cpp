// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams to a server with a job of one level and one of two. The circumstances of a datagram: its sender (lowest six
// bits: a member by number, or a stranger), whether the controller changes something before it, and whether it met
// congestion. Jobs as in seeds.py.
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
constexpr std::uint32_t ONE_LEVEL = 7, TWO_LEVELS = 8, FOR_OTHERS = 9;
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
        made.members.push_back({address(worker), {worker, racks ? worker / RACKS : 0, racks ? worker % RACKS : worker}});
    }
    return made;
}

void check(const Answers::Answer &answer, const Header &asked) {
    require(answer.bytes.size() >= HEADER_BYTES, "an answer has a header");
    const Header header = Header::unpack(answer.bytes.data());
    require(answer.bytes.size() == HEADER_BYTES + header.words * WORD_BYTES, "an answer is as long as it says");
    require(header.version == VERSION, "answers are of this version");
    require(header.job == asked.job && header.tag == TAG && header.slot == asked.slot && header.shadow == asked.shadow,
            "answers belong to what caused them");
    require(header.kind == KIND_RESULT || header.kind == KIND_PENDING || header.kind == KIND_CONFLICT, "answers answer");
    require(header.words == (header.kind == KIND_RESULT ? ACCUMULATOR_WORDS : 0), "only results have words");
    require(header.kind != KIND_RESULT || header.job == TWO_LEVELS || header.workers == (1U << WORKERS) - 1,
            "without a quorum a result is everybody's");
    bool member = false;
    for (std::uint32_t worker = 0; worker < WORKERS; ++worker) {
        member |= address_key(answer.to) == address_key(address(worker));
    }
    require(member, "nobody but members is answered");
}

/// What the controller may do at any time.
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
    aggregator.leave_to_others(FOR_OTHERS);
    server::Counters &counters = aggregator.new_counters();
    server::Answers answers;
    for (std::size_t turn = 0; turn < input.records.size(); ++turn) {
        const auto &[circumstances, datagram] = input.records[turn];
        if (circumstances & CHANGE) {
            change(aggregator, input.choices, turn);
        }
        answers.clear();
        const bool mine = server::handle(*aggregator.jobs(), address(circumstances & SENDER), datagram,
                                         (circumstances & CONGESTED) != 0, answers, counters);
        require(mine || answers.list().empty(), "what others serve is not answered");
        for (const server::Answers::Answer &answer : answers.list()) {
            require(datagram.size() >= HEADER_BYTES, "nothing but packets is answered");
            check(answer, Header::unpack(datagram.data()));
        }
    }
    return 0;
}
