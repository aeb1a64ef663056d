// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Lanes: widen codes to accumulator words, then store, combine or read one register per word. Sums are exact (INV-1):
// the host keeps max_value x workers below the width of a lane, so no carry leaves its lane.

#define WORD_REGISTER(i) register<bit<32>>(ENTRIES) words_##i;
#define WORD_VARIABLE(i) bit<32> sum_##i;

#define STORE_WORD(i) words_##i.write(meta.entry, hdr.lanes.w##i);
#define READ_WORD(i) words_##i.read(hdr.lanes.w##i, meta.entry);
#define ADD_WORD(i) words_##i.read(sum_##i, meta.entry); hdr.lanes.w##i = hdr.lanes.w##i + sum_##i; STORE_WORD(i)
#define OR_WORD(i) words_##i.read(sum_##i, meta.entry); hdr.lanes.w##i = hdr.lanes.w##i | sum_##i; STORE_WORD(i)
#define MAX_WORD(i) words_##i.read(sum_##i, meta.entry); \
    hdr.lanes.w##i = hdr.lanes.w##i > sum_##i ? hdr.lanes.w##i : sum_##i; STORE_WORD(i)

// The first coordinate of a word is in its most significant bits; the masks keep the coordinates in order.
#define EXPAND16_GROUP(i, a0, a1, a2, a3) \
    hdr.lanes.w##a0 = hdr.codes16.w##i & 0x000F000F; \
    hdr.lanes.w##a1 = (hdr.codes16.w##i >> 4) & 0x000F000F; \
    hdr.lanes.w##a2 = (hdr.codes16.w##i >> 8) & 0x000F000F; \
    hdr.lanes.w##a3 = (hdr.codes16.w##i >> 12) & 0x000F000F;

#define EXPAND8TO16_PAIR(i, even, odd) \
    hdr.lanes.w##even = hdr.codes.w##i & 0x00FF00FF; \
    hdr.lanes.w##odd = (hdr.codes.w##i >> 8) & 0x00FF00FF;

// Bit j of every byte of a plane belongs to accumulator word j.
#define PLANE_BITS(header, i, j) ((hdr.header.w##i >> j) & 0x01010101)
#define PLANES3_WORD(a, j, p0, p1, p2) \
    hdr.lanes.w##a = PLANE_BITS(planes3, p0, j) | PLANE_BITS(planes3, p1, j) << 1 | PLANE_BITS(planes3, p2, j) << 2;
#define PLANES3_GROUP(p0, p1, p2, a0, a1, a2, a3, a4, a5, a6, a7) \
    PLANES3_WORD(a0, 0, p0, p1, p2) \
    PLANES3_WORD(a1, 1, p0, p1, p2) \
    PLANES3_WORD(a2, 2, p0, p1, p2) \
    PLANES3_WORD(a3, 3, p0, p1, p2) \
    PLANES3_WORD(a4, 4, p0, p1, p2) \
    PLANES3_WORD(a5, 5, p0, p1, p2) \
    PLANES3_WORD(a6, 6, p0, p1, p2) \
    PLANES3_WORD(a7, 7, p0, p1, p2)
#define PLANES5_WORD(a, j, p0, p1, p2, p3, p4) \
    hdr.lanes.w##a = PLANE_BITS(planes5, p0, j) | PLANE_BITS(planes5, p1, j) << 1 | PLANE_BITS(planes5, p2, j) << 2 \
                     | PLANE_BITS(planes5, p3, j) << 3 | PLANE_BITS(planes5, p4, j) << 4;
#define PLANES5_GROUP(p0, p1, p2, p3, p4, a0, a1, a2, a3, a4, a5, a6, a7) \
    PLANES5_WORD(a0, 0, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a1, 1, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a2, 2, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a3, 3, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a4, 4, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a5, 5, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a6, 6, p0, p1, p2, p3, p4) \
    PLANES5_WORD(a7, 7, p0, p1, p2, p3, p4)

// Low nibbles of the four bytes make the even word, high nibbles the odd one.
#define EXPAND_PAIR(i, even, odd) \
    hdr.lanes.w##even = hdr.codes.w##i & 0x0F0F0F0F; \
    hdr.lanes.w##odd = (hdr.codes.w##i >> 4) & 0x0F0F0F0F;

