// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Digits of words, as in pack_digits of lanesum/codecs/thc/reference.py. The base is a constant of each function, so a
// division becomes a multiplication, and the compiler vectorizes the loops.

constexpr std::uint32_t digit_base(std::size_t per_word) {
    for (std::uint64_t base = 2;; ++base) {
        std::uint64_t power = 1;
        for (std::size_t digit = 0; digit < per_word; ++digit) {
            power *= base + 1;
        }
        if (power > std::uint64_t{1} << 32) {
            return static_cast<std::uint32_t>(base);
        }
    }
}

template <std::size_t PER_WORD>
void pack_digits_of(const std::uint32_t *codes, std::size_t length, std::uint8_t *__restrict row,
                    std::uint32_t *__restrict words) {
    constexpr std::uint32_t base = digit_base(PER_WORD);
    const std::size_t width = words_of_digits(length, PER_WORD);
    for (std::size_t i = 0; i < length / 4; ++i) {
        store(row + 4 * i, __builtin_bswap32(codes[i]));
    }
    __builtin_memset(row + length, 0, PER_WORD * width - length);
    for (std::size_t i = 0; i < width; ++i) {
        words[i] = 0;
    }
    for (const std::uint8_t *digits = row + PER_WORD * width; digits != row;) {
        digits -= width;
        for (std::size_t i = 0; i < width; ++i) {
            words[i] = words[i] * base + digits[i];
        }
    }
}

template <std::size_t PER_WORD, typename Lane>
void unpack_digits_of(const std::uint32_t *words, std::size_t length, std::uint32_t *__restrict rest,
                      std::uint32_t *lanes) {
    constexpr std::uint32_t base = digit_base(PER_WORD);
    const std::size_t width = words_of_digits(length, PER_WORD);
    auto *const row = reinterpret_cast<Lane *>(rest + width);
    __builtin_memcpy(rest, words, width * sizeof *words);
    for (std::size_t digit = 0; digit < PER_WORD; ++digit) {
        Lane *__restrict const digits = row + digit * width;
        for (std::size_t i = 0; i < width; ++i) {
            const std::uint32_t above = rest[i] / base;
            digits[i] = static_cast<Lane>(rest[i] - above * base);
            rest[i] = above;
        }
    }
    constexpr std::size_t in_word = sizeof *lanes / sizeof(Lane);
    for (std::size_t i = 0; i < length / in_word; ++i) {
        const auto there = load<std::uint32_t>(row + in_word * i);
        lanes[i] = in_word == 4 ? __builtin_bswap32(there) : there << 16 | there >> 16;
    }
}

using PackDigits = void (*)(const std::uint32_t *, std::size_t, std::uint8_t *, std::uint32_t *);
using UnpackDigits = void (*)(const std::uint32_t *, std::size_t, std::uint32_t *, std::uint32_t *);

template <std::size_t... I>
constexpr std::array<PackDigits, sizeof...(I)> pack_table(std::index_sequence<I...>) {
    return {pack_digits_of<MIN_PER_WORD + I>...};
}

template <typename Lane, std::size_t... I>
constexpr std::array<UnpackDigits, sizeof...(I)> unpack_table(std::index_sequence<I...>) {
    return {unpack_digits_of<MIN_PER_WORD + I, Lane>...};
}

using PerWord = std::make_index_sequence<MAX_PER_WORD - MIN_PER_WORD + 1>;

void pack_digits(const std::uint32_t *codes, std::size_t per_word, const Run &run, std::uint32_t *words) {
    constexpr auto table = pack_table(PerWord{});
    for_blocks(run, [&](const BlockPart &part) {
        auto *const row = reinterpret_cast<std::uint8_t *>(run.work);
        table[per_word - MIN_PER_WORD](codes + part.start / 4, part.length, row, words);
        words += words_of_digits(part.length, per_word);
    });
}

void unpack_digits(const std::uint32_t *words, std::size_t per_word, unsigned lane_bits, const Run &run,
                   std::uint32_t *lanes) {
    constexpr auto narrow = unpack_table<std::uint8_t>(PerWord{});
    constexpr auto wide = unpack_table<std::uint16_t>(PerWord{});
    const UnpackDigits unpack = (lane_bits == 8 ? narrow : wide)[per_word - MIN_PER_WORD];
    for_blocks(run, [&](const BlockPart &part) {
        auto *const rest = reinterpret_cast<std::uint32_t *>(run.work);
        unpack(words, part.length, rest, lanes + part.start * lane_bits / 32);
        words += words_of_digits(part.length, per_word);
    });
}
