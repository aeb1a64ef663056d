// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Congestion: what leaves a port where a long queue waits says so.

const bit<2> IP_ECN_CONGESTED = 3; // RFC 3168

control Congestion(inout egress_headers_t hdr, inout egress_metadata_t meta,
                   in egress_intrinsic_metadata_t eg_intr_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) congestion_counter;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) mark_counter;

    // The chip counts cells of its buffer, not packets.
    action mark_above(bit<32> depth) {
        meta.watched = 1;
        meta.short_of = depth |-| meta.depth;
        congestion_counter.count();
    }

    action never() { meta.watched = 0; congestion_counter.count(); }

    table congestion {
        key = { eg_intr_md.egress_port: exact @name("standard_metadata.egress_port"); }
        actions = { mark_above; never; }
        const default_action = never();
        counters = congestion_counter;
        size = CONGESTION_TABLE_SIZE;
    }

    action mark_answer() { hdr.lanesum.flags = hdr.lanesum.flags | FLAG_ECN; mark_counter.count(); }
    action mark_packet() { hdr.ipv4.ecn = IP_ECN_CONGESTED; mark_counter.count(); }
    action leave() { mark_counter.count(); }

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
        counters = mark_counter;
        size = 8;
        const entries = {
            (true, LANESUM_VERSION, KIND_RESULT, _, _): mark_answer();
            (true, LANESUM_VERSION, KIND_PENDING, _, _): mark_answer();
            (true, LANESUM_VERSION, KIND_CONFLICT, _, _): mark_answer();
            (_, _, _, true, 1): mark_packet();
            (_, _, _, true, 2): mark_packet();
        }
    }

    apply {
        meta.depth = (bit<32>) eg_intr_md.deq_qdepth;
        congestion.apply();
        if (meta.watched == 1 && meta.short_of == 0) {
            mark.apply();
        }
    }
}
