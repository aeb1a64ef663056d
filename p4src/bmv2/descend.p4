// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Descend: an answer that a switch above made goes to all workers of the job here; table receiver addresses the copies.

control Descend(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) descend_counter;

    action hand_down(bit<16> group) {
        standard_metadata.mcast_grp = group;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action route() { meta.verdict = VERDICT_ROUTE; }

    table descend {
        key = {
            standard_metadata.ingress_port: exact;
            hdr.lanesum.job: exact @name("job");
            hdr.lanesum.tag: exact @name("tag");
        }
        actions = { hand_down; route; }
        const default_action = route();
        size = DESCEND_TABLE_SIZE;
        counters = descend_counter;
    }

    apply {
        if (hdr.ipv4.ttl > 1) {
            descend.apply();
        } else {
            meta.verdict = VERDICT_ROUTE;
        }
    }
}
