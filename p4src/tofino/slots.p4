// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slots: who owns the entry, who has contributed, and what this packet therefore does.
//
// The same decisions as the BMv2 program's, under the chip's rules: a register is read and written once, in one go, by an
// ALU that makes two comparisons and gives one word; what one register says is known a stage later. So whatever several
// ALUs have to know is kept in each of them, and all keep to the same rule, so that the copies stay the same:
//
//   stage 1  owner, owner_reached: job and tag, epoch. Is the epoch newer? Is it at least as new?
//   stage 2  chunk; seen and shape with copies of it. Newer, the same or older? Who was there? Another shape of round?
//   stage 3  count; workers and state with copies of it. Complete now, or before?
//   stage 4  the lanes know what to do.
//
// 'seen' notes whoever came by, before it is known whether the contribution counts; 'workers' notes those who are in the
// sum. They differ only by workers that were refused for a conflict, or came after an entry was complete.

const bit<32> ENTRIES = SLOTS * 2;

// Place of the entry in a register: the shadow set, then the slot, of which the upper bit is never set.
typedef bit<(SLOT_BITS + 1)> entry_t;
#define ENTRY (meta.entry[15:15] ++ meta.entry[SLOT_BITS - 1:0])

#define EPOCH_NEWER ((int<32>) (hdr.lanesum.epoch - value.hi)) > 0
#define EPOCH_REACHED ((int<32>) (hdr.lanesum.epoch - value.hi)) >= 0

#if PASSES > 1
#define LOOK_ACTION(look) look;
#define ENTRANCE_LOOKS(look) (ARRIVAL_ANSWER, _, _, _, _, _, _): look();
#define EPOCH_LOOKS(look) (ENTRANCE_LOOK, 0, 1): look();
#define CHUNK_LOOKS (ENTRANCE_LOOK, _, _, _, _, _, _): nothing();
#else
#define LOOK_ACTION(look)
#define ENTRANCE_LOOKS(look)
#define EPOCH_LOOKS(look)
#define CHUNK_LOOKS
#endif

#define EPOCH_KEY meta.entrance: ternary; meta.epoch_moved: ternary; meta.epoch_reached: ternary;
#define EPOCH_ENTRIES(first, next, look) \
    EPOCH_LOOKS(look) \
    (ENTRANCE_FREE, 1, _): first(); \
    (ENTRANCE_GUARDED, 1, 1): first(); \
    (ENTRANCE_FREE, 0, 1): next(); \
    (ENTRANCE_GUARDED, 0, 1): next();

// Entries that one chunk register has. Each half of Tofino 2's memories is for itself: next to 'seen' and 'shape', of 17
// memories each, there is room for two registers of 5, but not for one of 9.
#if __TARGET_TOFINO__ == 2 && SLOTS > 4096
typedef bit<SLOT_BITS> chunk_entry_t;
const bit<32> CHUNK_ENTRIES_PER_REGISTER = SLOTS;
#define CHUNK_ENTRY meta.entry[SLOT_BITS - 1:0]
#define CHUNK_REGISTERS Chunk() chunk; Chunk() chunk_of_shadow;
#define CHUNK_APPLY \
    if (meta.entry[15:15] == 0) { chunk.apply(hdr, meta); } else { chunk_of_shadow.apply(hdr, meta); }
#else
typedef entry_t chunk_entry_t;
const bit<32> CHUNK_ENTRIES_PER_REGISTER = ENTRIES;
#define CHUNK_ENTRY ENTRY
#define CHUNK_REGISTERS Chunk() chunk;
#define CHUNK_APPLY chunk.apply(hdr, meta);
#endif

