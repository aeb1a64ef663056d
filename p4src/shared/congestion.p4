// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Congestion: mark packets that leave by a port with a long queue (ECN, RFC 3168). Empty tables mark nothing.

control Congestion(EGRESS_PARAMETERS) {
    DIRECT_COUNTER(congestion_counter);
    DIRECT_COUNTER(mark_counter);

    // BMv2 counts packets in the queue, Tofino cells of its buffer.
    action mark_above(queue_depth_t depth) {
        meta.watched = 1;
        meta.below_threshold = depth |-| QUEUE_DEPTH;
        COUNT(congestion_counter);
    }

    action never() { meta.watched = 0; COUNT(congestion_counter); }

    table congestion {
        key = { EGRESS_PORT: exact @name("egress_port"); }
        actions = { mark_above; never; }
        const default_action = never();
        size = CONGESTION_TABLE_SIZE;
        counters = congestion_counter;
    }

    action mark_answer() { ADD_FLAG(FLAG_ECN); COUNT(mark_counter); }
    // Only where the sender's transport supports ECN.
    action mark_packet() { SET_CONGESTION_EXPERIENCED; COUNT(mark_counter); }
    action leave() { COUNT(mark_counter); }

    table mark {
        key = {
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version: ternary @name("version");
            hdr.lanesum.kind: ternary @name("kind");
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.ipv4.ecn: ternary @name("ecn");
        }
        actions = { mark_answer; mark_packet; leave; }
        const default_action = leave();
        CONST_ENTRIES_SIZE(8)
        counters = mark_counter;
        const entries = {
            (true, LANESUM_VERSION, KIND_RESULT, _, _): mark_answer();
            (true, LANESUM_VERSION, KIND_PENDING, _, _): mark_answer();
            (true, LANESUM_VERSION, KIND_CONFLICT, _, _): mark_answer();
            (_, _, _, true, ECN_CAPABLE_1): mark_packet();
            (_, _, _, true, ECN_CAPABLE_0): mark_packet();
        }
    }

    apply {
        congestion.apply();
        if (meta.watched == 1 && meta.below_threshold == 0) {
            mark.apply();
        }
    }
}
