// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of ``thc`` on NumPy arrays, with the interface of lanesum/codecs/thc/reference.py. Types and lengths are
// checked as in bindings/codecs.cpp.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/arguments.hpp"
#include "bindings/module.hpp"
#include "bindings/parts.hpp"
#include "bindings/released.hpp"
#include "codecs/factors.hpp"
#include "codecs/kernels.hpp"
#include "lanes/level.hpp"
#include "protocol/spec.hpp"

namespace nb = nanobind;

namespace lanesum::bindings {
namespace {

using Words = Array<const std::uint32_t>;
using codecs::Packing;

constexpr std::size_t CELLS = 32;
constexpr std::align_val_t ALIGNED{64};

void require(bool fits, const char *what) {
    if (!fits) {
        throw std::invalid_argument(std::string("block kernel requires: ") + what);
    }
}

struct Freed {
    void operator()(float *values) const { ::operator delete(values, ALIGNED); }
};

/// Run with a work space for each thread.
class Space {
public:
    Space(std::size_t size, std::size_t block, const Words *signs, std::size_t threads = 1,
          const Maybe<const std::uint32_t> &places = {})
        : threads_(threads),
          each_(std::max(block, codecs::DITHER_GROUP)),
          work_(static_cast<float *>(::operator new(threads * each_ * sizeof(float), ALIGNED))),
          run_{size, block, signs == nullptr ? nullptr : signs->data(), work_.get(),
               places ? places->data() : nullptr} {}

    const codecs::Run &run() const { return run_; }

    /// Calls ``work(run, first)`` for parts of the run, in parallel; ``first``: number of the first block.
    template <typename Work>
    void in_parts(const Work &work) const {
        bindings::in_parts(run_.size, run_.block, threads_,
                           [&](std::size_t thread, std::size_t first, std::size_t stop) {
                               codecs::Run part = run_;
                               part.size = std::min(run_.size, stop * run_.block) - first * run_.block;
                               part.work += thread * each_;
                               part.places += part.places == nullptr ? 0 : first;
                               work(part, first);
                           });
    }

private:
    std::size_t threads_;
    std::size_t each_;  ///< a multiple of DITHER_GROUP, so that all spaces are aligned
    std::unique_ptr<float, Freed> work_;
    codecs::Run run_;
};

void check_block(std::size_t block) {
    require(std::has_single_bit(block) && block >= codecs::MIN_BLOCK && block <= std::size_t{1} << 24,
            "blocks of a power of two from 32");
}

std::size_t padded(std::size_t size, std::size_t block) {
    const std::size_t rest = size % block;
    return size - rest + (rest == 0 ? 0 : std::max(codecs::MIN_BLOCK, std::bit_ceil(rest)));
}

std::size_t blocks(std::size_t size, std::size_t block) { return size / block + (size % block != 0); }

/// Returns the number of values in the blocks at ``places`` of ``size`` values; only the last one may be shorter.
std::size_t picked(std::size_t size, std::size_t block, const Maybe<const std::uint32_t> &places) {
    if (!places) {
        return size;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < places->size(); ++i) {
        const std::size_t start = places->data()[i] * block;
        require(start < size && (size - start >= block || i + 1 == places->size()), "blocks inside the values");
        count += std::min(block, size - start);
    }
    return count;
}

Packing packing(unsigned op) {
    switch (static_cast<LaneOp>(op)) {
        case LaneOp::EXPAND8:
        case LaneOp::TABLE8:
            return Packing::NIBBLES_TO_8;
        case LaneOp::ADD8X4:
            return Packing::BYTES_TO_8;
        case LaneOp::EXPAND16:
            return Packing::NIBBLES_TO_16;
        case LaneOp::EXPAND8TO16:
            return Packing::BYTES_TO_16;
        case LaneOp::EXPAND3TO8:
            return Packing::PLANES_3;
        case LaneOp::EXPAND5TO8:
            return Packing::PLANES_5;
        default:
            throw std::invalid_argument("block kernel requires: a lane operation that adds codes of thc");
    }
}

std::size_t code_bits(Packing packing) {
    switch (packing) {
        case Packing::PLANES_3:
            return 3;
        case Packing::PLANES_5:
            return 5;
        case Packing::BYTES_TO_8:
        case Packing::BYTES_TO_16:
            return 8;
        default:
            return 4;
    }
}

codecs::SharedDithers shared(const arguments::SharedDithers &dithers) {
    return {{static_cast<std::uint32_t>(dithers.seed), static_cast<std::uint32_t>(dithers.seed >> 32)},
            static_cast<std::uint32_t>(dithers.round),
            dithers.first};
}

codecs::SharedDithers after(codecs::SharedDithers dithers, std::size_t blocks) {
    dithers.first += static_cast<std::uint32_t>(blocks);
    return dithers;
}

codecs::DitherSum dither_sum(const arguments::DitherSum &sum) {
    return {sum.multiplier, sum.offsets.data(), sum.offsets.size(), sum.sign > 0, sum.constant};
}

void check(const arguments::Rotation &rotation) {
    check_block(rotation.block);
    require(rotation.signs.size() >= (rotation.block + 31) / 32, "a sign for each coordinate of a block");
}

/// Rounding with a copy of the cells: the kernels read more of them than there are.
class OwnRounding {
public:
    explicit OwnRounding(const arguments::Rounding &rounding)
        : rounding_{static_cast<float>(rounding.granularity), nullptr, rounding.offset,
                    static_cast<std::uint16_t>(rounding.flip & 1), packing(rounding.op)} {
        require(rounding.granularity >= 1 && rounding.granularity <= 255, "a grid of 1 to 255 steps");
        const std::size_t count = rounding.cells.size();
        if (count == 0) {
            return;
        }
        require(count == rounding.granularity + 1 && count <= CELLS, "a cell for each of at most 32 integers");
        require(rounding_.packing == Packing::NIBBLES_TO_8, "codes of 4 bits in lanes of 8 bits, if there are cells");
        std::copy_n(rounding.cells.data(), count, cells_);
        rounding_.cells = cells_;
    }
    OwnRounding(const OwnRounding &) = delete;
    OwnRounding &operator=(const OwnRounding &) = delete;