control Chunk(in ingress_headers_t hdr, inout ingress_metadata_t meta) {
    Register<bit<32>, chunk_entry_t>(CHUNK_ENTRIES_PER_REGISTER) slot_chunk;

    RegisterAction<bit<32>, chunk_entry_t, bit<2>>(slot_chunk) first_chunk = {
        void apply(inout bit<32> value, out bit<2> order) {
            value = hdr.lanesum.chunk;
            order = 1;
        }
    };
    // 1 newer, 2 the same.
    RegisterAction<bit<32>, chunk_entry_t, bit<2>>(slot_chunk) next_chunk = {
        void apply(inout bit<32> value, out bit<2> order) {
            order = 0;
            if (hdr.lanesum.chunk > value) {
                order = 1;
            } else if (hdr.lanesum.chunk == value) {
                order = 2;
            }
            if (hdr.lanesum.chunk > value) {
                value = hdr.lanesum.chunk;
            }
        }
    };
    action nothing() { }
    action do_first_chunk() { meta.chunk_order = first_chunk.execute(CHUNK_ENTRY); }
    action do_next_chunk() { meta.chunk_order = next_chunk.execute(CHUNK_ENTRY); }
#if PASSES > 1
    RegisterAction<bit<32>, chunk_entry_t, bit<2>>(slot_chunk) look_at_chunk = {
        void apply(inout bit<32> value, out bit<2> order) {
            order = 0;
            if (hdr.lanesum.chunk == value) {
                order = 2;
            }
        }
    };
    action do_look_at_chunk() { meta.chunk_order = look_at_chunk.execute(CHUNK_ENTRY); }
#endif

    @stage(2)
    table chunk {
        key = { EPOCH_KEY }
        actions = { do_first_chunk; do_next_chunk; LOOK_ACTION(do_look_at_chunk) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_chunk, do_next_chunk, do_look_at_chunk) }
    }

    apply {
        chunk.apply();
    }
}

control Slots(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
              in ingress_intrinsic_metadata_from_parser_t ig_prsr_md) {
    CHUNK_REGISTERS

    // Stage 1.
    Register<two_words_t, entry_t>(ENTRIES) slot_owner;
    Register<two_words_t, entry_t>(ENTRIES) slot_owner_reached;

    // 1 where the packet starts anew: other owner, or newer epoch.
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner) own = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 0;
            if (value.lo != meta.owner || EPOCH_NEWER) {
                moved = 1;
                value.lo = meta.owner;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner) own_guarded = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 0;
            if (value.lo != meta.owner || EPOCH_NEWER) {
                moved = 1;
            }
            if (value.lo == meta.owner && EPOCH_NEWER) {
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    // 1 where the owner is this one, and its epoch not newer.
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner_reached) reach = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 0;
            if (value.lo == meta.owner && EPOCH_REACHED) {
                reached = 1;
            }
            if (value.lo != meta.owner || EPOCH_REACHED) {
                value.lo = meta.owner;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner_reached) reach_guarded = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 0;
            if (value.lo == meta.owner && EPOCH_REACHED) {
                reached = 1;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };

    action nothing() { }
    action do_own() { meta.epoch_moved = own.execute(ENTRY); meta.entrance = ENTRANCE_FREE; }
    action do_own_guarded() { meta.epoch_moved = own_guarded.execute(ENTRY); meta.entrance = ENTRANCE_GUARDED; }
    action do_reach() { meta.epoch_reached = reach.execute(ENTRY); }
    action do_reach_guarded() { meta.epoch_reached = reach_guarded.execute(ENTRY); }
#if PASSES > 1
    // An answer looks once more, and changes nothing.
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner) look_at_owner = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 0;
            if (value.lo != meta.owner || EPOCH_NEWER) {
                moved = 1;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner_reached) look_at_owner_reached = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 0;
            if (value.lo == meta.owner && EPOCH_REACHED) {
                reached = 1;
            }
        }
    };
    action do_look_at_owner() { meta.epoch_moved = look_at_owner.execute(ENTRY); meta.entrance = ENTRANCE_LOOK; }
    action do_look_at_owner_reached() { meta.epoch_reached = look_at_owner_reached.execute(ENTRY); }
#endif

    // 'room' says whether the slot is inside of the job's range, see Membership.
#define ENTRANCE_KEY \
    meta.arrival: ternary; meta.member: ternary; meta.room: ternary; hdr.lanesum.shadow: ternary; \
    meta.allowed: ternary; meta.role: ternary; meta.takeover: ternary;
