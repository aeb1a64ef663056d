// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slots: find who owns the entry and who has contributed (INV-1), and decide by table slot. The decisions themselves
// are in ../shared/slots.p4.
//
// A register is read and written once, in one operation of a stateful ALU, which makes two comparisons and returns one
// word; a later stage can use that word. State that several ALUs need is therefore kept in each of them, and all update
// their copy by the same rule, so that the copies stay equal:
//
//   stage 1  owner, owner_reached: job and tag, epoch. Is the epoch newer? Is it at least as new?
//   stage 2  chunk; copies of it in seen and shape. Newer, the same or older? Which workers? Another shape of round?
//   stage 3  count; copies of it in workers and state. Complete with this packet, or before it?
//   stage 4  the lanes, with order and progress known.
//
// 'seen' notes every worker with a packet of the chunk, before it is known whether the contribution counts; 'workers'
// notes those in the sum. They differ only by workers that were refused for a conflict, or came after the entry was
// complete.

#include "../shared/slots.p4"

// Index of the entry in a register: the shadow set above the slot's number.
typedef bit<(SLOT_BITS + 1)> entry_t;
#define SHADOW_OF(entry) entry[15:15]
#define ENTRY (SHADOW_OF(meta.entry) ++ meta.entry[SLOT_BITS - 1:0])

// Nanoseconds to ticks of 65,536 ns.
#define TICKS(time) time[47:16]
#define PIPE_OF(port) port[8:7]

#define EPOCH_NEWER ((int<32>) (hdr.lanesum.epoch - value.hi)) > 0
#define EPOCH_REACHED ((int<32>) (hdr.lanesum.epoch - value.hi)) >= 0

#if PASSES > 1
#define READ_ACTION(read) read;
#define ACCESS_READS(read) (ARRIVAL_ANSWER, _, _, _, _, _, _, _): read();
#define EPOCH_READS(read) (ACCESS_READ, 0, 1): read();
#define CHUNK_READS(none) (ACCESS_READ, _, _, _, _, _, _): none();
#else
#define READ_ACTION(read)
#define ACCESS_READS(read)
#define EPOCH_READS(read)
#define CHUNK_READS(none)
#endif

#define EPOCH_KEY meta.access: ternary; meta.epoch_moved: ternary; meta.epoch_reached: ternary;
#define EPOCH_ENTRIES(first, next, read) \
    EPOCH_READS(read) \
    (ACCESS_ANY, 1, _): first(); \
    (ACCESS_OWN, 1, 1): first(); \
    (ACCESS_ANY, 0, 1): next(); \
    (ACCESS_OWN, 0, 1): next();

// Entries of one chunk register. A register lies in one half of Tofino 2's memories: next to 'seen' and 'shape', of 17
// memories each, two registers of 5 memories fit, but one of 9 does not.
#if __TARGET_TOFINO__ == 2 && SLOTS > 4096
typedef bit<SLOT_BITS> chunk_entry_t;
const bit<32> CHUNK_ENTRIES_PER_REGISTER = SLOTS;
#define CHUNK_ENTRY meta.entry[SLOT_BITS - 1:0]
#define CHUNK_REGISTERS Chunk() chunk; Chunk() chunk_of_shadow;
#define CHUNK_APPLY \
    if (SHADOW_OF(meta.entry) == 0) { chunk.apply(hdr, meta); } else { chunk_of_shadow.apply(hdr, meta); }
#else
typedef entry_t chunk_entry_t;
const bit<32> CHUNK_ENTRIES_PER_REGISTER = ENTRIES;
#define CHUNK_ENTRY ENTRY
#define CHUNK_REGISTERS Chunk() chunk;
#define CHUNK_APPLY chunk.apply(hdr, meta);
#endif

control Chunk(in ingress_headers_t hdr, inout ingress_metadata_t meta) {
    Register<bit<32>, chunk_entry_t>(CHUNK_ENTRIES_PER_REGISTER) slot_chunk;

    RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slot_chunk) first_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            value = hdr.lanesum.chunk;
            order = CHUNK_NEWER;
        }
    };
    RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slot_chunk) next_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            order = CHUNK_OLDER;
            if (hdr.lanesum.chunk > value) {
                order = CHUNK_NEWER;
            } else if (hdr.lanesum.chunk == value) {
                order = CHUNK_SAME;
            }
            if (hdr.lanesum.chunk > value) {
                value = hdr.lanesum.chunk;
            }
        }
    };
