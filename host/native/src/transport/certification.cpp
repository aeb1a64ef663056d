// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/certification.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "protocol/header.hpp"

namespace lanesum::transport {
namespace {

/// Returns output ``counter`` of SplitMix64 (Steele, Lea and Flood, 2014) for a key.
std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
    std::uint64_t bits = key + (counter + 1) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return bits ^ bits >> 31;
}

/// Differences between powers of two and the largest primes below them: 2^32, 2^31 and so on.
constexpr std::uint32_t PRIME_GAPS[] = {5, 1, 35, 3, 57, 39, 5, 39, 3, 15, 3};

std::uint32_t odd_word(std::uint64_t key, std::uint64_t counter) {
    return static_cast<std::uint32_t>(random_bits(key, counter) >> 32) | 1u;
}

bool is_sum(LaneOp op) { return shape_of(op).combine == Combine::ADD; }

}  // namespace

Certification::Certification(const JobTicket &ticket)
    : worker_(ticket.worker),
      words_(ticket.accumulator_words),
      places_(ticket.places),
      members_(ticket.rack_members()),
      factors_(ticket.accumulator_words),
      prime_factors_(ticket.accumulator_words),
      secrets_(ticket.workers),
      prime_bits_(32 - std::bit_width(ticket.workers - 1)),
      gap_(PRIME_GAPS[32 - prime_bits_]) {
    for (std::uint32_t worker = 0; places_.size() < ticket.workers; ++worker) {
        places_.push_back({0, worker});
    }
    const std::uint64_t key = random_bits(ticket.seed, std::uint64_t{ticket.job} << 32 | ticket.tag);
    const std::uint64_t factors = random_bits(key, 0), workers = random_bits(key, 1);
    chunks_key_ = random_bits(key, 2);
    for (std::size_t word = 0; word < factors_.size(); ++word) {
        factors_[word] = odd_word(factors, word);
        const std::uint64_t largest = (std::uint64_t{1} << prime_bits_) - gap_ - 1;
        prime_factors_[word] = static_cast<std::uint32_t>((random_bits(factors, word) >> 32) % largest + 1);
    }
    for (std::size_t worker = 0; worker < secrets_.size(); ++worker) {
        secrets_[worker] = odd_word(workers, worker);
    }
    if (secrets_.size() % 2 == 0) {
        // The sum of all is odd: see certification.py.
        secrets_[0] = (secrets_[0] & ~1u) | 2u;
    }
    all_secrets_ = 0;
    for (const std::uint32_t secret : secrets_) {
        all_secrets_ += secret;
    }
}

std::size_t Certification::data_words(LaneOp op) const { return certified_data_words(op, words_, secrets_.size()); }

void Certification::seal(LaneOp op, std::uint32_t epoch, std::uint32_t chunk, std::span<std::byte> payload) const {
    const std::size_t size = data_words(op);
    std::byte *const behind = payload.data() + uplink_words(op, size) * WORD_BYTES;
    const std::uint64_t bits = chunk_bits(epoch, chunk);
    if (is_sum(op)) {
        thread_local std::vector<std::uint32_t> wide;
        wide.resize(size);
        contribute(op, wide, payload.data(), false, nullptr, true);
        store_be32(behind, check_word(op, wide, secrets_[worker_], bits));
    } else {
        std::memcpy(behind, payload.data(), size * WORD_BYTES);
        const std::size_t own = words_ - secrets_.size() + worker_;
        store_be32(payload.data() + own * WORD_BYTES, contributor_word(bits, worker_));
    }
}

bool Certification::is_right(LaneOp op, std::uint32_t epoch, std::uint32_t chunk, std::span<const std::uint32_t> data,
                             const std::byte *checks, std::span<const std::uint32_t> contributors) const {
    const std::uint64_t bits = chunk_bits(epoch, chunk);
    const std::size_t size = data.size();
    if (is_sum(op)) {
        std::uint32_t check = 0;
        for (std::size_t i = 0; i < words_ - size; ++i) {
            check += load_be32(checks + i * WORD_BYTES) << shape_of(op).shift * i;
        }
        return (is_exact(op) ? reduce(check) : check) == check_word(op, data, secrets_of(contributors), bits);
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (load_be32(checks + i * WORD_BYTES) != data[i]) {
            return false;
        }
    }
    const std::size_t first = words_ - size - secrets_.size();
    for (std::size_t i = size; i < words_ - size; ++i) {
        std::uint32_t expected = 0;
        if (i >= first) {
            const auto worker = static_cast<std::uint32_t>(i - first);
            expected = contributes(contributors, worker) ? contributor_word(bits, worker) : 0;
        }
        if (load_be32(checks + i * WORD_BYTES) != expected) {
            return false;
        }
    }
    return true;
}

/// Returns true if no lane of a sum can overflow: the check is modulo the prime then.
bool Certification::is_exact(LaneOp op) const { return secrets_.size() <= shape_of(op).max_exact_contributions; }

std::uint32_t Certification::check_word(LaneOp op, std::span<const std::uint32_t> data, std::uint64_t secrets,
                                        std::uint64_t chunk_bits) const {
    const std::uint64_t factor = chunk_bits >> 32;
    if (!is_exact(op)) {
        return sum_products(data, factors_.data()) + static_cast<std::uint32_t>(secrets * factor);
    }
    const LongSum sum = sum_long_products(data, prime_factors_.data());
    const std::uint64_t high = reduce(std::uint64_t{reduce(sum.high)} << 32);
    return reduce(high + sum.low + reduce(reduce(secrets) * factor));
}

/// Returns a number modulo the prime, which is little less than a power of two.
std::uint32_t Certification::reduce(std::uint64_t number) const {
    const std::uint64_t below = (std::uint64_t{1} << prime_bits_) - 1, prime = below + 1 - gap_;
    for (int fold = 0; fold < 3; ++fold) {
        number = (number & below) + (number >> prime_bits_) * gap_;
    }
    return static_cast<std::uint32_t>(number < prime ? number : number - prime);
}

std::uint64_t Certification::chunk_bits(std::uint32_t epoch, std::uint32_t chunk) const {
    return random_bits(chunks_key_, std::uint64_t{epoch} << 32 | chunk);
}

std::uint32_t Certification::contributor_word(std::uint64_t chunk_bits, std::uint32_t worker) const {
    return odd_word(chunk_bits, secrets_[worker]);
}

bool Certification::contributes(std::span<const std::uint32_t> contributors, std::uint32_t worker) const {
    return contributors[places_[worker].rack] >> places_[worker].bit & 1;
}

std::uint64_t Certification::secrets_of(std::span<const std::uint32_t> contributors) const {
    if (std::ranges::equal(contributors, members_)) {
        return all_secrets_;
    }
    std::uint64_t sum = 0;
    for (std::uint32_t worker = 0; worker < secrets_.size(); ++worker) {
        sum += contributes(contributors, worker) ? secrets_[worker] : 0;
    }
    return sum;
}

}  // namespace lanesum::transport
