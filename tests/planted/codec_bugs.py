# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of protocol and codecs."""

from __future__ import annotations

from tests.planted.bug import bugs

_HOST = "host/lanesum"

PROTOCOL = (
    *bugs(
        "protocol",
        f"{_HOST}/protocol/packet.py",
        ("packets of another version are accepted", "if header.version != VERSION:", "if False:"),
        ("a packet may be longer than its header says", "if len(data) != expected:", "if len(data) < expected:"),
        ("a field overflows into its neighbour by one bit", "if part >> width:", "if part >> width + 1:"),
        ("a truncated header is read", "if len(data) < HEADER_BYTES:", "if len(data) < HEADER_BYTES - 1:"),
        (
            "the payload is sent in the byte order of the host",
            'self.payload.astype(">u4")',
            'self.payload.astype("<u4")',
        ),
        ("the shadow bit is in the wrong place", "(positions // slots % 2) << 15", "(positions // slots % 2) << 14"),
        ("the shadow set selects the server", "% MAX_SLOTS % servers", "% servers"),
        (
            "the first packets of a round are kept, not the last",
            "last = slice(len(self) - chunks, None)",
            "last = slice(chunks)",
        ),
        ("flags of the transmission before stay set", '["flags"][chunk] = flags', '["flags"][chunk] |= flags'),
    ),
    *bugs(
        "protocol",
        f"{_HOST}/protocol/lanes.py",
        (
            "packets may end within a group",
            "return accumulator_words % self.accumulator_words_per_group == 0",
            "return True",
        ),
        ("the mask of a code is one bit too wide", "bits = (1 << self.shift) - 1", "bits = (1 << self.shift + 1) - 1"),
        ("planes are shifted by whole codes", "return 1 if self.planes else self.code_bits", "return self.code_bits"),
    ),
    *bugs(
        "protocol",
        f"{_HOST}/aggregation/combine.py",
        ("OR cancels equal bits", "Combine.OR: np.bitwise_or", "Combine.OR: np.bitwise_xor"),
        (
            "codes without a table count as themselves",
            "code_table or bytes(CODE_TABLE_ENTRIES)",
            "code_table or bytes(range(CODE_TABLE_ENTRIES))",
        ),
    ),
    *bugs(
        "protocol",
        f"{_HOST}/codecs/base.py",
        ("a piece that just arrived waits", "self.needed <= available", "self.needed < available"),
    ),
    *bugs(
        "protocol",
        f"{_HOST}/aggregation/slots.py",
        ("an epoch half a range ahead is newer", "epochs_ahead >= _HALF_RANGE", "epochs_ahead > _HALF_RANGE"),
    ),
)

