// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Dithers that all workers share; see lanesum/codecs/kernels/philox.py:shared_dithers and lanesum/codecs/thc/dither.py.

using Halves [[gnu::vector_size(LANES * sizeof(std::uint32_t))]] = std::uint16_t;

/// Steps of drawing the dithers of a group: each step draws LANES coordinates of all four quarters.
constexpr std::size_t QUARTER = DITHER_GROUP / 4;
constexpr std::size_t GROUP_STEPS = QUARTER / LANES;
constexpr std::uint32_t DITHER_STREAM = 3u << 24;  // as in philox.py:Stream

/// Dithers of ``LANES`` coordinates in each quarter of a group: of the first quarter in the low halves of ``front``, of
/// the second in its high halves, of the third and fourth in the low and high halves of ``back``.
struct Dithers {
    Words front;
    Words back;
};

class DitherSource {
public:
    DitherSource(const SharedDithers &shared, std::size_t block)
        : philox_({{shared.seed[0], shared.seed[1]},
                   shared.first + static_cast<std::uint32_t>(block),
                   shared.round,
                   DITHER_STREAM}) {}

    LANESUM_INLINE Dithers step(std::size_t group, std::size_t step) const {
        Dithers found;
        philox_.pairs(group * 8 + step * BLOCKS, found.front, found.back);
        return found;
    }

private:
    Philox philox_;
};

LANESUM_INLINE Words low_halves(Words both) { return both & 0xFFFFu; }
LANESUM_INLINE Words high_halves(Words both) { return both >> 16; }
LANESUM_INLINE Words shifted(Words dithers, std::uint16_t offset) { return (Words)((Halves)dithers + offset); }

/// Dither sums to subtract, by quarter.
struct Taken {
    Words quarters[4];
};

/// ``ALL``: all workers are in the sum, so one product is sufficient.
template <bool ALL>
LANESUM_INLINE Taken taken(const Dithers &dithers, const DitherSum &sum) {
    const Words front = (Words)((Halves)dithers.front * sum.multiplier);
    const Words back = (Words)((Halves)dithers.back * sum.multiplier);
    Taken total{{low_halves(front), high_halves(front), low_halves(back), high_halves(back)}};
    if constexpr (!ALL) {
        Taken several{};
        for (std::size_t i = 0; i < sum.num_offsets; ++i) {
            const Words f = shifted(dithers.front, sum.offsets[i]);
            const Words b = shifted(dithers.back, sum.offsets[i]);
            several.quarters[0] += low_halves(f);
            several.quarters[1] += high_halves(f);
            several.quarters[2] += low_halves(b);
            several.quarters[3] += high_halves(b);
        }
        for (std::size_t q = 0; q < 4; ++q) {
            total.quarters[q] =
                sum.added ? total.quarters[q] + several.quarters[q] : total.quarters[q] - several.quarters[q];
        }
    }
    return total;
}
