// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams to a worker in its rounds. The circumstances of a datagram: how many half milliseconds after the one before it
// it comes. The choices: shape of the job, congestion control, slots, rounds in flight. Jobs as in seeds.py.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "input.hpp"
#include "lanes/lanes.hpp"
#include "protocol/header.hpp"
#include "transport/rounds.hpp"

namespace lanesum::fuzz {
namespace {

using namespace transport;

constexpr std::uint32_t ONE_LEVEL_JOB = 7, TWO_LEVEL_JOB = 8, TAG = 0xC0FFEE42;
constexpr std::uint32_t EPOCH = 0xFFFFFFFE;  // it wraps in the third round
constexpr std::uint32_t WORKERS = 4, RACKS = 2;
constexpr std::uint32_t ACCUMULATOR_WORDS = 16;
constexpr std::size_t ROUND_WORDS = 45;  // whole groups of any operation, and not a multiple of any packet's
constexpr std::uint8_t TWO_LEVELS = 0x01, QUORUM = 0x02, FIXED = 0x04;
constexpr std::uint8_t IN_FLIGHT = 0x40;  // and above: rounds but one
constexpr double STEP_S = 0.0005;

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
    require(datagram.size() == HEADER_BYTES + header.words * WORD_BYTES, "a contribution is as long as it says");
    require(header.version == VERSION && header.kind == KIND_CONTRIBUTION, "workers send contributions");
    require(header.job == rounds.link().ticket.job && header.tag == TAG, "workers send to their own job");
    require(header.slot < rounds.link().ticket.slots, "slots are the job's");
    // Of the rounds under way, or of the history before them; epochs wrap.
    constexpr auto ahead = static_cast<std::uint32_t>(RoundSequence::MAX_ACTIVE);
    const std::uint32_t back = rounds.epoch() + ahead - header.epoch;
    require(back <= MAX_SLOTS + ahead, "nothing is sent before its round");
}

/// A worker, its clock, and the rounds it is in.
class Session {
public:
    explicit Session(std::uint8_t choices)
        : slots_(ticket(choices).slots),
          in_flight_(choices & QUORUM ? 1U : 1U + choices / IN_FLIGHT),
          rounds_(ticket(choices), 64, congestion_control(choices & FIXED ? "fixed" : "aimd", std::min(64U, slots_))) {
        std::iota(words_.begin(), words_.end(), 0x01020304U);
    }

    /// False: the session is over.
    bool receive(std::span<const std::byte> datagram, double later) {
        begin();
        send();
        now_ += later;
        const Taken taken = rounds_.receive(datagram, now_);
        for (const Datagram &last : rounds_.last_words()) {
            check(last, rounds_);
        }
        if (taken == Taken::conflict || taken == Taken::gone) {
            return false;
        }
        send();
        end();
        return true;
    }

private:
    void begin() {
        while (windows_.size() < in_flight_ && rounds_.can_start()) {
            // Operations take turns, wide ones too.
            windows_.push_back(rounds_.start(static_cast<LaneOp>(op_++ % LANE_OPS), words_));
        }
    }

    void send() {
        for (const Datagram &datagram : rounds_.due(now_)) {
            check(datagram, rounds_);
        }
        const std::optional<double> wait = rounds_.next_timeout(now_);
        require(!wait || (std::isfinite(*wait) && *wait >= 0), "timers are in the future");
        const bool lacks = std::ranges::any_of(windows_, [](const auto &one) { return !one->finished(); });
        require(!lacks || wait.has_value(), "a round that lacks results will ask");
    }

    void end() {
        for (const std::uint32_t worker : rounds_.missing_workers()) {
            require(worker < WORKERS, "only workers are missing");
        }
        for (auto at = windows_.begin(); at != windows_.end();) {
            RoundWindow &window = **at;
            if (!window.finished()) {
                ++at;
                continue;
            }
            require(window.result().size() == result_words(window.size().op, ROUND_WORDS), "all words have a sum");
            require(window.contributors().size() == window.chunks() * window.racks(), "every packet names somebody");
            sum_ = std::accumulate(window.result().begin(), window.result().end(), sum_);  // all of it can be read
            rounds_.finish(window);
            at = windows_.erase(at);
        }
    }

    std::uint32_t slots_;
    std::uint32_t in_flight_;
    std::vector<std::uint32_t> words_ = std::vector<std::uint32_t>(ROUND_WORDS);
    RoundSequence rounds_;
    std::vector<std::shared_ptr<RoundWindow>> windows_;
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
