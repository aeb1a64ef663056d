// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include <algorithm>
#include <utility>

#include "protocol/header.hpp"

namespace lanesum::fuzz {
namespace {

constexpr std::size_t MAX_RECORDS = 64;
constexpr std::size_t MAX_ADDED_BYTES = 64;
constexpr std::uint32_t EDGES[] = {0, 1, 2, 3, 0x7F, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};

std::size_t below(std::size_t bound, Random &random) { return static_cast<std::size_t>(random() % bound); }

Record &any(Input &input, Random &random) { return input.records[below(input.records.size(), random)]; }

void set_word(Record &record, Random &random) {
    const std::size_t words = record.datagram.size() / WORD_BYTES;
    if (words == 0) {
        return;
    }
    // The header is changed more often, because it determines how the rest is handled.
    const std::size_t header_words = std::min(words, HEADER_BYTES / WORD_BYTES);
    std::byte *const word =
        record.datagram.data() + below(below(8, random) ? header_words : words, random) * WORD_BYTES;
    std::uint32_t value = load_be32(word);
    const std::uint32_t edge = EDGES[below(std::size(EDGES), random)];
    const unsigned shift = static_cast<unsigned>(below(4, random)) * 8;
    switch (below(5, random)) {
        case 0:
            value = edge;
            break;
        case 1:
            value += edge;
            break;
        case 2:
            value -= edge;
            break;
        case 3:
            value = (value & ~(std::uint32_t{0xFF} << shift)) | (edge & 0xFF) << shift;
            break;
        default:
            value ^= std::uint32_t{1} << below(32, random);
    }
    store_be32(word, value);
}

void resize(Record &record, Random &random) {
    const std::size_t before = record.datagram.size();
    record.datagram.resize(below(2, random) ? below(before + 1, random) : before + below(MAX_ADDED_BYTES, random));
    record.datagram.shrink_to_fit();
}

void change(Input &input, const Input &other, Random &random) {
    auto &records = input.records;
    const auto position = [&] {
        return records.begin() + static_cast<std::ptrdiff_t>(below(records.size() + 1, random));
    };
    if (records.empty()) {
        records.emplace_back().datagram.resize(below(2 * HEADER_BYTES, random));
        return;
    }
    switch (below(10, random)) {
        case 0:
            input.choices = static_cast<std::uint8_t>(random());
            break;
        case 1:
            any(input, random).circumstances = static_cast<std::uint8_t>(random());
            break;
        case 2: {
            Record copy = any(input, random);
            records.insert(position(), std::move(copy));
            break;
        }
        case 3:
            records.erase(records.begin() + static_cast<std::ptrdiff_t>(below(records.size(), random)));
            break;
        case 4:
            std::swap(any(input, random), any(input, random));
            break;
        case 5:
            if (!other.records.empty()) {
                records.insert(position(), other.records[below(other.records.size(), random)]);
            }
            break;
        case 6:
            resize(any(input, random), random);
            break;
        default:
            set_word(any(input, random), random);
    }
    records.resize(std::min(records.size(), MAX_RECORDS));
}

}  // namespace

Input mutated(const std::vector<Input> &corpus, Random &random) {
    Input input = corpus[below(corpus.size(), random)];
    const Input &other = corpus[below(corpus.size(), random)];
    for (std::size_t changes = 1 + below(4, random); changes > 0; --changes) {
        change(input, other, random);
    }
    return input;
}

}  // namespace lanesum::fuzz