#define LOOK_UP(code) (bit<8>) (meta.code_table >> ((code) ++ 3w0))
#define TABLE_PAIR(i, even, odd) \
    hdr.lanes.w##even = LOOK_UP(hdr.codes.w##i[27:24]) ++ LOOK_UP(hdr.codes.w##i[19:16]) \
                        ++ LOOK_UP(hdr.codes.w##i[11:8]) ++ LOOK_UP(hdr.codes.w##i[3:0]); \
    hdr.lanes.w##odd = LOOK_UP(hdr.codes.w##i[31:28]) ++ LOOK_UP(hdr.codes.w##i[23:20]) \
                       ++ LOOK_UP(hdr.codes.w##i[15:12]) ++ LOOK_UP(hdr.codes.w##i[7:4]);

#define WIDEN_ACTION(op, action, uplink_words, state) action;
#define WIDEN_ENTRY(op, action, uplink_words, state) (false, OP_##op, _): action();

control Lanes(INGRESS_PARAMETERS) {
    FOR_EACH_WORD(WORD_REGISTER)
    FOR_EACH_WORD(WORD_VARIABLE)
    DIRECT_COUNTER(lookup_counter);
    DIRECT_COUNTER(expand_counter);
    DIRECT_COUNTER(combine_counter);

    action use_code_table(bit<128> code_table) { meta.code_table = code_table; }
    // Without a table every code is 0; the controller admits TABLE8 only together with a table.
    action no_code_table() { meta.code_table = 0; }

    table lookup {
        key = { hdr.lanesum.job: exact @name("job"); }
        actions = { use_code_table; no_code_table; }
        const default_action = no_code_table();
        size = LOOKUP_TABLE_SIZE;
        counters = lookup_counter;
    }

    action keep() { }

    action expand8() {
        hdr.lanes.setValid();
        FOR_EACH_CODE_GROUP(EXPAND_PAIR)
        hdr.codes.setInvalid();
    }

    action table8() {
        hdr.lanes.setValid();
        FOR_EACH_CODE_GROUP(TABLE_PAIR)
        hdr.codes.setInvalid();
    }

    action expand16() {
        hdr.lanes.setValid();
        FOR_EACH_CODE16_GROUP(EXPAND16_GROUP)
        hdr.codes16.setInvalid();
    }

    action expand8to16() {
        hdr.lanes.setValid();
        FOR_EACH_CODE_GROUP(EXPAND8TO16_PAIR)
        hdr.codes.setInvalid();
    }

    action expand3to8() {
        hdr.lanes.setValid();
        FOR_EACH_PLANES3_GROUP(PLANES3_GROUP)
        hdr.planes3.setInvalid();
    }

    action expand5to8() {
        hdr.lanes.setValid();
        FOR_EACH_PLANES5_GROUP(PLANES5_GROUP)
        hdr.planes5.setInvalid();
    }

    // A replay reads the registers, so all workers get the same words (INV-2): nothing is widened.
    action replace_payload() {
        hdr.lanes.setValid();
        FOR_EACH_UPLINK_HEADER(REMOVE_UPLINK)
    }

    table expand {
        key = {
            hdr.lanes.isValid(): exact @name("wide");
            hdr.lanesum.op: ternary @name("op");
            meta.step: ternary;
        }
        actions = { keep; FOR_EACH_WIDENING_OP(WIDEN_ACTION) replace_payload; }
        const default_action = keep();
        // Other payloads are accumulator words: of an operation that is not widened, or the sum of another switch.
        const entries = {
            (false, _, STEP_READ): replace_payload();
            FOR_EACH_WIDENING_OP(WIDEN_ENTRY)
        }
        counters = expand_counter;
    }

    action store_words() { FOR_EACH_WORD(STORE_WORD) }
    action add_words() { FOR_EACH_WORD(ADD_WORD) }
    action or_words() { FOR_EACH_WORD(OR_WORD) }
    action max_words() { FOR_EACH_WORD(MAX_WORD) }
    action read_words() { FOR_EACH_WORD(READ_WORD) }

    table combine {
        key = {
            meta.step: exact;
            hdr.lanesum.op: ternary @name("op");
        }
        actions = { store_words; add_words; or_words; max_words; read_words; keep; }
        const default_action = keep();
        const entries = {
            (STEP_STORE, _): store_words();
            (STEP_READ, _): read_words();
            (STEP_COMBINE, OP_OR): or_words();
            (STEP_COMBINE, OP_MAX): max_words();
            // 32-bit words, and packed lanes of 8 or 16 bits.
            (STEP_COMBINE, _): add_words();
        }
        counters = combine_counter;
    }

    apply {
        if (hdr.lanesum.op == OP_TABLE8 && hdr.codes.isValid()) {
            lookup.apply();
        }
        expand.apply();
        combine.apply();
    }
}
