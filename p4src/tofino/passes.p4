// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Passes: packets with more words than one pass takes go around.
//
//   pass 0                  decides on the entry, as a packet of one pass does, and takes block 0 of the words
//   pass 1 to P - 1         each takes the next block off the front of the packet, and adds it, if that was decided
//   pass P to 2P - 2        a packet that is to carry the sum puts a block in front of what it has: P - 1 down to 1
//   pass 2P - 1             asks the entry once more, as a duplicate would, and answers; with a sum, puts block 0 in front
//
// A sum goes out only if each block was read as the sum over the same contributions W:
// - 'slot_arrived' says of blocks 1 to P - 1 of which job, tag, epoch and chunk they are the sum (a generation), and of
//   which workers. A packet changes it in the pass in which it changes the block; so the two never differ. Who finds
//   another generation leaves its own bit out: that sum will never be taken for complete. Nor will one over a packet that
//   was lost or found damaged on the way.
// - of block 0 the entry says so itself: owner, epoch, chunk, workers, and that it is complete. Complete sums do not change.
// W is what the entry said in pass 0. Read so, blocks need no order of packets to be right. It only matters for how often a
// sum is there: packets of an entry that go around by one queue stay in order, so that a block has been added by all who
// were counted before, when the last of them comes.

#if PASSES > 1

const bit<8> LAST_TAKING_PASS = PASSES - 1;
const bit<8> FIRST_READING_PASS = PASSES;
const bit<8> LAST_READING_PASS = 2 * PASSES - 2;
const bit<8> ANSWERING_PASS = 2 * PASSES - 1;

control Arrived(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) generation_hash;
    Register<two_words_t, lane_entry_t>(LANE_ENTRIES) slot_arrived;

    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_arrived) arrive_first = {
        void apply(inout two_words_t value) {
            value.lo = hdr.journey.worker;
            value.hi = meta.generation;
        }
    };
    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_arrived) arrive_next = {
        void apply(inout two_words_t value) {
            if (value.hi == meta.generation) {
                value.lo = value.lo | hdr.journey.worker;
            } else {
                value.lo = 0;
            }
            value.hi = meta.generation;
        }
    };
    RegisterAction<two_words_t, lane_entry_t, bit<1>>(slot_arrived) compare_arrived = {
        void apply(inout two_words_t value, out bit<1> torn) {
            torn = 0;
            if (value.hi != meta.generation || value.lo != hdr.journey.worker) {
                torn = 1;
            }
        }
    };

    action do_arrive_first() { arrive_first.execute(LANE_ENTRY); }
    action do_arrive_next() { arrive_next.execute(LANE_ENTRY); }
    action do_compare() { meta.torn = compare_arrived.execute(LANE_ENTRY); }
    action nothing() { }

    // What is damaged is known when all words have come by. Its bit is left out where its last block is, then.
    @stage(1)
    table arrived {
        key = {
            hdr.journey.task: ternary;
            hdr.journey.pass: ternary;
            hdr.udp.checksum: ternary;
            meta.udp_sum: ternary;
        }
        actions = { do_arrive_first; do_arrive_next; do_compare; nothing; }
        const default_action = nothing();
        size = 16;
        const entries = {
            (TASK_STORE &&& TASK_STORE, LAST_TAKING_PASS, 0, _): do_arrive_first();
            (TASK_STORE | TASK_LANES &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, SUM_LEFT): do_arrive_first();
            (TASK_STORE | TASK_CODES16 &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, CODE16_LEFT): do_arrive_first();
            (TASK_STORE | TASK_CODES &&& (TASK_STORE | TASK_FORM), LAST_TAKING_PASS, _, CODE_LEFT): do_arrive_first();
            (TASK_STORE &&& TASK_STORE, LAST_TAKING_PASS, _, _): nothing();
            (TASK_STORE &&& TASK_STORE, _, _, _): do_arrive_first();
            (TASK_SUMS &&& TASK_SUMS, LAST_TAKING_PASS, 0, _): do_arrive_next();
            (TASK_SUMS | TASK_LANES &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, SUM_LEFT): do_arrive_next();
            (TASK_SUMS | TASK_CODES16 &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, CODE16_LEFT): do_arrive_next();
            (TASK_SUMS | TASK_CODES &&& (TASK_SUMS | TASK_FORM), LAST_TAKING_PASS, _, CODE_LEFT): do_arrive_next();
            (TASK_SUMS &&& TASK_SUMS, LAST_TAKING_PASS, _, _): nothing();
            (TASK_SUMS &&& TASK_SUMS, _, _, _): do_arrive_next();
            (TASK_READ, _, _, _): do_compare();
        }
    }

    apply {
        meta.generation = generation_hash.get({hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, hdr.lanesum.chunk});
        // What is shorter than it said counts as damaged.
        if (meta.phase == PHASE_PASS && ig_prsr_md.parser_err == 0) {
            arrived.apply();
        }
    }
}

