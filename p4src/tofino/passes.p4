// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Passes: recirculate packets with more words than one pass takes.
//
//   pass 0                  decides on the entry, as in a profile of one pass, and takes block 0 of the words
//   pass 1 to P - 1         take the next block off the front of the packet, and combine it if pass 0 decided so
//   pass P to 2P - 2        put a block of the sum in front, for a packet that is to carry it: blocks P - 1 down to 1
//   pass 2P - 1             reads the entry again, as for a duplicate, and answers; with a sum, puts block 0 in front
//
// A sum leaves only if each block was read as the sum over the same workers W (INV-1):
// - Register 'slot_block' holds, for blocks 1 to P - 1, the job, tag, epoch and chunk of the sum (its generation) and
//   the workers in it. A packet changes it in the pass in which it changes the block, so the two never differ. A packet
//   that finds another generation leaves its own bit out: that sum never counts as complete. A sum that lacks a lost
//   packet, or contains a damaged one, never does either.
// - For block 0 the entry itself holds owner, epoch, chunk, workers and completion. Complete sums do not change.
// W is what the entry held in pass 0. So blocks need no order of packets to be exact. Order only decides how often a sum
// is available: packets of an entry recirculate through one queue and stay in order, so each block has all earlier
// contributions when the completing packet reads it.

#if PASSES > 1

const bit<8> LAST_TAKING_PASS = PASSES - 1;
const bit<8> FIRST_READING_PASS = PASSES;
const bit<8> LAST_READING_PASS = 2 * PASSES - 2;
const bit<8> ANSWERING_PASS = 2 * PASSES - 1;

// Note whose sum each block is.
control Blocks(INGRESS_PARAMETERS) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) generation_hash;
    Register<two_words_t, lane_entry_t>(LANE_ENTRIES) slot_block;

    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_block) first_block = {
        void apply(inout two_words_t value) {
            value.lo = hdr.pass.worker;
            value.hi = meta.generation;
        }
    };
    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_block) next_block = {
        void apply(inout two_words_t value) {
            if (value.hi == meta.generation) {
                value.lo = value.lo | hdr.pass.worker;
            } else {
                value.lo = 0;
            }
            value.hi = meta.generation;
        }
    };
    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_block) compare_block = {
        void apply(inout two_words_t value, out bit<1> torn) {
            torn = 0;
            if (value.hi != meta.generation || value.lo != hdr.pass.worker) {
                torn = 1;
            }
        }
    };

    action do_first_block() { first_block.execute(LANE_ENTRY); }
    action do_next_block() { next_block.execute(LANE_ENTRY); }
    action do_compare_block() { meta.torn = compare_block.execute(LANE_ENTRY); }
    action nothing() { }

    // The checksum is known in the last taking pass: the bit of a damaged packet is left out of its last block.
    @stage(1)
    table block {
        key = {
            hdr.pass.task: ternary;
            hdr.pass.number: ternary;
            hdr.udp.checksum: ternary;
            meta.udp_sum: ternary;
        }
        actions = { do_first_block; do_next_block; do_compare_block; nothing; }
        const default_action = nothing();
        size = 16;
        const entries = {
            (TASK_STORE &&& TASK_STORE, LAST_TAKING_PASS, 0, _): do_first_block();
            (TASK_STORE | TASK_LANES &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, SUM_LEFT): do_first_block();
            (TASK_STORE | TASK_CODES16 &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, CODE16_LEFT):
                do_first_block();
            (TASK_STORE | TASK_CODES &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, CODE_LEFT): do_first_block();
            (TASK_STORE &&& TASK_STORE, LAST_TAKING_PASS, _, _): nothing();
            (TASK_STORE &&& TASK_STORE, _, _, _): do_first_block();
            (TASK_SUMS &&& TASK_SUMS, LAST_TAKING_PASS, 0, _): do_next_block();
            (TASK_SUMS | TASK_LANES &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, SUM_LEFT): do_next_block();
            (TASK_SUMS | TASK_CODES16 &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, CODE16_LEFT): do_next_block();
            (TASK_SUMS | TASK_CODES &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, CODE_LEFT): do_next_block();
            (TASK_SUMS &&& TASK_SUMS, LAST_TAKING_PASS, _, _): nothing();
            (TASK_SUMS &&& TASK_SUMS, _, _, _): do_next_block();
            (TASK_READ, _, _, _): do_compare_block();
        }
    }

    apply {
        meta.generation = generation_hash.get({hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, hdr.lanesum.chunk});
        // A packet shorter than its header says counts as damaged.
        if (meta.phase == PHASE_PASS && ig_prsr_md.parser_err == 0) {
            block.apply();
        }
    }
}