    const codecs::Rounding &get() const { return rounding_; }

    std::size_t words(std::size_t length) const { return length * code_bits(rounding_.packing) / 32; }

private:
    std::uint8_t cells_[CELLS] = {};
    codecs::Rounding rounding_;
};

class BlockKernels {
public:
    BlockKernels(const std::optional<std::string> &level, std::size_t threads) : threads_(checked_threads(threads)) {
        level_ = level.value_or(std::string(lanesum::level().name));
        for (const Level &known : supported_levels()) {
            if (known.name == level_) {
                kernels_ = &codecs::kernels(level_).blocks;
                return;
            }
        }
        throw std::invalid_argument("Invalid level '" + level_ + "': this processor has no such vector instructions.");
    }

    const std::string &level() const { return level_; }

    static void encode_factors(Array<const float> norms, Array<const float> peaks, double step,
                               Array<const double> ratios, Array<const double> gains, Array<float> powers,
                               Array<float> factors) {
        const std::size_t count = norms.size();
        require(peaks.size() == count && factors.size() == count && powers.size() == 2 * count,
                "a peak, two powers and a factor for each norm");
        require(ratios.size() > 0 && gains.size() == ratios.size(), "a gain for each ratio");
        const codecs::Gains table{ratios.data(), gains.data(), ratios.size()};
        codecs::encode_factors(norms.data(), peaks.data(), count, step, table, powers.data(), factors.data());
    }

    static void decode_factors(Array<const float> peaks, double step, std::size_t size, std::size_t block,
                               double divisor, Array<float> factors) {
        check_block(block);
        const std::size_t count = peaks.size();
        require(count > 0 && count == blocks(size, block), "a peak for each block");
        require(factors.size() == 2 * count, "two factors for each block");
        const std::size_t last_length = padded(size, block) - (count - 1) * block;
        codecs::decode_factors(peaks.data(), count, step, block, last_length, divisor, factors.data());
    }