control Passes(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
               inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) journey_counter;

    action set_task(task_t task) { hdr.journey.task = task; }

    // What the lanes do in this pass, they do in the next ones.
    table task {
        key = {
            meta.standing: ternary;
            meta.progress: ternary;
            meta.combination: ternary;
            hdr.codes.isValid(): ternary;
            hdr.codes16.isValid(): ternary;
        }
        actions = { set_task; }
        const default_action = set_task(TASK_STRIP | TASK_LANES);
        size = 16;
        const entries = {
            (STANDING_NEW, _, _, true, _): set_task(TASK_STORE | TASK_CODES);
            (STANDING_NEW, _, _, _, true): set_task(TASK_STORE | TASK_CODES16);
            (STANDING_NEW, _, _, _, _): set_task(TASK_STORE | TASK_LANES);
            (STANDING_ADDED, 0 &&& PROGRESS_DONE, COMBINE_ADD, true, _): set_task(TASK_ADD | TASK_CODES);
            (STANDING_ADDED, 0 &&& PROGRESS_DONE, COMBINE_ADD, _, true): set_task(TASK_ADD | TASK_CODES16);
            (STANDING_ADDED, 0 &&& PROGRESS_DONE, COMBINE_ADD, _, _): set_task(TASK_ADD | TASK_LANES);
            (STANDING_ADDED, 0 &&& PROGRESS_DONE, COMBINE_OR, _, _): set_task(TASK_OR | TASK_LANES);
            (STANDING_ADDED, 0 &&& PROGRESS_DONE, COMBINE_MAX, _, _): set_task(TASK_MAX | TASK_LANES);
            (_, _, _, true, _): set_task(TASK_STRIP | TASK_CODES);
            (_, _, _, _, true): set_task(TASK_STRIP | TASK_CODES16);
        }
    }

    action go_around() {
        hdr.bridge.handover = HANDOVER_PASS;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = VERDICT_PASS;
        ig_tm_md.ucast_egress_port = meta.turning_port;
    }

    action depart(bit<8> verdict, bit<8> progress) {
        go_around();
        hdr.journey.setValid();
        hdr.journey.pass = 1;
        hdr.journey.verdict = verdict;
        hdr.journey.progress = progress;
        hdr.journey.entry = meta.entry + SLOTS;
        hdr.journey.udp_sum = ~meta.udp_sum;
        hdr.journey.worker = meta.worker;
        hdr.journey.workers = meta.workers;
        hdr.journey.fan_in = meta.fan_in;
        hdr.journey.group = meta.group;
        hdr.journey.role = meta.role;
    }

    action nothing() { }

    // Words of a packet come off its front only: whatever is made of it is made when all are off.
    table departure {
        key = {
            meta.verdict: exact;
            meta.progress: ternary;
        }
        actions = { depart; nothing; }
        const default_action = nothing();
        size = 8;
        const entries = {
            (VERDICT_TAKEN, _): depart((bit<8>) VERDICT_DROP, 0);
            (VERDICT_RESULT, _): depart((bit<8>) VERDICT_RESULT, 0);
            (VERDICT_REPLAY, _): depart((bit<8>) VERDICT_REPLAY, 0);
            (VERDICT_PENDING, _): depart((bit<8>) VERDICT_PENDING, 0);
            (VERDICT_CONFLICT, _): depart((bit<8>) VERDICT_CONFLICT, 0);
            (VERDICT_ASCEND, PROGRESS_LAST): depart((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_LAST);
            (VERDICT_ASCEND, _): depart((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_DONE);
        }
    }

    action take_next() {
        go_around();
        hdr.journey.pass = hdr.journey.pass + 1;
        hdr.journey.entry = meta.entry + SLOTS;
        hdr.journey.udp_sum = ~meta.udp_sum;
        journey_counter.count();
    }

    action all_taken() { meta.verdict = VERDICT_DROP; journey_counter.count(); }

    // From here on 'worker' is all that are to be in the sum: an ALU has room for two fields of the packet.
    action take_no_more(task_t task, bit<8> pass) {
        go_around();
        hdr.journey.worker = hdr.journey.workers;
        hdr.journey.task = task;
        hdr.journey.pass = pass;
        journey_counter.count();
    }

    action read_first(task_t task) {
        go_around();
        hdr.lanes.setValid();
        hdr.journey.task = task;
        hdr.journey.pass = hdr.journey.pass + 1;
        hdr.journey.entry = meta.entry - SLOTS;
        journey_counter.count();
    }

    action read_next(task_t task) {
        go_around();
        hdr.lanes.setValid();
        hdr.journey.task = task;
        hdr.journey.pass = hdr.journey.pass + 1;
        hdr.journey.entry = meta.entry - SLOTS;
        meta.carried_sum = ~hdr.bridge.payload_checksum;
        journey_counter.count();
    }

    // The block is not the sum of those in the answer: one of them was lost or damaged on its way around, or the entry
    // belongs to another round by now. Workers ask again, and go past the switch in the end.
    action drop_torn() { meta.verdict = VERDICT_DROP; journey_counter.count(); }

    table journey {
        key = {
            hdr.journey.pass: ternary;
            hdr.journey.verdict: ternary;
            meta.torn: ternary;
        }
        actions = { take_next; all_taken; take_no_more; read_first; read_next; drop_torn; }
        const default_action = take_next();
        counters = journey_counter;
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

    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) answer_counter;

    action compare() { meta.difference = meta.workers ^ hdr.journey.workers; }

    action answer(verdict_t verdict) {
        hdr.journey.setInvalid();
        meta.verdict = verdict;
        meta.carried_sum = ~hdr.bridge.payload_checksum;
        answer_counter.count();
    }

    action answer_again(verdict_t verdict) {
        hdr.journey.setInvalid();
        meta.verdict = verdict;
        meta.state = meta.state | meta.own_state;
        meta.carried_sum = ~hdr.bridge.payload_checksum;
        answer_counter.count();
    }

    action drop_overtaken() {
        hdr.journey.setInvalid();
        meta.verdict = VERDICT_DROP;
        answer_counter.count();
    }

    table answer_of {
        key = {
            hdr.journey.verdict: ternary;
            hdr.journey.progress: ternary;
            meta.standing: ternary;
            meta.progress: ternary;
            meta.difference: ternary;
        }
        actions = { answer; answer_again; drop_overtaken; }
        const default_action = drop_overtaken();
        counters = answer_counter;
        size = 8;
        const entries = {
            ((bit<8>) VERDICT_RESULT, _, STANDING_SEEN, PROGRESS_DONE, 0): answer(VERDICT_RESULT);
            ((bit<8>) VERDICT_REPLAY, _, STANDING_SEEN, PROGRESS_DONE, 0): answer_again(VERDICT_REPLAY);
            ((bit<8>) VERDICT_ASCEND, (bit<8>) PROGRESS_LAST, STANDING_SEEN, PROGRESS_DONE, 0): answer(VERDICT_ASCEND);
            ((bit<8>) VERDICT_ASCEND, _, STANDING_SEEN, PROGRESS_DONE, 0): answer_again(VERDICT_ASCEND);
            ((bit<8>) VERDICT_PENDING, _, STANDING_SEEN, PROGRESS_OPEN, _): answer(VERDICT_PENDING);
            ((bit<8>) VERDICT_CONFLICT, _, STANDING_CONFLICT, _, _): answer(VERDICT_CONFLICT);
        }
    }

    apply {
        // One table in each branch: what follows would have to wait for the last one of several, on Tofino 1.
        if (meta.phase == PHASE_FIRST) {
            task.apply();
        }
        compare();
        if (meta.phase == PHASE_FIRST) {
            departure.apply();
        } else if (meta.phase == PHASE_PASS) {
            journey.apply();
        } else {
            answer_of.apply();
        }
    }
}

#endif