control Passes(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(next_pass_counter);

    action set_task(task_t task) { hdr.pass.task = task; }

    // The lanes do the same in all passes.
    table pass_task {
        key = {
            meta.order: ternary;
            meta.progress: ternary;
            meta.combination: ternary;
            hdr.codes.isValid(): ternary;
            hdr.codes16.isValid(): ternary;
        }
        actions = { set_task; }
        const default_action = set_task(TASK_STRIP | TASK_LANES);
        size = 16;
        const entries = {
            (ORDER_NEWER, _, _, true, _): set_task(TASK_STORE | TASK_CODES);
            (ORDER_NEWER, _, _, _, true): set_task(TASK_STORE | TASK_CODES16);
            (ORDER_NEWER, _, _, _, _): set_task(TASK_STORE | TASK_LANES);
            (ORDER_SAME, 0 &&& PROGRESS_DONE, COMBINE_ADD, true, _): set_task(TASK_ADD | TASK_CODES);
            (ORDER_SAME, 0 &&& PROGRESS_DONE, COMBINE_ADD, _, true): set_task(TASK_ADD | TASK_CODES16);
            (ORDER_SAME, 0 &&& PROGRESS_DONE, COMBINE_ADD, _, _): set_task(TASK_ADD | TASK_LANES);
            (ORDER_SAME, 0 &&& PROGRESS_DONE, COMBINE_OR, _, _): set_task(TASK_OR | TASK_LANES);
            (ORDER_SAME, 0 &&& PROGRESS_DONE, COMBINE_MAX, _, _): set_task(TASK_MAX | TASK_LANES);
            (_, _, _, true, _): set_task(TASK_STRIP | TASK_CODES);
            (_, _, _, _, true): set_task(TASK_STRIP | TASK_CODES16);
        }
    }

    action recirculate() {
        hdr.bridge.handover = HANDOVER_PASS;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = VERDICT_PASS;
        SEND_TO_PORT(meta.recirculation_port);
    }

    action begin(bit<8> verdict, bit<8> progress) {
        recirculate();
        hdr.pass.setValid();
        hdr.pass.number = 1;
        hdr.pass.verdict = verdict;
        hdr.pass.progress = progress;
        hdr.pass.entry = meta.entry + SLOTS;
        hdr.pass.udp_sum = ~meta.udp_sum;
        hdr.pass.worker = meta.worker;
        hdr.pass.workers = meta.workers;
        hdr.pass.fan_in = meta.fan_in;
        hdr.pass.group = meta.group;
        hdr.pass.role = meta.role;
    }

    action nothing() { }

    // Words are removed from the front of a packet only: the answer is built when all are removed.
    table first_pass {
        key = {
            meta.verdict: exact;
            meta.progress: ternary;
        }
        actions = { begin; nothing; }
        const default_action = nothing();
        size = 8;
        const entries = {
            (VERDICT_TAKEN, _): begin((bit<8>) VERDICT_DROP, 0);
            (VERDICT_RESULT, _): begin((bit<8>) VERDICT_RESULT, 0);
            (VERDICT_REPLAY, _): begin((bit<8>) VERDICT_REPLAY, 0);
            (VERDICT_PENDING, _): begin((bit<8>) VERDICT_PENDING, 0);
            (VERDICT_CONFLICT, _): begin((bit<8>) VERDICT_CONFLICT, 0);
            (VERDICT_ASCEND, PROGRESS_LAST): begin((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_LAST);
            (VERDICT_ASCEND, _): begin((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_DONE);
        }
    }

    action take_next() {
        recirculate();
        hdr.pass.number = hdr.pass.number + 1;
        hdr.pass.entry = meta.entry + SLOTS;
        hdr.pass.udp_sum = ~meta.udp_sum;
        COUNT(next_pass_counter);
    }

    action all_taken() { meta.verdict = VERDICT_DROP; COUNT(next_pass_counter); }

    // From here on 'worker' is the set of workers in the sum: an ALU takes two fields of the packet.
    action take_no_more(task_t task, bit<8> pass) {
        recirculate();
        hdr.pass.worker = hdr.pass.workers;
        hdr.pass.task = task;
        hdr.pass.number = pass;
        COUNT(next_pass_counter);
    }

    action read_first(task_t task) {
        recirculate();
        hdr.lanes.setValid();
        hdr.pass.task = task;
        hdr.pass.number = hdr.pass.number + 1;
        hdr.pass.entry = meta.entry - SLOTS;
        COUNT(next_pass_counter);
    }

    action read_next(task_t task) {
        recirculate();
        hdr.lanes.setValid();
        hdr.pass.task = task;
        hdr.pass.number = hdr.pass.number + 1;
        hdr.pass.entry = meta.entry - SLOTS;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        COUNT(next_pass_counter);
    }

    // The block is not the sum over the answer's workers: one of their packets was lost or damaged between passes, or
    // the entry belongs to another round now. Workers retransmit, and in the end past the switches.
    action drop_torn() { meta.verdict = VERDICT_DROP; COUNT(next_pass_counter); }

    table next_pass {
        key = {
            hdr.pass.number: ternary;
            hdr.pass.verdict: ternary;
            meta.torn: ternary;
        }
        actions = { take_next; all_taken; take_no_more; read_first; read_next; drop_torn; }
        const default_action = take_next();
        counters = next_pass_counter;
        size = 16;
        const entries = {
            (LAST_TAKING_PASS, (bit<8>) VERDICT_DROP, _): all_taken();
            (LAST_TAKING_PASS, (bit<8>) VERDICT_PENDING, _): take_no_more(TASK_ANSWER, ANSWERING_PASS);
            (LAST_TAKING_PASS, (bit<8>) VERDICT_CONFLICT, _): take_no_more(TASK_ANSWER, ANSWERING_PASS);
            (LAST_TAKING_PASS, _, _): take_no_more(TASK_READ, FIRST_READING_PASS);
            (_, _, 1): drop_torn();
            (FIRST_READING_PASS, _, _): read_first(TASK_READ);
            (LAST_READING_PASS, _, _): read_next(TASK_ANSWER);
            (FIRST_READING_PASS &&& FIRST_READING_PASS, _, _): read_next(TASK_READ);
        }
    }

    DIRECT_COUNTER(last_pass_counter);

    action compare() { meta.difference = meta.workers ^ hdr.pass.workers; }

    action answer(verdict_t verdict) {
        hdr.pass.setInvalid();
        meta.verdict = verdict;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        COUNT(last_pass_counter);
    }

    action answer_again(verdict_t verdict) {
        hdr.pass.setInvalid();
        meta.verdict = verdict;
        meta.state = meta.state | meta.own_state;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        COUNT(last_pass_counter);
    }

    action drop_changed() {
        hdr.pass.setInvalid();
        meta.verdict = VERDICT_DROP;
        COUNT(last_pass_counter);
    }

    table last_pass {
        key = {
            hdr.pass.verdict: ternary;
            hdr.pass.progress: ternary;
            meta.order: ternary;
            meta.progress: ternary;
            meta.difference: ternary;
        }
        actions = { answer; answer_again; drop_changed; }
        const default_action = drop_changed();
        counters = last_pass_counter;
        size = 8;
        const entries = {
            ((bit<8>) VERDICT_RESULT, _, ORDER_DUPLICATE, PROGRESS_DONE, 0): answer(VERDICT_RESULT);
            ((bit<8>) VERDICT_REPLAY, _, ORDER_DUPLICATE, PROGRESS_DONE, 0): answer_again(VERDICT_REPLAY);
            ((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_LAST, ORDER_DUPLICATE, PROGRESS_DONE, 0):
                answer(VERDICT_ASCEND);
            ((bit<8>) VERDICT_ASCEND, _, ORDER_DUPLICATE, PROGRESS_DONE, 0): answer_again(VERDICT_ASCEND);
            ((bit<8>) VERDICT_PENDING, _, ORDER_DUPLICATE, PROGRESS_OPEN, _): answer(VERDICT_PENDING);
            ((bit<8>) VERDICT_CONFLICT, _, ORDER_CONFLICT, _, _): answer(VERDICT_CONFLICT);
        }
    }

    apply {
        // One table in each branch: on Tofino 1 later tables would wait for the last one of several.
        if (meta.phase == PHASE_FIRST) {
            pass_task.apply();
        }
        compare();
        if (meta.phase == PHASE_FIRST) {
            first_pass.apply();
        } else if (meta.phase == PHASE_PASS) {
            next_pass.apply();
        } else {
            last_pass.apply();
        }
    }
}

#endif
