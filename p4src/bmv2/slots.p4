// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slots: who owns the entry, who has contributed, and what this packet therefore does.
//
// The first contributor of a new (epoch, chunk) overwrites owner, bitmap, count and words, so nothing is ever cleared
// by hand. A job moves on to the same shadow set only after every worker has the result of the other one; a packet that
// is older than the owner is therefore of no use to anybody.

control Slots(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<121>>(SLOT_ENTRIES) slot_owner;
    register<bit<32>>(SLOT_ENTRIES) slot_workers;
    register<bit<8>>(SLOT_ENTRIES) slot_count;
    direct_counter(CounterType.packets_and_bytes) slot_counter;

    bit<121> owner_word;
    bit<32> epochs_ahead;

    action claim() {
        slot_owner.write(meta.entry, 1w1 ++ hdr.lanesum.op ++ hdr.lanesum.job ++ hdr.lanesum.tag
                                     ++ hdr.lanesum.epoch ++ hdr.lanesum.chunk);
        slot_workers.write(meta.entry, meta.worker);
        slot_count.write(meta.entry, 1);
        meta.workers = meta.worker;
        meta.step = STEP_STORE;
        meta.verdict = VERDICT_DROP;
    }

    action claim_and_complete() {
        claim();
        meta.verdict = VERDICT_RESULT;
    }

    action contribute() {
        meta.workers = meta.workers | meta.worker;
        slot_workers.write(meta.entry, meta.workers);
        slot_count.write(meta.entry, meta.count + 1);
        meta.step = STEP_COMBINE;
        meta.verdict = VERDICT_DROP;
    }

    action contribute_and_complete() {
        contribute();
        meta.verdict = VERDICT_RESULT;
    }

    action replay() {
        meta.step = STEP_READ;
        meta.verdict = VERDICT_REPLAY;
    }

    action report_pending() { meta.verdict = VERDICT_PENDING; }
    action drop_late() { meta.verdict = VERDICT_DROP; }
    action drop_conflict() { meta.verdict = VERDICT_DROP; }

    table slot {
        key = {
            meta.order: ternary;
            meta.complete: ternary;
            meta.seen: ternary;
            meta.last: ternary;
        }
        actions = {
            claim; claim_and_complete; contribute; contribute_and_complete; replay; report_pending; drop_late;
            drop_conflict;
        }
        const default_action = drop_conflict();
        const entries = {
            // First contributor; with fan-in 1 it is the last one too.
            (ORDER_NEWER, _, _, false): claim();
            (ORDER_NEWER, _, _, true): claim_and_complete();
            // Late packet of an older chunk or epoch.
            (ORDER_OLDER, _, _, _): drop_late();
            (ORDER_CONFLICT, _, _, _): drop_conflict();
            // The sum is there: whoever asks again has lost it.
            (ORDER_SAME, true, _, _): replay();
            // A duplicate of an unfinished sum: say who is missing.
            (ORDER_SAME, false, true, _): report_pending();
            (ORDER_SAME, false, false, false): contribute();
            (ORDER_SAME, false, false, true): contribute_and_complete();
        }
        counters = slot_counter;
    }

    apply {
        slot_owner.read(owner_word, meta.entry);
        slot_workers.read(meta.workers, meta.entry);
        slot_count.read(meta.count, meta.entry);
        meta.owner.valid = owner_word[120:120];
        meta.owner.op = owner_word[119:112];
        meta.owner.job = owner_word[111:96];
        meta.owner.tag = owner_word[95:64];
        meta.owner.epoch = owner_word[63:32];
        meta.owner.chunk = owner_word[31:0];

        // Serial number arithmetic (RFC 1982): epochs may wrap.
        epochs_ahead = hdr.lanesum.epoch - meta.owner.epoch;
        if (meta.owner.valid == 0 || meta.owner.job != hdr.lanesum.job || meta.owner.tag != hdr.lanesum.tag) {
            meta.order = ORDER_NEWER;
        } else if (epochs_ahead[31:31] == 1) {
            meta.order = ORDER_OLDER;
        } else if (epochs_ahead != 0 || hdr.lanesum.chunk > meta.owner.chunk) {
            meta.order = ORDER_NEWER;
        } else if (hdr.lanesum.chunk < meta.owner.chunk) {
            meta.order = ORDER_OLDER;
        } else if (hdr.lanesum.op != meta.owner.op) {
            meta.order = ORDER_CONFLICT;
        } else {
            meta.order = ORDER_SAME;
        }
        if (meta.order == ORDER_NEWER) {
            meta.count = 0;
        }
        meta.seen = meta.workers & meta.worker != 0;
        meta.complete = meta.count == meta.fan_in;
        meta.last = meta.count + 1 == meta.fan_in;
        slot.apply();
    }
}