#define ENTRANCE_ENTRIES(free, guarded, look) \
    ENTRANCE_LOOKS(look) \
    (ARRIVAL_CONTRIBUTION, 1, 0, _, _, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, 1, 0x8000, 1, _, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, 1, _, _, 0, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, 1, 0 &&& 0x8000, 0, _, ROLE_SHARED &&& ROLE_SHARED, 0): guarded(); \
    (ARRIVAL_CONTRIBUTION, 1, 0x8000 &&& 0x8000, 1, _, ROLE_SHARED &&& ROLE_SHARED, 0): guarded(); \
    (ARRIVAL_CONTRIBUTION, 1, 0 &&& 0x8000, 0, _, _, _): free(); \
    (ARRIVAL_CONTRIBUTION, 1, 0x8000 &&& 0x8000, 1, _, _, _): free();

    @stage(1)
    table owner {
        key = { ENTRANCE_KEY }
        actions = { do_own; do_own_guarded; LOOK_ACTION(do_look_at_owner) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { ENTRANCE_ENTRIES(do_own, do_own_guarded, do_look_at_owner) }
    }

    @stage(1)
    table owner_reached {
        key = { ENTRANCE_KEY }
        actions = { do_reach; do_reach_guarded; LOOK_ACTION(do_look_at_owner_reached) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { ENTRANCE_ENTRIES(do_reach, do_reach_guarded, do_look_at_owner_reached) }
    }

    // Stage 2. Of (moved, reached): (1, _) newer, (0, 1) same, (0, 0) older; where entries are guarded (1, 0) is another
    // job's.
    Register<two_words_t, entry_t>(ENTRIES) slot_seen;
    Register<two_words_t, entry_t>(ENTRIES) slot_shape;

    RegisterAction<two_words_t, entry_t, bit<32>>(slot_seen) first_seen = {
        void apply(inout two_words_t value, out bit<32> seen) {
            value.lo = meta.worker;
            value.hi = hdr.lanesum.chunk;
            seen = 0;
        }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_seen) next_seen = {
        void apply(inout two_words_t value, out bit<32> seen) {
            seen = value.lo;
            if (hdr.lanesum.chunk == value.hi) {
                value.lo = value.lo | meta.worker;
            }
            if (hdr.lanesum.chunk > value.hi) {
                value.lo = meta.worker;
                value.hi = hdr.lanesum.chunk;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_shape) first_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            value.lo = meta.shape;
            value.hi = hdr.lanesum.chunk;
            differs = 0;
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_shape) next_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            differs = 0;
            if (hdr.lanesum.chunk <= value.hi && value.lo != meta.shape) {
                differs = 1;
            }
            if (hdr.lanesum.chunk > value.hi) {
                value.lo = meta.shape;
                value.hi = hdr.lanesum.chunk;
            }
        }
    };

    action do_first_seen() { first_seen.execute(ENTRY); }
    action do_next_seen() { meta.seen = next_seen.execute(ENTRY); }
    action do_first_shape() { first_shape.execute(ENTRY); }
    action do_next_shape() { meta.shape_differs = next_shape.execute(ENTRY); }
#if PASSES > 1
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_seen) look_at_seen = {
        void apply(inout two_words_t value, out bit<32> seen) { seen = value.lo; }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_shape) look_at_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            differs = 0;
            if (value.lo != meta.shape) {
                differs = 1;
            }
        }
    };
    action do_look_at_seen() { meta.seen = look_at_seen.execute(ENTRY); }
    action do_look_at_shape() { meta.shape_differs = look_at_shape.execute(ENTRY); }
