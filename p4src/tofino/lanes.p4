// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Lanes: widen codes to accumulator words, then store, combine or read one register per word, four registers a stage.
// Sums are exact (INV-1): the host keeps max_value x workers below the width of a lane, so no carry leaves its lane.
//
// An ALU has four instructions for five operations: reading is OR without its operand.

const bit<32> LANE_ENTRIES = ENTRIES * PASSES;

// Index of the entry's words: the shadow set above the block of this pass and the slot's number.
typedef bit<(BLOCK_BITS + 1)> lane_entry_t;
#define LANE_ENTRY (SHADOW_OF(meta.entry) ++ meta.entry[BLOCK_BITS - 1:0])

#define LANE_REGISTER(stage_number, i) \
    Register<bit<32>, lane_entry_t>(LANE_ENTRIES) words_##i; \
    RegisterAction<bit<32>, lane_entry_t, bit<32>>(words_##i) store_##i = { \
        void apply(inout bit<32> value, out bit<32> sum) { value = hdr.lanes.w##i; sum = value; } \
    }; \
    RegisterAction<bit<32>, lane_entry_t, bit<32>>(words_##i) add_##i = { \
        void apply(inout bit<32> value, out bit<32> sum) { value = value + hdr.lanes.w##i; sum = value; } \
    }; \
    RegisterAction<bit<32>, lane_entry_t, bit<32>>(words_##i) or_##i = { \
        void apply(inout bit<32> value, out bit<32> sum) { \
            if (meta.progress != PROGRESS_DONE) { value = value | hdr.lanes.w##i; } \
            sum = value; \
        } \
    }; \
    RegisterAction<bit<32>, lane_entry_t, bit<32>>(words_##i) max_##i = { \
        void apply(inout bit<32> value, out bit<32> sum) { value = max(value, hdr.lanes.w##i); sum = value; } \
    }; \
    action do_store_##i() { hdr.lanes.w##i = store_##i.execute(LANE_ENTRY); } \
    action do_add_##i() { hdr.lanes.w##i = add_##i.execute(LANE_ENTRY); } \
    action do_or_##i() { hdr.lanes.w##i = or_##i.execute(LANE_ENTRY); } \
    action do_max_##i() { hdr.lanes.w##i = max_##i.execute(LANE_ENTRY); } \
    @stage(stage_number) \
    table lane_##i { \
        key = { meta.order: ternary; meta.progress: ternary; meta.combination: ternary; meta.role: ternary; } \
        actions = { do_store_##i; do_add_##i; do_or_##i; do_max_##i; keep; } \
        const default_action = keep(); \
        size = 8; \
        const entries = { \
            (ORDER_NEWER, _, _, _): do_store_##i(); \
            (ORDER_SAME, PROGRESS_DONE, _, ROLE_ASCEND &&& ROLE_ASCEND): keep(); \
            (ORDER_SAME, PROGRESS_DONE, _, _): do_or_##i(); \
            (ORDER_DUPLICATE, PROGRESS_DONE, _, _): do_or_##i(); \
            (ORDER_SAME, _, COMBINE_ADD, _): do_add_##i(); \
            (ORDER_SAME, _, COMBINE_OR, _): do_or_##i(); \
            (ORDER_SAME, _, COMBINE_MAX, _): do_max_##i(); \
        } \
    }

#define LANE_APPLY(stage_number, i) lane_##i.apply();

#define LANES_OF_STAGE(M, stage_number, a, b, c, d) \
    M(stage_number, a) M(stage_number, b) M(stage_number, c) M(stage_number, d)
// All sizes that the sources have code for; the assembler refuses those that the chip has no stages for.
#define LANES_8(M) LANES_OF_STAGE(M, 4, 0, 1, 2, 3) LANES_OF_STAGE(M, 5, 4, 5, 6, 7)
#define LANES_16(M) LANES_8(M) LANES_OF_STAGE(M, 6, 8, 9, 10, 11) LANES_OF_STAGE(M, 7, 12, 13, 14, 15)
#define LANES_24(M) LANES_16(M) LANES_OF_STAGE(M, 8, 16, 17, 18, 19) LANES_OF_STAGE(M, 9, 20, 21, 22, 23)
#define LANES_32(M) LANES_24(M) LANES_OF_STAGE(M, 10, 24, 25, 26, 27) LANES_OF_STAGE(M, 11, 28, 29, 30, 31)
#define LANES_40(M) LANES_32(M) LANES_OF_STAGE(M, 12, 32, 33, 34, 35) LANES_OF_STAGE(M, 13, 36, 37, 38, 39)
#define LANES_48(M) LANES_40(M) LANES_OF_STAGE(M, 14, 40, 41, 42, 43) LANES_OF_STAGE(M, 15, 44, 45, 46, 47)
#define LANES_56(M) LANES_48(M) LANES_OF_STAGE(M, 16, 48, 49, 50, 51) LANES_OF_STAGE(M, 17, 52, 53, 54, 55)
#define LANES_64(M) LANES_56(M) LANES_OF_STAGE(M, 18, 56, 57, 58, 59) LANES_OF_STAGE(M, 19, 60, 61, 62, 63)
#define LANES_72(M) LANES_64(M) LANES_OF_STAGE(M, 20, 64, 65, 66, 67) LANES_OF_STAGE(M, 21, 68, 69, 70, 71)
#define LANES_80(M) LANES_72(M) LANES_OF_STAGE(M, 22, 72, 73, 74, 75) LANES_OF_STAGE(M, 23, 76, 77, 78, 79)
#define LANES_88(M) LANES_80(M) LANES_OF_STAGE(M, 24, 80, 81, 82, 83) LANES_OF_STAGE(M, 25, 84, 85, 86, 87)
#define LANES_96(M) LANES_88(M) LANES_OF_STAGE(M, 26, 88, 89, 90, 91) LANES_OF_STAGE(M, 27, 92, 93, 94, 95)
#define LANES_104(M) LANES_96(M) LANES_OF_STAGE(M, 28, 96, 97, 98, 99) LANES_OF_STAGE(M, 29, 100, 101, 102, 103)
#define LANES_112(M) LANES_104(M) LANES_OF_STAGE(M, 30, 104, 105, 106, 107) LANES_OF_STAGE(M, 31, 108, 109, 110, 111)
#define LANES_120(M) LANES_112(M) LANES_OF_STAGE(M, 32, 112, 113, 114, 115) LANES_OF_STAGE(M, 33, 116, 117, 118, 119)
#define LANES_128(M) LANES_120(M) LANES_OF_STAGE(M, 34, 120, 121, 122, 123) LANES_OF_STAGE(M, 35, 124, 125, 126, 127)
#define LANES_OF(words) LANES_##words
#define LANES(words) LANES_OF(words)
#define EACH_LANE(M) LANES(ACCUMULATOR_WORDS)(M)

// The first coordinate of a word is in its most significant bits; the masks keep the coordinates in order. An
// instruction shifts or masks, so widening takes two; the first word of a group needs no shift. On Tofino 2 codes that
// no stage reads need no containers. There the parser copies the codes into each word of their group, and the
// instructions read the copies.
#if __TARGET_TOFINO__ == 2
#define TAKE_FIRST(to, from)
#define OF_CODES(i, word) hdr.lanes.w##word
#define OF_CODES16(i, word) hdr.lanes.w##word
#else
#define TAKE_FIRST(to, from) hdr.lanes.w##to = from;
#define OF_CODES(i, word) hdr.codes.w##i
#define OF_CODES16(i, word) hdr.codes16.w##i
#endif
#define EXPAND8_SHIFT(i, even, odd) \
    TAKE_FIRST(even, hdr.codes.w##i) \
    hdr.lanes.w##odd = OF_CODES(i, odd) >> 4;
#define EXPAND8TO16_SHIFT(i, even, odd) \
    TAKE_FIRST(even, hdr.codes.w##i) \
    hdr.lanes.w##odd = OF_CODES(i, odd) >> 8;
#define EXPAND16_SHIFT(i, a0, a1, a2, a3) \
    TAKE_FIRST(a0, hdr.codes16.w##i) \
    hdr.lanes.w##a1 = OF_CODES16(i, a1) >> 4; \
    hdr.lanes.w##a2 = OF_CODES16(i, a2) >> 8; \
    hdr.lanes.w##a3 = OF_CODES16(i, a3) >> 12;
#define MASK_NIBBLES(i) hdr.lanes.w##i = hdr.lanes.w##i & 0x0F0F0F0F;
#define MASK_BYTES(i) hdr.lanes.w##i = hdr.lanes.w##i & 0x00FF00FF;
#define MASK_NIBBLES16(i) hdr.lanes.w##i = hdr.lanes.w##i & 0x000F000F;

control Expand(INGRESS_PARAMETERS) {
    action shift8() { FOR_EACH_CODE_GROUP(EXPAND8_SHIFT) }
    action shift8to16() { FOR_EACH_CODE_GROUP(EXPAND8TO16_SHIFT) }
    action shift16() { FOR_EACH_CODE16_GROUP(EXPAND16_SHIFT) }
    action mask8() { FOR_EACH_WORD(MASK_NIBBLES) }
    action mask8to16() { FOR_EACH_WORD(MASK_BYTES) }
    action mask16() { FOR_EACH_WORD(MASK_NIBBLES16) }
    action nothing() { }

    // Bit 1 of the operation is set in EXPAND8TO16 and EXPAND16, but not in EXPAND8.
#define OP_WIDENS_TO_16 hdr.lanesum.op[1:1]
#define EXPANSION(name, to8, from8_to16, to16) \
    table name { \
        key = { hdr.codes.isValid(): ternary; hdr.codes16.isValid(): ternary; OP_WIDENS_TO_16: ternary; } \
        actions = { to8; from8_to16; to16; nothing; } \
        const default_action = nothing(); \
        size = 4; \
        const entries = { \
            (true, false, 0): to8(); \
            (true, false, 1): from8_to16(); \
            (false, true, 1): to16(); \
        } \
    }
    WAITS_UNTIL(1)
    EXPANSION(shift, shift8, shift8to16, shift16)
    WAITS_UNTIL(2)
    EXPANSION(mask, mask8, mask8to16, mask16)

    // Codes stay in the packet beside the lanes: a packet that is routed leaves as it came.
    apply {
        shift.apply();
        mask.apply();
    }
}

control Lanes(INGRESS_PARAMETERS) {
    action keep() { }

    EACH_LANE(LANE_REGISTER)

    apply {
        EACH_LANE(LANE_APPLY)
    }
}