#if __TARGET_TOFINO__ == 2
    // A value would take two stages more: main.p4 gives the field a container of its own instead.
    action no_order() { }
#else
    // Without a value of its own, the order would be what an earlier field left in its container.
    action no_order() { meta.chunk_order = CHUNK_OLDER; }
#endif
    action do_first_chunk() { meta.chunk_order = first_chunk.execute(CHUNK_ENTRY); }
    action do_next_chunk() { meta.chunk_order = next_chunk.execute(CHUNK_ENTRY); }
#if PASSES > 1
    RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slot_chunk) read_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            order = CHUNK_OLDER;
            if (hdr.lanesum.chunk == value) {
                order = CHUNK_SAME;
            }
        }
    };
    action do_read_chunk() { meta.chunk_order = read_chunk.execute(CHUNK_ENTRY); }
#endif

    @stage(2)
    table chunk {
        key = { EPOCH_KEY }
        actions = { do_first_chunk; do_next_chunk; READ_ACTION(do_read_chunk) no_order; }
        const default_action = no_order();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_chunk, do_next_chunk, do_read_chunk) }
    }

    apply {
        chunk.apply();
    }
}

control Slots(INGRESS_PARAMETERS) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) owner_hash;
    CHUNK_REGISTERS

    // Stage 1.
    Register<two_words_t, entry_t>(ENTRIES) slot_owner;
    Register<two_words_t, entry_t>(ENTRIES) slot_owner_reached;

    // 1 where the packet claims the entry: another owner, or a newer epoch.
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
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner) own_if_mine = {
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
    // 1 where the owner is the packet's job, and its epoch is not newer than the packet's.
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
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner_reached) reach_if_mine = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 0;
            if (value.lo == meta.owner && EPOCH_REACHED) {
                reached = 1;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };

    action nothing() { }
    action do_own() { meta.epoch_moved = own.execute(ENTRY); meta.access = ACCESS_ANY; }
    action do_own_if_mine() { meta.epoch_moved = own_if_mine.execute(ENTRY); meta.access = ACCESS_OWN; }
    action do_reach() { meta.epoch_reached = reach.execute(ENTRY); }
    action do_reach_if_mine() { meta.epoch_reached = reach_if_mine.execute(ENTRY); }
#if PASSES > 1
    // The last pass of an answer reads the entry, and changes nothing.
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner) read_owner = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 0;
            if (value.lo != meta.owner || EPOCH_NEWER) {
                moved = 1;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_owner_reached) read_owner_reached = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 0;
            if (value.lo == meta.owner && EPOCH_REACHED) {
                reached = 1;
            }
        }
    };
    action do_read_owner() { meta.epoch_moved = read_owner.execute(ENTRY); meta.access = ACCESS_READ; }
    action do_read_owner_reached() { meta.epoch_reached = read_owner_reached.execute(ENTRY); }
#endif

    // 'slots_left' tells whether the slot is within the job's range, see membership.p4.
#define ACCESS_KEY \
    meta.arrival: ternary; meta.addressee: ternary; meta.member: ternary; meta.slots_left: ternary; \
    hdr.lanesum.shadow: ternary; meta.allowed: ternary; meta.role: ternary; meta.takeover: ternary;
#define ACCESS_ENTRIES(any, own, read) \
    ACCESS_READS(read) \
    (ARRIVAL_CONTRIBUTION, _, 1, 0, _, _, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, _, 1, SHADOW_BIT, 1, _, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, _, 1, _, _, 0, _, _): nothing(); \
    (ARRIVAL_CONTRIBUTION, ADDRESSEE_SWITCH, 1, 0 &&& SHADOW_BIT, 0, _, HAS(ROLE_SHARED), 0): own(); \
    (ARRIVAL_CONTRIBUTION, ADDRESSEE_SWITCH, 1, HAS(SHADOW_BIT), 1, _, HAS(ROLE_SHARED), 0): own(); \
    (ARRIVAL_CONTRIBUTION, ADDRESSEE_SWITCH, 1, 0 &&& SHADOW_BIT, 0, _, _, _): any(); \
    (ARRIVAL_CONTRIBUTION, ADDRESSEE_SWITCH, 1, HAS(SHADOW_BIT), 1, _, _, _): any();

    @stage(1)
    table owner {
        key = { ACCESS_KEY }
        actions = { do_own; do_own_if_mine; READ_ACTION(do_read_owner) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { ACCESS_ENTRIES(do_own, do_own_if_mine, do_read_owner) }
    }

    @stage(1)
    table owner_reached {
        key = { ACCESS_KEY }
        actions = { do_reach; do_reach_if_mine; READ_ACTION(do_read_owner_reached) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { ACCESS_ENTRIES(do_reach, do_reach_if_mine, do_read_owner_reached) }
    }

    // Stage 2. (moved, reached) is (1, _) for a newer epoch, (0, 1) for the same one, (0, 0) for an older one. With
    // ACCESS_OWN, (1, 0) is an entry of another job.
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
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_seen) read_seen = {
        void apply(inout two_words_t value, out bit<32> seen) { seen = value.lo; }
    };
    RegisterAction<two_words_t, entry_t, bit<1>>(slot_shape) read_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            differs = 0;
            if (value.lo != meta.shape) {
                differs = 1;
            }
        }
    };
    action do_read_seen() { meta.seen = read_seen.execute(ENTRY); }
    action do_read_shape() { meta.shape_differs = read_shape.execute(ENTRY); }
