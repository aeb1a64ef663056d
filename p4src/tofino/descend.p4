// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Descend: an answer that a switch above made goes to all workers of the job here; table receiver addresses the copies.

control Descend(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) descend_counter;

    // Egress takes one from the TTL, as from that of every packet that was not made here.
    action hand_down(bit<16> group) {
        ig_tm_md.mcast_grp_a = group;
        hdr.ethernet.source = hdr.ethernet.destination;
        descend_counter.count();
    }

    action route() { meta.verdict = VERDICT_ROUTE; descend_counter.count(); }

    table descend {
        key = {
            hdr.bridge.ingress_port: exact @name("standard_metadata.ingress_port");
            hdr.lanesum.job: exact @name("job");
            hdr.lanesum.tag: exact @name("tag");
        }
        actions = { hand_down; route; }
        const default_action = route();
        counters = descend_counter;
        size = DESCEND_TABLE_SIZE;
    }

    apply {
        if (hdr.ipv4.ttl > 1) {
            descend.apply();
        } else {
            meta.verdict = VERDICT_ROUTE;
        }
    }
}