#endif

    @stage(2)
    table seen {
        key = { EPOCH_KEY }
        actions = { do_first_seen; do_next_seen; LOOK_ACTION(do_look_at_seen) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_seen, do_next_seen, do_look_at_seen) }
    }

    @stage(2)
    table shape {
        key = { EPOCH_KEY }
        actions = { do_first_shape; do_next_shape; LOOK_ACTION(do_look_at_shape) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_shape, do_next_shape, do_look_at_shape) }
    }

    // Stage 3. A count of -1 says that the entry is complete: by a mark of its own, because the fan-in may change later.
    Register<bit<16>, entry_t>(ENTRIES) slot_count;
    Register<two_words_t, entry_t>(ENTRIES) slot_workers;
    Register<two_bytes_t, entry_t>(ENTRIES) slot_state;
    Register<two_words_t, entry_t>(ENTRIES) slot_record;

    RegisterAction<bit<16>, entry_t, progress_t>(slot_count) count_first = {
        void apply(inout bit<16> value, out progress_t progress) {
            if (meta.fan_in == 1) {
                value = 0xFFFF;
                progress = PROGRESS_LAST;
            } else {
                value = 1;
                progress = PROGRESS_OPEN;
            }
        }
    };
    RegisterAction<bit<16>, entry_t, progress_t>(slot_count) count_next = {
        void apply(inout bit<16> value, out progress_t progress) {
            progress = PROGRESS_OPEN;
            if ((int<16>) value == -1) {
                progress = PROGRESS_DONE;
            } else if (value + 1 >= meta.fan_in) {
                progress = PROGRESS_LAST;
                value = 0xFFFF;
            } else {
                value = value + 1;
            }
        }
    };
    RegisterAction<bit<16>, entry_t, progress_t>(slot_count) look_at_count = {
        void apply(inout bit<16> value, out progress_t progress) {
            progress = PROGRESS_OPEN;
            if ((int<16>) value == -1) {
                progress = PROGRESS_DONE;
            }
        }
    };

    RegisterAction<two_words_t, entry_t, bit<32>>(slot_workers) first_worker = {
        void apply(inout two_words_t value, out bit<32> workers) {
            value.lo = meta.worker;
            workers = value.lo;
            if ((bit<32>) meta.fan_in == 1) {
                value.hi = 0xFFFFFFFF;
            } else {
                value.hi = 1;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_workers) next_worker = {
        void apply(inout two_words_t value, out bit<32> workers) {
            if ((int<32>) value.hi != -1) {
                value.lo = value.lo | meta.worker;
            }
            workers = value.lo;
            if ((int<32>) value.hi != -1 && value.hi + 1 >= (bit<32>) meta.fan_in) {
                value.hi = 0xFFFFFFFF;
            } else if ((int<32>) value.hi != -1) {
                value.hi = value.hi + 1;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_workers) look_at_workers = {
        void apply(inout two_words_t value, out bit<32> workers) { workers = value.lo; }
    };

    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) first_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            value.lo = meta.own_state;
            state = value.lo;
            if (meta.fan_in[7:0] == 1) {
                value.hi = 0xFF;
            } else {
                value.hi = 1;
            }
        }
    };
    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) next_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            if ((int<8>) value.hi != -1) {
                value.lo = value.lo | meta.own_state;
            }
            state = value.lo;
            if ((int<8>) value.hi != -1 && value.hi + 1 >= meta.fan_in[7:0]) {
                value.hi = 0xFF;
            } else if ((int<8>) value.hi != -1) {
                value.hi = value.hi + 1;
            }
        }
    };
    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) look_at_state = {
        void apply(inout two_bytes_t value, out bit<8> state) { state = value.lo; }
    };

    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) first_record = {
        void apply(inout two_words_t value) {
            value.lo = meta.shape;
            value.hi = meta.now;
        }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) touch_record = {
        void apply(inout two_words_t value) { value.hi = meta.now; }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) recall_shape = {
        void apply(inout two_words_t value, out bit<32> recalled) { recalled = value.lo; }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) recall_time = {
        void apply(inout two_words_t value, out bit<32> recalled) { recalled = value.hi; }
    };

    action do_count_first() { meta.progress = count_first.execute(ENTRY); meta.standing = STANDING_NEW; }
    action do_count_next() { meta.progress = count_next.execute(ENTRY); meta.standing = STANDING_ADDED; }
    action do_look_seen() { meta.progress = look_at_count.execute(ENTRY); meta.standing = STANDING_SEEN; }
    action do_look_foreign() { meta.progress = look_at_count.execute(ENTRY); meta.standing = STANDING_FOREIGN; }
    action stand_in_conflict() { meta.standing = STANDING_CONFLICT; }
    action stand_behind() { meta.standing = STANDING_OLDER; }
    action do_first_worker() { meta.workers = first_worker.execute(ENTRY); }
    action do_next_worker() { meta.workers = next_worker.execute(ENTRY); }
    action do_look_workers() { meta.workers = look_at_workers.execute(ENTRY); }
    action do_first_state() { meta.state = first_state.execute(ENTRY); }
    action do_next_state() { meta.state = next_state.execute(ENTRY); }
    action do_look_state() { meta.state = look_at_state.execute(ENTRY); }
    action do_first_record() { first_record.execute(ENTRY); }
    action do_touch_record() { touch_record.execute(ENTRY); }
    action do_recall_shape() { meta.recalled = recall_shape.execute(ENTRY); }
    action do_recall_time() { meta.recalled = recall_time.execute(ENTRY); }

    // An ALU cannot say whether one bit is in a bitmap; a table of 32 entries can.
#define CHUNK_KEY \
    meta.entrance: ternary; meta.epoch_moved: ternary; meta.epoch_reached: ternary; meta.chunk_order: ternary; \
    meta.shape_differs: ternary; meta.seen: ternary; meta.worker: ternary;