#endif

    @stage(2)
    table seen {
        key = { EPOCH_KEY }
        actions = { do_first_seen; do_next_seen; READ_ACTION(do_read_seen) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_seen, do_next_seen, do_read_seen) }
    }

    @stage(2)
    table shape {
        key = { EPOCH_KEY }
        actions = { do_first_shape; do_next_shape; READ_ACTION(do_read_shape) nothing; }
        const default_action = nothing();
        size = 8;
        const entries = { EPOCH_ENTRIES(do_first_shape, do_next_shape, do_read_shape) }
    }

    // Stage 3. A negative count marks a complete entry. A mark of its own, because the fan-in may change after
    // completion. The mark is tested by its sign: an ALU extends signs in ordered comparisons only, so that no count is
    // equal to -1.
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
            if ((int<16>) value < 0) {
                progress = PROGRESS_DONE;
            } else if (value + 1 >= meta.fan_in) {
                progress = PROGRESS_LAST;
                value = 0xFFFF;
            } else {
                value = value + 1;
            }
        }
    };
    RegisterAction<bit<16>, entry_t, progress_t>(slot_count) read_count = {
        void apply(inout bit<16> value, out progress_t progress) {
            progress = PROGRESS_OPEN;
            if ((int<16>) value < 0) {
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
            if ((int<32>) value.hi >= 0) {
                value.lo = value.lo | meta.worker;
            }
            workers = value.lo;
            if ((int<32>) value.hi >= 0 && value.hi + 1 >= (bit<32>) meta.fan_in) {
                value.hi = 0xFFFFFFFF;
            } else if ((int<32>) value.hi >= 0) {
                value.hi = value.hi + 1;
            }
        }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_workers) read_workers = {
        void apply(inout two_words_t value, out bit<32> workers) { workers = value.lo; }
    };

    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) first_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            value.lo = meta.own_state;
            state = value.lo;
            if ((bit<8>) meta.fan_in == 1) {
                value.hi = 0xFF;
            } else {
                value.hi = 1;
            }
        }
    };
    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) next_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            if ((int<8>) value.hi >= 0) {
                value.lo = value.lo | meta.own_state;
            }
            state = value.lo;
            if ((int<8>) value.hi >= 0 && value.hi + 1 >= (bit<8>) meta.fan_in) {
                value.hi = 0xFF;
            } else if ((int<8>) value.hi >= 0) {
                value.hi = value.hi + 1;
            }
        }
    };
    RegisterAction<two_bytes_t, entry_t, bit<8>>(slot_state) read_state = {
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
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) read_shape_record = {
        void apply(inout two_words_t value, out bit<32> recalled) { recalled = value.lo; }
    };
    RegisterAction<two_words_t, entry_t, bit<32>>(slot_record) read_time_record = {
        void apply(inout two_words_t value, out bit<32> recalled) { recalled = value.hi; }
    };

    action do_count_first() { meta.progress = count_first.execute(ENTRY); meta.order = ORDER_NEWER; }
    action do_count_next() { meta.progress = count_next.execute(ENTRY); meta.order = ORDER_SAME; }
    action do_read_count_seen() { meta.progress = read_count.execute(ENTRY); meta.order = ORDER_DUPLICATE; }
    action do_read_count_foreign() { meta.progress = read_count.execute(ENTRY); meta.order = ORDER_FOREIGN; }
    action set_conflict() { meta.order = ORDER_CONFLICT; }
    action set_older() { meta.order = ORDER_OLDER; }
