// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Descend: multicast an answer of an upper switch to all workers of the job below this switch. Control Receiver
// addresses the copies.

control Descend(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(descend_counter);

    action hand_down(bit<16> group) {
        SEND_TO_GROUP(group);
        hdr.ethernet.source = hdr.ethernet.destination;
        DECREMENT_TTL;
        CLASS_OF_ANSWERS;
        COUNT(descend_counter);
    }

    action route() { meta.verdict = VERDICT_ROUTE; COUNT(descend_counter); }

    table descend {
        key = {
            INGRESS_PORT: exact @name("ingress_port");
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
