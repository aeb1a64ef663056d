// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slots: who owns the entry, who has contributed, and what this packet therefore does.
//
// The first contributor of a new (epoch, chunk) overwrites owner, bitmap, count and words, so nothing is ever cleared
// by hand. A job moves on to the same shadow set only after every worker has the result of the other one; a packet that
// is older than the owner is therefore of no use to anybody, except to a server that decides by quorum.
//
// Every register is read once and written at most once, at one index: what a stateful ALU does in one go. On Tofino the
// new bitmap, count and state have to be computed inside of the ALUs that hold them; BMv2 reads first and writes later.

control Slots(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<121>>(SLOT_ENTRIES) slot_owner;
    register<bit<32>>(SLOT_ENTRIES) slot_round_words;
    register<bit<32>>(SLOT_ENTRIES) slot_workers;
    register<bit<8>>(SLOT_ENTRIES) slot_count;
    register<state_t>(SLOT_ENTRIES) slot_state;
    register<bit<16>>(SLOT_ENTRIES) slot_touched;
    direct_counter(CounterType.packets_and_bytes) slot_counter;

    bit<121> owner_word;
    bit<32> epochs_ahead;
    bit<16> age;
    state_t own_state;

    action claim_with(state_t done) {
        slot_owner.write(meta.entry, 1w1 ++ hdr.lanesum.op ++ hdr.lanesum.job ++ hdr.lanesum.tag
                                     ++ hdr.lanesum.epoch ++ hdr.lanesum.chunk);
        slot_round_words.write(meta.entry, hdr.lanesum.racks);
        slot_count.write(meta.entry, 1);
        meta.workers = meta.worker;
        slot_workers.write(meta.entry, meta.workers);
        meta.state = own_state | done;
        slot_state.write(meta.entry, meta.state);
        slot_touched.write(meta.entry, meta.now);
        meta.step = STEP_STORE;
    }

    action contribute_with(state_t done) {
        slot_count.write(meta.entry, meta.count + 1);
        meta.workers = meta.workers | meta.worker;
        slot_workers.write(meta.entry, meta.workers);
        meta.state = meta.state | own_state | done;
        slot_state.write(meta.entry, meta.state);
        slot_touched.write(meta.entry, meta.now);
        meta.step = STEP_COMBINE;
    }

    action claim() {
        claim_with(0);
        meta.verdict = VERDICT_DROP;
    }

    action claim_and_complete() {
        claim_with(STATE_DONE);
        meta.verdict = meta.ascend ? VERDICT_ASCEND : VERDICT_RESULT;
    }

    action contribute() {
        contribute_with(0);
        meta.verdict = VERDICT_DROP;
    }

    action contribute_and_complete() {
        contribute_with(STATE_DONE);
        meta.verdict = meta.ascend ? VERDICT_ASCEND : VERDICT_RESULT;
    }

    action replay() {
        meta.state = meta.state | own_state;
        meta.step = STEP_READ;
        meta.verdict = VERDICT_REPLAY;
    }

    // The switch above may have lost what it had.
    action ascend_again() {
        meta.state = meta.state | own_state;
        meta.step = STEP_READ;
        meta.verdict = VERDICT_ASCEND;
    }

    action report_pending() { meta.verdict = VERDICT_PENDING; }
    action report_conflict() { meta.verdict = VERDICT_CONFLICT; }

    // The server sums what finds no entry here, and tells the workers why by the flag.
    action collide() {
        bit<8> added = FLAG_COLLISION & ~hdr.lanesum.flags;
        hdr.lanesum.flags = hdr.lanesum.flags | FLAG_COLLISION;
        hdr.udp.checksum = amended_udp(hdr.udp.checksum, (bit<16>) added);
        meta.verdict = VERDICT_ROUTE;
    }

    // A quorum was there without it: the server knows what became of the chunk.
    action pass_late() { meta.verdict = VERDICT_ROUTE; }
    action drop_late() { meta.verdict = VERDICT_DROP; }

    table slot {
        key = {
            meta.order: ternary;
            meta.done: ternary;
            meta.seen: ternary;
            meta.last: ternary;
            meta.ascend: ternary;
            meta.quorum: ternary;
        }
        actions = {
            claim; claim_and_complete; contribute; contribute_and_complete; replay; ascend_again; report_pending;
            report_conflict; collide; pass_late; drop_late;
        }
        const default_action = drop_late();
        const entries = {
            // First contributor; with fan-in 1 it is the last one too.
            (ORDER_NEWER, _, _, false, _, _): claim();
            (ORDER_NEWER, _, _, true, _, _): claim_and_complete();
            // Another job holds the entry.
            (ORDER_FOREIGN, _, _, _, _, _): collide();
            // Late packet of an older chunk or epoch.
            (ORDER_OLDER, _, _, _, _, true): pass_late();
            (ORDER_OLDER, _, _, _, _, false): drop_late();
            (ORDER_CONFLICT, _, _, _, _, _): report_conflict();
            // The sum is there: whoever asks again has lost it, or the switch above has.
            (ORDER_SAME, true, _, _, false, _): replay();
            (ORDER_SAME, true, true, _, true, _): ascend_again();
            (ORDER_SAME, true, false, _, true, _): pass_late();
            // A duplicate of an unfinished sum: say who is missing.
            (ORDER_SAME, false, true, _, _, _): report_pending();
            (ORDER_SAME, false, false, false, _, _): contribute();
            (ORDER_SAME, false, false, true, _, _): contribute_and_complete();
        }
        counters = slot_counter;
    }

    apply {
        slot_owner.read(owner_word, meta.entry);
        slot_round_words.read(meta.round_words, meta.entry);
        slot_workers.read(meta.workers, meta.entry);
        slot_count.read(meta.count, meta.entry);
        slot_state.read(meta.state, meta.entry);
        slot_touched.read(meta.touched, meta.entry);
        meta.owner.valid = owner_word[120:120];
        meta.owner.op = owner_word[119:112];
        meta.owner.job = owner_word[111:96];
        meta.owner.tag = owner_word[95:64];
        meta.owner.epoch = owner_word[63:32];
        meta.owner.chunk = owner_word[31:0];
        meta.done = meta.state & STATE_DONE != 0;
        meta.now = (bit<16>) (standard_metadata.ingress_global_timestamp >> 10);
        // 16 bits wrap after 67 seconds: an abandoned entry then looks fresh again, for as long as a lease.
        age = meta.now - meta.touched;
        own_state = 0;
        if (hdr.lanesum.flags & FLAG_ECN != 0 || hdr.ipv4.ecn == IP_ECN_CONGESTED) {
            own_state = STATE_ECN;
        }
        if (hdr.lanesum.flags & FLAG_COLLISION != 0) {
            own_state = own_state | STATE_COLLISION;
        }

        // Serial number arithmetic (RFC 1982): epochs may wrap.
        epochs_ahead = hdr.lanesum.epoch - meta.owner.epoch;
        if (meta.owner.valid == 0) {
            meta.order = ORDER_NEWER;
        } else if (meta.owner.job != hdr.lanesum.job || meta.owner.tag != hdr.lanesum.tag) {
            if (meta.shared && !meta.done && age <= meta.lease) {
                meta.order = ORDER_FOREIGN;
            } else {
                meta.order = ORDER_NEWER;
            }
        } else if (epochs_ahead[31:31] == 1) {
            meta.order = ORDER_OLDER;
        } else if (epochs_ahead != 0 || hdr.lanesum.chunk > meta.owner.chunk) {
            meta.order = ORDER_NEWER;
        } else if (hdr.lanesum.chunk < meta.owner.chunk) {
            meta.order = ORDER_OLDER;
        } else if (hdr.lanesum.op != meta.owner.op || hdr.lanesum.racks != meta.round_words) {
            meta.order = ORDER_CONFLICT;
        } else {
            meta.order = ORDER_SAME;
        }
        if (meta.order == ORDER_NEWER) {
            meta.count = 0;
        }
        meta.seen = meta.workers & meta.worker != 0;
        meta.last = meta.count + 1 >= meta.fan_in;
        slot.apply();
    }
}