#define SEEN_ENTRY(i, again) (_, _, _, 2, 0, (1 << i) &&& (1 << i), (1 << i) &&& (1 << i)): again();
#define SEEN_EIGHT(i, again) \
    SEEN_ENTRY(i, again) SEEN_ENTRY(i + 1, again) SEEN_ENTRY(i + 2, again) SEEN_ENTRY(i + 3, again) \
    SEEN_ENTRY(i + 4, again) SEEN_ENTRY(i + 5, again) SEEN_ENTRY(i + 6, again) SEEN_ENTRY(i + 7, again)
#define CHUNK_ENTRIES(first, next, again, conflict, foreign, older) \
    (ENTRANCE_NONE, _, _, _, _, _, _): nothing(); \
    (_, _, _, 1, _, _, _): first(); \
    (ENTRANCE_GUARDED, 1, 0, _, _, _, _): foreign(); \
    (_, _, _, 2, 1, _, _): conflict(); \
    SEEN_EIGHT(0, again) SEEN_EIGHT(8, again) SEEN_EIGHT(16, again) SEEN_EIGHT(24, again) \
    CHUNK_LOOKS \
    (_, _, _, 2, 0, _, _): next(); \
    (_, _, _, _, _, _, _): older();

    @stage(3)
    table count {
        key = { CHUNK_KEY }
        actions = {
            do_count_first; do_count_next; do_look_seen; do_look_foreign; stand_in_conflict; stand_behind; nothing;
        }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(do_count_first, do_count_next, do_look_seen, stand_in_conflict, do_look_foreign, stand_behind)
        }
    }

    @stage(3)
    table workers {
        key = { CHUNK_KEY }
        actions = { do_first_worker; do_next_worker; do_look_workers; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(do_first_worker, do_next_worker, do_look_workers, nothing, nothing, nothing)
        }
    }

    @stage(3)
    table state {
        key = { CHUNK_KEY }
        actions = { do_first_state; do_next_state; do_look_state; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = { CHUNK_ENTRIES(do_first_state, do_next_state, do_look_state, nothing, nothing, nothing) }
    }

    @stage(3)
    table record {
        key = { CHUNK_KEY }
        actions = { do_first_record; do_touch_record; do_recall_shape; do_recall_time; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(do_first_record, do_touch_record, nothing, do_recall_shape, do_recall_time, nothing)
        }
    }

    // The operation beside the size of the round: a number that is the same only where both are. The actions differ by
    // their names alone, which are BMv2's: by these the controller knows what is summed here.
#define NOTE_OPERATION(name) action name(bit<32> operation) { meta.shape = hdr.lanesum.racks | operation; }
    NOTE_OPERATION(add_words)
    NOTE_OPERATION(or_words)
    NOTE_OPERATION(max_words)
    NOTE_OPERATION(expand8)
    NOTE_OPERATION(expand16)
    NOTE_OPERATION(expand8to16)

    @stage(0)
    table operation {
        key = { hdr.lanesum.op: exact; }
        actions = { add_words; or_words; max_words; expand8; expand16; expand8to16; }
        const default_action = add_words(0);
        size = 8;
        const entries = {
            OP_EXPAND8: expand8((bit<32>) OP_EXPAND8 << 28);
            OP_ADD8X4: add_words((bit<32>) OP_ADD8X4 << 28);
            OP_OR: or_words((bit<32>) OP_OR << 28);
            OP_MAX: max_words((bit<32>) OP_MAX << 28);
            OP_EXPAND16: expand16((bit<32>) OP_EXPAND16 << 28);
            OP_EXPAND8TO16: expand8to16((bit<32>) OP_EXPAND8TO16 << 28);
        }
    }

    // What the entry is to remember of this packet, as the flags of its answer.
    action met_congestion() { meta.own_state = meta.own_state | FLAG_ECN; }

    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) slot_counter;

    action claim() { meta.verdict = VERDICT_TAKEN; slot_counter.count(); }
    action claim_and_complete(verdict_t verdict) { meta.verdict = verdict; slot_counter.count(); }
    action contribute() { meta.verdict = VERDICT_TAKEN; slot_counter.count(); }
    action contribute_and_complete(verdict_t verdict) { meta.verdict = verdict; slot_counter.count(); }
    action replay() { meta.verdict = VERDICT_REPLAY; meta.state = meta.state | meta.own_state; slot_counter.count(); }
    action ascend_again() {
        meta.verdict = VERDICT_ASCEND;
        meta.state = meta.state | meta.own_state;
        slot_counter.count();
    }
    action report_pending() { meta.verdict = VERDICT_PENDING; slot_counter.count(); }
    action report_conflict() { meta.verdict = VERDICT_CONFLICT; slot_counter.count(); }
    // Another job's entry, but finished or abandoned: once around, and it is taken.
    action take_over() { meta.verdict = VERDICT_TAKE_OVER; slot_counter.count(); }
    action collide() {
        meta.verdict = VERDICT_ROUTE;
        hdr.bridge.handover = HANDOVER_COLLIDED;
        slot_counter.count();
    }
    action pass_late() { meta.verdict = VERDICT_ROUTE; slot_counter.count(); }
    action drop_late() { meta.verdict = VERDICT_DROP; slot_counter.count(); }

    table slot {
        key = {
            meta.standing: ternary;
            meta.progress: ternary;
            meta.role: ternary;
            meta.overdue: ternary;
            meta.may_recirculate: ternary;
        }
        actions = {
            claim; claim_and_complete; contribute; contribute_and_complete; replay; ascend_again; report_pending;
            report_conflict; take_over; collide; pass_late; drop_late;
        }
        const default_action = drop_late();
        counters = slot_counter;
        size = 32;
        const entries = {
            (STANDING_NEW, PROGRESS_OPEN, _, _, _): claim();
            (STANDING_NEW, _, ROLE_ASCEND &&& ROLE_ASCEND, _, _): claim_and_complete(VERDICT_ASCEND);
            (STANDING_NEW, _, _, _, _): claim_and_complete(VERDICT_RESULT);
            (STANDING_FOREIGN, PROGRESS_DONE, _, _, 1): take_over();
            (STANDING_FOREIGN, _, _, 0, _): collide();
            (STANDING_FOREIGN, _, _, _, 1): take_over();
            (STANDING_FOREIGN, _, _, _, _): collide();
            (STANDING_OLDER, _, ROLE_QUORUM &&& ROLE_QUORUM, _, _): pass_late();
            (STANDING_OLDER, _, _, _, _): drop_late();
            (STANDING_CONFLICT, _, _, _, _): report_conflict();
            (STANDING_ADDED, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND, _, _): pass_late();
            (STANDING_ADDED, PROGRESS_DONE, _, _, _): replay();
            (STANDING_SEEN, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND, _, _): ascend_again();
            (STANDING_SEEN, PROGRESS_DONE, _, _, _): replay();
            (STANDING_SEEN, _, _, _, _): report_pending();
            (STANDING_ADDED, PROGRESS_OPEN, _, _, _): contribute();
            (STANDING_ADDED, _, ROLE_ASCEND &&& ROLE_ASCEND, _, _): contribute_and_complete(VERDICT_ASCEND);
            (STANDING_ADDED, _, _, _, _): contribute_and_complete(VERDICT_RESULT);
        }
    }

    // Where packets of a pipe turn around; a pipe without such a port leaves foreign entries alone.
    action turn_around(PortId_t port) { meta.may_recirculate = 1; meta.turning_port = port; }
    action stay() { meta.may_recirculate = 0; }

    WAITS_UNTIL(6)
    table recirculation {
        key = { hdr.bridge.ingress_port[8:7]: exact @name("pipe"); }
        actions = { turn_around; stay; }
        const default_action = stay();
        size = 4;
    }

    // Ticks of 65,536 ns in the register, of sixteen times as much in a lease.
    action measure() { meta.age = meta.now - meta.recalled; }
    action scale() { meta.age = meta.age >> 4; }
    action compare() { meta.overdue = meta.age |-| (bit<32>) meta.lease; }

    apply {
        operation.apply();
        meta.now = ig_prsr_md.global_tstamp[47:16];
        meta.own_state = hdr.lanesum.flags & (FLAG_ECN | FLAG_COLLISION);
        if (hdr.ipv4.ecn == IP_ECN_CONGESTED) {
            met_congestion();
        }
        owner.apply();
        owner_reached.apply();
        CHUNK_APPLY
        seen.apply();
        shape.apply();
        workers.apply();
        state.apply();
        record.apply();
        count.apply();
        recirculation.apply();
        measure();
        scale();
        compare();
        if (meta.verdict == VERDICT_AGGREGATE) {
            slot.apply();
        }
    }
}
