// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Lanes: widen codes to accumulator words, then store, combine or read one register per word.

#define WORD_REGISTER(i) register<bit<32>>(SLOT_ENTRIES) words_##i;
#define WORD_VARIABLE(i) bit<32> sum_##i;

#define STORE_WORD(i) words_##i.write(meta.entry, hdr.lanes.w##i);
#define READ_WORD(i) words_##i.read(hdr.lanes.w##i, meta.entry);
#define ADD_WORD(i) words_##i.read(sum_##i, meta.entry); hdr.lanes.w##i = hdr.lanes.w##i + sum_##i; STORE_WORD(i)
#define OR_WORD(i) words_##i.read(sum_##i, meta.entry); hdr.lanes.w##i = hdr.lanes.w##i | sum_##i; STORE_WORD(i)
#define MAX_WORD(i) words_##i.read(sum_##i, meta.entry); \
    hdr.lanes.w##i = hdr.lanes.w##i > sum_##i ? hdr.lanes.w##i : sum_##i; STORE_WORD(i)

// Low nibbles of the four bytes make the even word, high nibbles the odd one: coordinates stay in order.
#define EXPAND_PAIR(i, even, odd) \
    hdr.lanes.w##even = hdr.codes.w##i & 0x0F0F0F0F; \
    hdr.lanes.w##odd = (hdr.codes.w##i >> 4) & 0x0F0F0F0F;

#define LOOK_UP(code) (bit<8>) (meta.code_table >> ((code) ++ 3w0))
#define TABLE_PAIR(i, even, odd) \
    hdr.lanes.w##even = LOOK_UP(hdr.codes.w##i[27:24]) ++ LOOK_UP(hdr.codes.w##i[19:16]) \
                        ++ LOOK_UP(hdr.codes.w##i[11:8]) ++ LOOK_UP(hdr.codes.w##i[3:0]); \
    hdr.lanes.w##odd = LOOK_UP(hdr.codes.w##i[31:28]) ++ LOOK_UP(hdr.codes.w##i[23:20]) \
                       ++ LOOK_UP(hdr.codes.w##i[15:12]) ++ LOOK_UP(hdr.codes.w##i[7:4]);

control Lanes(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    FOR_EACH_WORD(WORD_REGISTER)
    FOR_EACH_WORD(WORD_VARIABLE)
    direct_counter(CounterType.packets_and_bytes) lookup_counter;
    direct_counter(CounterType.packets_and_bytes) expand_counter;
    direct_counter(CounterType.packets_and_bytes) combine_counter;

    action use_code_table(bit<128> code_table) { meta.code_table = code_table; }
    // Without a table every code counts as 0; the controller admits TABLE8 only together with a table.
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
        FOR_EACH_CODE_WORD_PAIR(EXPAND_PAIR)
        hdr.codes.setInvalid();
    }

    action table8() {
        hdr.lanes.setValid();
        FOR_EACH_CODE_WORD_PAIR(TABLE_PAIR)
        hdr.codes.setInvalid();
    }

    // A replay reads the registers: there is nothing to widen.
    action make_room() {
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
    }

    table expand {
        key = {
            hdr.codes.isValid(): exact @name("codes");
            hdr.lanesum.op: exact @name("op");
            meta.step: ternary;
        }
        actions = { keep; expand8; table8; make_room; }
        const default_action = keep();
        // Without codes the words are wide already: plain lanes, or the sum of another switch.
        const entries = {
            (true, OP_EXPAND8, STEP_READ): make_room();
            (true, OP_TABLE8, STEP_READ): make_room();
            (true, OP_EXPAND8, _): expand8();
            (true, OP_TABLE8, _): table8();
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
            // 32-bit words and packed 8-bit lanes alike: the host keeps lanes from carrying.
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
