// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slots: find who owns the entry and who has contributed (INV-1), and decide by table slot. The decisions themselves
// are in ../shared/slots.p4.
//
// Every register is read once and written at most once, at one index, as a stateful ALU does in one operation. Tofino's
// ALUs compute the new bitmap, count and state; BMv2 reads first and writes later.

#include "../shared/slots.p4"

// Serial number arithmetic (RFC 1982): epochs may wrap, so half of the range lies ahead.
const bit<32> HALF_OF_EPOCHS = 0x80000000;
// Count of a complete entry. A mark of its own, because the fan-in may change after completion.
const bit<8> COUNT_DONE = 0xFF;

control Slots(INGRESS_PARAMETERS) {
    register<owner_word_t>(ENTRIES) slot_owner;
    register<bit<32>>(ENTRIES) slot_round_words;
    register<bit<32>>(ENTRIES) slot_workers;
    register<bit<8>>(ENTRIES) slot_count;
    register<bit<8>>(ENTRIES) slot_state;
    register<bit<16>>(ENTRIES) slot_touched;
    DIRECT_COUNTER(slot_counter);

    owner_word_t owner_word;
    bit<32> epochs_ahead;
    bit<16> age;

    action write_entry(bit<8> count) {
        slot_count.write(meta.entry, count);
        slot_workers.write(meta.entry, meta.workers);
        slot_state.write(meta.entry, meta.state);
        slot_touched.write(meta.entry, meta.now);
    }

    action claim_with(bit<8> count) {
        slot_owner.write(meta.entry, OWNER_WORD(hdr));
        slot_round_words.write(meta.entry, hdr.lanesum.racks);
        meta.workers = meta.worker;
        meta.state = meta.own_state;
        write_entry(count);
        meta.step = STEP_STORE;
    }

    action contribute_with(bit<8> count) {
        meta.workers = meta.workers | meta.worker;
        meta.state = meta.state | meta.own_state;
        write_entry(count);
        meta.step = STEP_COMBINE;
    }

    action claim() { claim_with(1); meta.verdict = VERDICT_DROP; }
    action claim_and_complete(verdict_t verdict) { claim_with(COUNT_DONE); meta.verdict = verdict; }
    action contribute() { contribute_with(meta.count + 1); meta.verdict = VERDICT_DROP; }
    action contribute_and_complete(verdict_t verdict) { contribute_with(COUNT_DONE); meta.verdict = verdict; }

    action replay() {
        meta.state = meta.state | meta.own_state;
        meta.step = STEP_READ;
        meta.verdict = VERDICT_REPLAY;
    }

    action ascend_again() {
        meta.state = meta.state | meta.own_state;
        meta.step = STEP_READ;
        meta.verdict = VERDICT_ASCEND;
    }

    action report_pending() { meta.verdict = VERDICT_PENDING; }
    action report_conflict() { meta.verdict = VERDICT_CONFLICT; }
    // Another job holds the entry: the server sums the contribution, and the flag tells the workers why (INV-4).
    action collide() { ADD_FLAG(FLAG_COLLISION); meta.verdict = VERDICT_ROUTE; }
    // The server has the decision about the chunk.
    action pass_late() { meta.verdict = VERDICT_ROUTE; }
    action drop_late() { meta.verdict = VERDICT_DROP; }

    table slot {
        key = {
            meta.order: ternary;
            meta.progress: ternary;
            meta.role: ternary;
        }
        actions = {
            claim; claim_and_complete; contribute; contribute_and_complete; replay; ascend_again; report_pending;
            report_conflict; collide; pass_late; drop_late;
        }
        const default_action = drop_late();
        counters = slot_counter;
        const entries = {
            SLOT_ENTRIES()
            (ORDER_FOREIGN, _, _): collide();
        }
    }

    apply {
        slot_owner.read(owner_word, meta.entry);
        slot_round_words.read(meta.round_words, meta.entry);
        slot_workers.read(meta.workers, meta.entry);
        slot_count.read(meta.count, meta.entry);
        slot_state.read(meta.state, meta.entry);
        slot_touched.read(meta.touched, meta.entry);
        SET_OWNER(meta.owner, owner_word);
        meta.now = (bit<16>) (standard_metadata.ingress_global_timestamp >> 10);
        // 16 bits wrap after 67 seconds: an abandoned entry then looks recent again, for one lease.
        age = meta.now - meta.touched;
        meta.own_state = hdr.lanesum.flags & (FLAG_ECN | FLAG_COLLISION | FLAG_RETRANSMISSION);
        if (hdr.ipv4.ecn == ECN_CONGESTION_EXPERIENCED) {
            meta.own_state = meta.own_state | FLAG_ECN;
        }

        epochs_ahead = hdr.lanesum.epoch - meta.owner.epoch;
        if (meta.owner.valid == 0) {
            meta.order = ORDER_NEWER;
        } else if (meta.owner.job != hdr.lanesum.job || meta.owner.tag != hdr.lanesum.tag) {
            if (meta.role & ROLE_SHARED != 0 && meta.count != COUNT_DONE && age <= meta.lease) {
                meta.order = ORDER_FOREIGN;
            } else {
                meta.order = ORDER_NEWER;
            }
        } else if (epochs_ahead >= HALF_OF_EPOCHS) {
            meta.order = ORDER_OLDER;
        } else if (epochs_ahead != 0 || hdr.lanesum.chunk > meta.owner.chunk) {
            meta.order = ORDER_NEWER;
        } else if (hdr.lanesum.chunk < meta.owner.chunk) {
            meta.order = ORDER_OLDER;
        } else if (hdr.lanesum.op != meta.owner.op || hdr.lanesum.racks != meta.round_words) {
            meta.order = ORDER_CONFLICT;
        } else if (meta.workers & meta.worker != 0) {
            meta.order = ORDER_DUPLICATE;
        } else {
            meta.order = ORDER_SAME;
        }
        if (meta.order == ORDER_NEWER) {
            meta.count = 0;
        }
        if (meta.count == COUNT_DONE) {
            meta.progress = PROGRESS_DONE;
        } else if (meta.count + 1 >= meta.fan_in) {
            meta.progress = PROGRESS_LAST;
        } else {
            meta.progress = PROGRESS_OPEN;
        }
        slot.apply();
    }
}