    void encode(Array<const float> values, Array<const float> powers, Array<const float> factors,
                const arguments::Rotation &rotation, const arguments::SharedDithers &dithers,
                const arguments::Rounding &rounding, Array<std::uint32_t> words,
                const Maybe<const std::uint32_t> &places) const {
        check(rotation);
        const std::size_t size = picked(values.size(), rotation.block, places);
        const std::size_t count = blocks(size, rotation.block);
        require(powers.size() == 2 * count && factors.size() == count, "two powers and a factor for each block");
        const OwnRounding own(rounding);
        require(words.size() == own.words(padded(size, rotation.block)), "words for all codes");
        const Space space(size, rotation.block, &rotation.signs, threads_, places);
        const Released released;
        space.in_parts([&](const codecs::Run &run, std::size_t first) {
            const std::size_t start = first * run.block;
            kernels_->encode(values.data() + (places ? 0 : start), powers.data() + 2 * first, factors.data() + first,
                             run, after(shared(dithers), first), own.get(), words.data() + own.words(start));
        });
    }

    void estimate(Words lanes, unsigned lane_bits, std::size_t block, const arguments::SharedDithers &dithers,
                  const arguments::DitherSum &taken, Array<float> out) const {
        check_block(block);
        check_lanes(lanes, lane_bits, out.size());
        require(out.size() == padded(out.size(), block), "a result with the padding");
        const Space space(out.size(), block, nullptr);
        const Released released;
        kernels_->estimate(lanes.data(), lane_bits, space.run(), shared(dithers), dither_sum(taken), out.data());
    }

    void restore(Array<const float> rotated, Array<const float> factors, const arguments::Rotation &rotation,
                 Array<float> out) const {
        check(rotation);
        require(rotated.size() == padded(out.size(), rotation.block), "rotated values with the padding");
        require(factors.size() == 2 * blocks(out.size(), rotation.block), "two factors for each block");
        const Space space(out.size(), rotation.block, &rotation.signs);
        const Released released;
        kernels_->restore(rotated.data(), factors.data(), space.run(), out.data());
    }

    void decode(Words lanes, unsigned lane_bits, Array<const float> factors, const arguments::Rotation &rotation,
                const arguments::SharedDithers &dithers, const arguments::DitherSum &taken, Array<float> out,
                const Maybe<const std::uint32_t> &places) const {
        check(rotation);
        const std::size_t size = picked(out.size(), rotation.block, places);
        check_lanes(lanes, lane_bits, padded(size, rotation.block));
        require(factors.size() == 2 * blocks(size, rotation.block), "two factors for each block");
        const Space space(size, rotation.block, &rotation.signs, threads_, places);
        const codecs::DitherSum sum = dither_sum(taken);
        const Released released;
        space.in_parts([&](const codecs::Run &run, std::size_t first) {
            const std::size_t start = first * run.block;
            kernels_->decode(lanes.data() + start * lane_bits / 32, lane_bits, factors.data() + 2 * first, run,
                             after(shared(dithers), first), sum, out.data() + (places ? 0 : start));
        });
    }

    void residual(Array<const float> values, Words codes, Array<const float> factors,
                  const arguments::Rotation &rotation, const arguments::SharedDithers &dithers,
                  const arguments::Rounding &rounding, Array<float> out,
                  const Maybe<const std::uint32_t> &places) const {
        check(rotation);
        const Packing how = packing(rounding.op);
        require(values.size() == out.size(), "a residual of the length of the vector");
        const std::size_t size = picked(values.size(), rotation.block, places);
        require(factors.size() == 2 * blocks(size, rotation.block), "two factors for each block");
        require(codes.size() == padded(size, rotation.block) * code_bits(how) / 32, "words for all codes");
        require(rounding.levels.size() == 256, "a level for each byte");
        const std::uint8_t *const levels = rounding.op == TABLE ? rounding.levels.data() : nullptr;
        const codecs::DitherSum own{0, &rounding.offset, 1, true, (rounding.granularity - 1) * 32768};
        const Space space(size, rotation.block, &rotation.signs, threads_, places);
        const Released released;
        space.in_parts([&](const codecs::Run &run, std::size_t first) {
            const std::size_t start = first * run.block;
            const std::size_t skipped = places ? 0 : start;
            kernels_->residual(values.data() + skipped, codes.data() + start * code_bits(how) / 32, how, levels,
                               factors.data() + 2 * first, run, after(shared(dithers), first), own,
                               out.data() + skipped);
        });
    }