CODECS = (
    *bugs(
        "codecs",
        f"{_HOST}/codecs/checks.py",
        ("a sum of no worker is accepted", "else counted) < 1:", "else counted) < 0:"),
        ("a sum of another size is accepted", " or words.shape != (round_.result_words,):", ":"),
        ("one worker too many is accepted", "if context.workers > workers:", "if context.workers > workers + 1:"),
        (
            "the first element of a tensor has no name",
            "part.start <= index < part.stop",
            "part.start < index < part.stop",
        ),
        (
            "one word with the first count stands for all",
            "(counts == counts.flat[0]).all()",
            "(counts == counts.flat[0]).any()",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/norms.py",
        (
            "a norm of NaN is accepted",
            "if not norms.max(initial=0) <= FLOAT32_MAX:",
            "if norms.max(initial=0) > FLOAT32_MAX:",
        ),
        ("a negative norm is accepted", "floats.min(initial=0) >= 0 and ", ""),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/error_feedback.py",
        ("a skipped step clears the memory", "if result.skipped is None:", "if True:"),
        ("a rebuilt tensor gets the error of the earlier one", "if np.shape(x) != memory.shape:", "if False:"),
        (
            "NaN is loaded from a checkpoint",
            "if array.ndim != 1 or not np.isfinite(array).all():",
            "if array.ndim != 1:",
        ),
        (
            "a refused state replaces the memory",
            "loaded = checked_memory(state",
            "loaded = self._memory = checked_memory(state",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/fixed.py",
        (
            "equal largest values overflow the sum",
            "self.peak = INT32_MAX // workers",
            "self.peak = -(-INT32_MAX // workers)",
        ),
        ("others are not told of NaN", "magnitudes[:] = INFINITY_BITS", "pass"),
        (
            "a late worker loses its values",
            "return residual if np.all(reply.included) else np.where(reply.included, residual, vector)",
            "return residual",
        ),
        (
            "the mean of a quorum divides by all workers",
            "count = uniform_contributors(reply) if context.average else 1",
            "count = context.workers if context.average else 1",
        ),
        ("powers of two are doubled", "exponent - (mantissa == 0.5)", "exponent"),
        ("others are not told of NaN in a gathered vector", "vector = np.full_like(vector, np.nan)", "pass"),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/gathered.py",
        (
            "all workers write the values of worker 0",
            "words[context.worker * message.size : (context.worker + 1) * message.size] = message",
            "words[: message.size] = message",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/checks.py",
        (
            "gathered values of a quorum are accepted",
            "if (counts != context.workers).any() if",
            "if (counts < 1).any() if",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/policy.py",
        ("only the worker with NaN stops", "if told[0]:", "if told[0] and bad:"),
        (
            "a vector without a name gets the error of another",
            "self._memory.forget([piece for piece in pieces if not piece.key])",
            "pass",
        ),
        ("a parameter without values has a density", "if size and len(self._options", "if len(self._options"),
        (
            "the hysteresis favours the other codec",
            "_HYSTERESIS if used == number else 1",
            "_HYSTERESIS if used != number else 1",
        ),
        ("the warm-up lasts one step too long", "< self.warm_up:", "<= self.warm_up:"),
        ("a state of other rules is loaded", "if set(inner) != set(stateful) or not", "if not"),
        (
            "a skipped step is not reported",
            "nothing.copy() if context.keep_residual else None, parameter)",
            "nothing.copy() if context.keep_residual else None)",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/policy_rules.py",
        (
            "a rule leaves its largest size out",
            "self.max_size is None or size <= self.max_size",
            "self.max_size is None or size < self.max_size",
        ),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/codecs/registry.py",
        ("a table is used where the job has none", "and not lookup else {}", "and lookup else {}"),
        ("a second codec replaces the first", "if name in _entries:", "if False:"),
    ),
    *bugs(
        "codecs",
        f"{_HOST}/_internal/processors.py",
        ("0 threads are accepted", "not 1 <= int(text) <= highest", "not 0 <= int(text) <= highest"),
    ),
)

THC = (
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/dither.py",
        (
            "dithers of the contributors are subtracted twice",
            "missing = offsets[~contributors]",
            "missing = offsets[contributors]",
        ),
        (
            "dithers of the workers cover half of the interval",
            "return worker * UNIT // workers",
            "return worker * UNIT // (2 * workers)",
        ),
        (
            "dithers of a round overflow the unit",
            "np.uint32(taken.multiplier) & np.uint32(UNIT - 1)",
            "np.uint32(taken.multiplier)",
        ),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/grid.py",
        (
            "the finest grid overflows a lane",
            "finest = min(lane_max // workers,",
            "finest = min(lane_max // workers + 1,",
        ),
        (
            "one level too many is left out",
            "low, high = (left_out + 1) // 2, left_out // 2",
            "low, high = left_out // 2, left_out // 2",
        ),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/codec.py",
        (
            "one worker too many shares a lane",
            "if workers <= max_workers[bits, width]:",
            "if workers <= max_workers[bits, width] + 1:",
        ),
        ("digits carry into the next one", "(digit_base(per_word) - 1) // workers", "digit_base(per_word) // workers"),
        (
            "missing workers need no list",
            "if uniform_contributors(reply) != context.workers:",
            "if uniform_contributors(reply) is None:",
        ),
        ("blocks need not be powers of two", "or block & (block - 1):", "or block % MIN_BLOCK:"),
        (
            "the table is sent although all levels are used",
            "LaneOp.EXPAND8 if op is LaneOp.TABLE8 and grid.uniform else op",
            "op",
        ),
        (
            "codes follow the own optimizer alone",
            "self._suited(bool(peaks[norms.size :].any()))",
            "self._suited(context.adaptive)",
        ),
        ("codes of another optimizer have the own grid", "if codec is not expected:", "if False:"),
        ("workers with other codecs for Adam may join", "self.for_adaptive.describe()", "self.name"),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/blocks.py",
        (
            "codes that a quorum left out count as summed",
            "rotated *= self._of_coordinates(included, run)",
            "rotated *= 1",
        ),
        (
            "the signs of a rotation are the same in all rounds",
            "self.block, context.seed, context.round & 0xFFFFFFFF)",
            "self.block, context.seed, 0)",
        ),
        ("all workers round levels that are left out the same way", "context.worker & 1", "0"),
        ("the mean of a quorum is a sum", "estimate /= np.float32(taken.num_workers)", "pass"),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/allocation.py",
        ("a plan exceeds its budget by a step", "np.cumsum(cost) <= budget", "np.cumsum(cost) - cost <= budget"),
        ("the exponent of norms is ignored", "weights = wide if exponent == 1 else wide * wide", "weights = wide"),
        (
            "the hull keeps widths above it",
            "_slope(hull[-2], hull[-1]) <= _slope(hull[-1], width)",
            "_slope(hull[-2], hull[-1]) < 0",
        ),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/widths.py",
        ("blocks of different widths have the same dithers", "seed=context.seed ^ number,", "seed=context.seed,"),
        (
            "the norms of the last short block are not announced",
            "norms.words - (-size // self.fine)",
            "norms.words + size // self.fine",
        ),
        (
            "the error of a block that is not sent is lost",
            "put(picked(vector, blocks, self.fine), blocks, self.fine, residual)",
            "put(0, blocks, self.fine, residual)",
        ),
        (
            "widths follow the own optimizer alone",
            "self._suited(bool(all_norms[context.workers :].any()))",
            "self._suited(context.adaptive)",
        ),
        ("Adam gets the whole error", "max(error * _ADAPTIVE, least_error)", "max(error, least_error)"),
        ("codes for Adam have the worst grid of a lane", "best = min(found,", "best = max(found,"),
    ),
    *bugs(
        "thc",
        f"{_HOST}/codecs/thc/reference.py",
        ("a block of zeros gets codes", "found *= scale != 0", "pass"),
        ("the short block is taken for a whole one", "places[-1] < full", "places[-1] <= full"),
        (
            "a digit is one larger than a word holds",
            "(base + 1) ** per_word > 2**32",
            "base**per_word > 2**32",
        ),
    ),
)

SPARSE = bugs(
    "sparse",
    f"{_HOST}/codecs/sparse/all_reduce.py",
    (
        "workers with other plans are not noticed by one of them",
        "[largest, check, check ^ 0xFFFFFFFF]",
        "[largest, check, check]",
    ),
    ("an infinity of another worker is overlooked", "if words[0] >= INFINITY_BITS:", "if words[0] > INFINITY_BITS:"),
    (
        "pieces that the driver left are not decoded",
        "if values.pieces is None or values.pieces.decoded < len(values.pieces):",
        "if values.pieces is None:",
    ),
    (
        "the residual keeps an earlier unit",
        "(self._residual is None or self._residual[0] != exponent)",
        "self._residual is None",
    ),
    ("values that cannot be peeled are lost", "self._missing = missing[:left]", "self._missing = missing[:0]"),
    ("the index is not decoded without pieces", "if not index.decoded:", "if False:"),
)

CODEC_BUGS = PROTOCOL + CODECS + THC + SPARSE
