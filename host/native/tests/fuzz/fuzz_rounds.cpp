// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams to the rounds of a worker. Circumstances of a datagram: half milliseconds since the one before it. Choices:
// shape of the job, congestion control, slots, rounds in flight, shares of the slots. Jobs as in seeds.py.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "input.hpp"
#include "lanes/lanes.hpp"
#include "protocol/header.hpp"
#include "transport/round_sequence.hpp"

namespace lanesum::fuzz {
namespace {

using namespace transport;

constexpr std::uint32_t ONE_LEVEL_JOB = 7, TWO_LEVEL_JOB = 8, TAG = 0xC0FFEE42;
constexpr std::uint32_t EPOCH = 0xFFFFFFFE;  // it wraps in the third round
constexpr std::uint32_t WORKERS = 4, RACKS = 2;
constexpr std::uint32_t ACCUMULATOR_WORDS = 16;
constexpr std::size_t ROUND_WORDS = 45;  // whole groups of any operation, and not a multiple of any packet's
constexpr std::uint8_t TWO_LEVELS = 0x01, QUORUM = 0x02, FIXED = 0x04;
constexpr std::uint8_t IN_FLIGHT = 0x40;  // this bit and above: rounds in flight, less one
constexpr double STEP_S = 0.0005;

/// With an odd number of slots above 4, they are divided into three shares.
std::uint32_t shares(std::uint8_t choices) {
    const std::uint32_t slots = 1U + (choices >> 3) % 8;
    return choices & QUORUM || slots < 5 || slots % 2 == 0 ? 1U : 3U;
}

JobTicket ticket(std::uint8_t choices) {
    const std::uint32_t job = choices & TWO_LEVELS ? TWO_LEVEL_JOB : ONE_LEVEL_JOB;
    const std::uint32_t slots = 1U + (choices >> 3) % 8;
    JobTicket made{job, TAG, 0, WORKERS, slots, ACCUMULATOR_WORDS, EPOCH, choices & QUORUM ? 2U : 0U, {}};
    for (std::uint32_t worker = 0; worker < WORKERS && choices & TWO_LEVELS; ++worker) {
        made.places.push_back({worker / RACKS, worker % RACKS});
    }
    return made;
}

void check(const Datagram &datagram, const RoundSequence &rounds) {
    require(datagram.size() >= HEADER_BYTES, "a contribution has a header");
    const Header header = Header::unpack(datagram.data());
    require(datagram.size() == HEADER_BYTES + header.words * WORD_BYTES, "a contribution has the length of its header");
    require(header.version == VERSION && header.kind == KIND_CONTRIBUTION, "workers send contributions");
    require(header.job == rounds.link().ticket.job && header.tag == TAG, "workers send to their own job");
    require(header.slot < rounds.link().ticket.slots, "slots are the job's");
    // Of the rounds in flight, or of the retransmit buffer; epochs wrap.
    constexpr auto ahead = static_cast<std::uint32_t>(MAX_ROUNDS_IN_FLIGHT);
    const std::uint32_t back = rounds.epoch() + ahead - header.epoch;
    require(back <= MAX_SLOTS + ahead, "nothing is sent before its round");
}

/// A worker with its clock and its rounds in flight.
class Session {
public:
    explicit Session(std::uint8_t choices)
        : in_flight_(choices & QUORUM ? 1U : 1U + choices / IN_FLIGHT),
          rounds_(ticket(choices), 64, choices & FIXED ? "fixed" : "aimd", false, shares(choices), 1) {
        std::iota(words_.begin(), words_.end(), 0x01020304U);
    }

    /// Returns false if the session has ended.
    bool receive(std::span<const std::byte> datagram, double later) {
        begin();
        send();
        now_ += later;
        const ReceiveOutcome outcome = rounds_.receive(datagram, now_);
        for (const Datagram &last : rounds_.final_datagrams()) {
            check(last, rounds_);
        }
        if (outcome == ReceiveOutcome::conflict || outcome == ReceiveOutcome::gone) {
            return false;
        }
        send();
        end();
        return true;
    }

private:
    void begin() {
        while (started_.size() < in_flight_ && rounds_.can_start()) {
            // Operations take turns.
            started_.push_back(rounds_.start(static_cast<LaneOp>(op_++ % LANE_OPS), words_));
        }
    }

    void send() {
        for (const Datagram &datagram : rounds_.due(now_)) {
            check(datagram, rounds_);
        }
        const std::optional<double> wait = rounds_.next_timeout(now_);
        require(!wait || (std::isfinite(*wait) && *wait >= 0), "timers are in the future");
        const bool incomplete = std::ranges::any_of(started_, [](const auto &one) { return !one->complete(); });
        require(!incomplete || wait.has_value(), "an incomplete round has a timer");
    }

    void end() {
        for (const std::uint32_t worker : rounds_.missing_workers()) {
            require(worker < WORKERS, "only workers are missing");
        }
        for (auto at = started_.begin(); at != started_.end();) {
            RoundState &round = **at;
            if (!round.complete()) {
                ++at;
                continue;
            }
            require(round.result().size() == result_words(round.size().op, ROUND_WORDS), "all words have a sum");
            require(round.contributors().size() == round.chunks() * round.racks(), "every packet has contributors");
            sum_ = std::accumulate(round.result().begin(), round.result().end(), sum_);  // all of it can be read
            rounds_.finish(round);
            at = started_.erase(at);
        }
    }

    std::uint32_t in_flight_;
    std::vector<std::uint32_t> words_ = std::vector<std::uint32_t>(ROUND_WORDS);
    RoundSequence rounds_;
    std::vector<std::shared_ptr<RoundState>> started_;
    double now_ = 1000;
    std::uint32_t op_ = 0;
    std::uint32_t sum_ = 0;
};

}  // namespace
}  // namespace lanesum::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace lanesum::fuzz;
    const Input input = read({data, size});
    Session session(input.choices);
    for (const Record &record : input.records) {
        if (!session.receive(record.datagram, record.circumstances * STEP_S)) {
            break;
        }
    }
    return 0;
}