#if PASSES > 1 || __TARGET_TOFINO__ == 2
    // The parser gives later passes their order. On Tofino 2 the field has a container of its own.
    action no_entry() { }
#else
    // Without a value of its own, the order would be what an earlier field left in its container.
    action no_entry() { meta.order = ORDER_OLDER; }
#endif
    action do_first_worker() { meta.workers = first_worker.execute(ENTRY); }
    action do_next_worker() { meta.workers = next_worker.execute(ENTRY); }
    action do_read_workers() { meta.workers = read_workers.execute(ENTRY); }
    action do_first_state() { meta.state = first_state.execute(ENTRY); }
    action do_next_state() { meta.state = next_state.execute(ENTRY); }
    action do_read_state() { meta.state = read_state.execute(ENTRY); }
    action do_first_record() { first_record.execute(ENTRY); }
    action do_touch_record() { touch_record.execute(ENTRY); }
    action do_read_shape_record() { meta.record = read_shape_record.execute(ENTRY); }
    action do_read_time_record() { meta.record = read_time_record.execute(ENTRY); }

    // An ALU cannot test whether a bit is in a bitmap; a table of 32 entries can.
#define CHUNK_KEY \
    meta.access: ternary; meta.epoch_moved: ternary; meta.epoch_reached: ternary; meta.chunk_order: ternary; \
    meta.shape_differs: ternary; meta.seen: ternary; meta.worker: ternary;
#define SEEN_ENTRY(i, again) (_, _, _, CHUNK_SAME, 0, (1 << i) &&& (1 << i), (1 << i) &&& (1 << i)): again();
#define SEEN_EIGHT(i, again) \
    SEEN_ENTRY(i, again) SEEN_ENTRY(i + 1, again) SEEN_ENTRY(i + 2, again) SEEN_ENTRY(i + 3, again) \
    SEEN_ENTRY(i + 4, again) SEEN_ENTRY(i + 5, again) SEEN_ENTRY(i + 6, again) SEEN_ENTRY(i + 7, again)