    void pack_digits(Words codes, std::size_t block, std::size_t per_word, Array<std::uint32_t> words) const {
        const std::size_t length = 4 * codes.size();
        check_digits(length, block, per_word, words.size());
        const Space space(length, block, nullptr, threads_);
        const Released released;
        space.in_parts([&](const codecs::Run &run, std::size_t first) {
            kernels_->pack_digits(codes.data() + first * block / 4, per_word, run,
                                  words.data() + first * codecs::words_of_digits(block, per_word));
        });
    }

    void unpack_digits(Words words, std::size_t block, std::size_t per_word, unsigned lane_bits,
                       Array<std::uint32_t> lanes) const {
        require(lane_bits == 8 || lane_bits == 16, "lanes of 8 or 16 bits");
        const std::size_t length = lanes.size() * 32 / lane_bits;
        check_digits(length, block, per_word, words.size());
        const Space space(length, block, nullptr, threads_);
        const Released released;
        space.in_parts([&](const codecs::Run &run, std::size_t first) {
            kernels_->unpack_digits(words.data() + first * codecs::words_of_digits(block, per_word), per_word,
                                    lane_bits, run, lanes.data() + first * block * lane_bits / 32);
        });
    }

private:
    static void check_digits(std::size_t length, std::size_t block, std::size_t per_word, std::size_t words) {
        check_block(block);
        require(per_word >= codecs::MIN_PER_WORD && per_word <= codecs::MAX_PER_WORD, "words of 3 to 16 digits");
        require(length == padded(length, block), "coordinates with the padding");
        const std::size_t rest = length % block;
        require(words ==
                    length / block * codecs::words_of_digits(block, per_word) + codecs::words_of_digits(rest, per_word),
                "a digit for each coordinate");
    }

    static constexpr unsigned TABLE = static_cast<unsigned>(LaneOp::TABLE8);

    static void check_lanes(const Words &lanes, unsigned lane_bits, std::size_t length) {
        require(lane_bits == 8 || lane_bits == 16, "lanes of 8 or 16 bits");
        require(lanes.size() == length * lane_bits / 32, "a lane for each coordinate");
    }

    std::size_t threads_;
    std::string level_;
    const codecs::BlockKernels *kernels_ = nullptr;
};

}  // namespace

void define_blocks(nb::module_ &module) {
    // noconvert: a converted array would be a copy, and results in it would be lost.
    const auto array = [](const char *name) { return nb::arg(name).noconvert(); };
    const auto arg = [](const char *name) { return nb::arg(name); };
    const auto places = array("places") = nb::none();
    nb::class_<BlockKernels>(module, "BlockKernels",
                             "Kernels of thc; see lanesum.codecs.thc.blocks. ``level``: vector instructions to use.")
        .def(nb::init<const std::optional<std::string> &, std::size_t>(), arg("level") = nb::none(), arg("threads") = 1)
        .def_prop_ro("level", &BlockKernels::level)
        .def_static("encode_factors", &BlockKernels::encode_factors, array("norms"), array("peaks"), arg("step"),
                    array("ratios"), array("gains"), array("powers"), array("factors"))
        .def_static("decode_factors", &BlockKernels::decode_factors, array("peaks"), arg("step"), arg("size"),
                    arg("block"), arg("divisor"), array("factors"))
        .def("encode_blocks", &BlockKernels::encode, array("values"), array("powers"), array("factors"),
             arg("rotation"), arg("dithers"), arg("rounding"), array("words"), places)
        .def("estimate_blocks", &BlockKernels::estimate, array("lanes"), arg("lane_bits"), arg("block"), arg("dithers"),
             arg("taken"), array("out"))
        .def("restore_blocks", &BlockKernels::restore, array("rotated"), array("factors"), arg("rotation"),
             array("out"))
        .def("decode_blocks", &BlockKernels::decode, array("lanes"), arg("lane_bits"), array("factors"),
             arg("rotation"), arg("dithers"), arg("taken"), array("out"), places)
        .def("residual_blocks", &BlockKernels::residual, array("values"), array("codes"), array("factors"),
             arg("rotation"), arg("dithers"), arg("rounding"), array("out"), places)
        .def("pack_digits", &BlockKernels::pack_digits, array("codes"), arg("block"), arg("per_word"), array("words"))
        .def("unpack_digits", &BlockKernels::unpack_digits, array("words"), arg("block"), arg("per_word"),
             arg("lane_bits"), array("lanes"));
}

}  // namespace lanesum::bindings