#define CHUNK_ENTRIES(none, first, next, again, conflict, foreign, older) \
    (ACCESS_NONE, _, _, _, _, _, _): none(); \
    (_, _, _, CHUNK_NEWER, _, _, _): first(); \
    (ACCESS_OWN, 1, 0, _, _, _, _): foreign(); \
    (_, _, _, CHUNK_SAME, 1, _, _): conflict(); \
    SEEN_EIGHT(0, again) SEEN_EIGHT(8, again) SEEN_EIGHT(16, again) SEEN_EIGHT(24, again) \
    CHUNK_READS(none) \
    (_, _, _, CHUNK_SAME, 0, _, _): next(); \
    (_, _, _, _, _, _, _): older();

    @stage(3)
    table count {
        key = { CHUNK_KEY }
        actions = {
            do_count_first; do_count_next; do_read_count_seen; do_read_count_foreign; set_conflict; set_older;
            no_entry;
        }
        const default_action = no_entry();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(no_entry, do_count_first, do_count_next, do_read_count_seen, set_conflict,
                          do_read_count_foreign, set_older)
        }
    }

    @stage(3)
    table workers {
        key = { CHUNK_KEY }
        actions = { do_first_worker; do_next_worker; do_read_workers; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(nothing, do_first_worker, do_next_worker, do_read_workers, nothing, nothing, nothing)
        }
    }

    @stage(3)
    table state {
        key = { CHUNK_KEY }
        actions = { do_first_state; do_next_state; do_read_state; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(nothing, do_first_state, do_next_state, do_read_state, nothing, nothing, nothing)
        }
    }

    @stage(3)
    table record {
        key = { CHUNK_KEY }
        actions = { do_first_record; do_touch_record; do_read_shape_record; do_read_time_record; nothing; }
        const default_action = nothing();
        size = 64;
        const entries = {
            CHUNK_ENTRIES(nothing, do_first_record, do_touch_record, nothing, do_read_shape_record,
                          do_read_time_record, nothing)
        }
    }

    // Shape of the round. The actions differ in their names only, which are those of BMv2's program: the controller
    // reads from the names which operations the program sums.
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
            OP_EXPAND8: expand8((bit<32>) OP_EXPAND8 << SHAPE_OPERATION_SHIFT);
            OP_ADD8X4: add_words((bit<32>) OP_ADD8X4 << SHAPE_OPERATION_SHIFT);
            OP_OR: or_words((bit<32>) OP_OR << SHAPE_OPERATION_SHIFT);
            OP_MAX: max_words((bit<32>) OP_MAX << SHAPE_OPERATION_SHIFT);
            OP_EXPAND16: expand16((bit<32>) OP_EXPAND16 << SHAPE_OPERATION_SHIFT);
            OP_EXPAND8TO16: expand8to16((bit<32>) OP_EXPAND8TO16 << SHAPE_OPERATION_SHIFT);
        }
    }

    // The entry keeps the flags of its contributions for the answer.
    action met_congestion() { meta.own_state = meta.own_state | FLAG_ECN; }

    DIRECT_COUNTER(slot_counter);

    action claim() { meta.verdict = VERDICT_TAKEN; COUNT(slot_counter); }
    action claim_and_complete(verdict_t verdict) { meta.verdict = verdict; COUNT(slot_counter); }
    action contribute() { meta.verdict = VERDICT_TAKEN; COUNT(slot_counter); }
    action contribute_and_complete(verdict_t verdict) { meta.verdict = verdict; COUNT(slot_counter); }
    action replay() { meta.verdict = VERDICT_REPLAY; meta.state = meta.state | meta.own_state; COUNT(slot_counter); }
    action ascend_again() {
        meta.verdict = VERDICT_ASCEND;
        meta.state = meta.state | meta.own_state;
        COUNT(slot_counter);
    }
    action report_pending() { meta.verdict = VERDICT_PENDING; COUNT(slot_counter); }
    action report_conflict() { meta.verdict = VERDICT_CONFLICT; COUNT(slot_counter); }
    // The entry of another job is complete or abandoned: after one recirculation the packet may claim it.
    action take_over() {
        meta.verdict = VERDICT_TAKE_OVER;
        hdr.bridge.handover = HANDOVER_RECIRCULATE;
        SEND_TO_PORT(meta.recirculation_port);
        COUNT(slot_counter);
    }
    // Another job holds the entry: the server sums the contribution, and the flag tells the workers why (INV-4).
    action collide() {
        meta.verdict = VERDICT_ROUTE;
        hdr.bridge.handover = HANDOVER_COLLIDED;
        COUNT(slot_counter);
    }
    // The server has the decision about the chunk.
    action pass_late() { meta.verdict = VERDICT_ROUTE; COUNT(slot_counter); }
    action drop_late() { meta.verdict = VERDICT_DROP; COUNT(slot_counter); }

#define ANY_LEASE , _, _
    table slot {
        key = {
            meta.order: ternary;
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
            (ORDER_FOREIGN, PROGRESS_DONE, _, _, 1): take_over();
            (ORDER_FOREIGN, _, _, 0, _): collide();
            (ORDER_FOREIGN, _, _, _, 1): take_over();
            (ORDER_FOREIGN, _, _, _, _): collide();
            SLOT_ENTRIES(ANY_LEASE)
        }
    }

    // Recirculation port of each pipe. Without one, the entries of other jobs are not taken over.
    action recirculate_at(port_t port) { meta.may_recirculate = 1; meta.recirculation_port = port; }
    action no_port() { meta.may_recirculate = 0; }

    WAITS_UNTIL(6)
    table recirculation {
        key = { meta.pipe: exact @name("pipe"); }
        actions = { recirculate_at; no_port; }
        const default_action = no_port();
        size = 4;
    }

    // Ticks of 65,536 ns in the register, sixteen times as long in a lease.
    action measure() { meta.age = meta.now - meta.record; }
    action scale() { meta.age = meta.age >> 4; }
    action compare() { meta.overdue = meta.age |-| (bit<32>) meta.lease; }

    apply {
        // No two jobs of a switch have the same owner number: the controller sees to it when it draws tags (INV-3).
        meta.owner = owner_hash.get({hdr.lanesum.job, hdr.lanesum.tag});
        operation.apply();
        meta.now = TICKS(ig_prsr_md.global_tstamp);
        meta.own_state = hdr.lanesum.flags & (FLAG_ECN | FLAG_COLLISION | FLAG_RETRANSMISSION);
        if (hdr.ipv4.ecn == ECN_CONGESTION_EXPERIENCED) {
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
        BEFORE_LAST_PASS recirculation.apply();
        measure();
        scale();
        compare();
        if (meta.verdict == VERDICT_AGGREGATE) {
            slot.apply();
        }
    }
}
