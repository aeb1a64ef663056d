// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Faults: lose a share of the packets of a port, to test recovery. Empty tables lose nothing.

const bit<16> FAULT_SCALE = 10000;

control IngressFaults(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) fault_counter;

    action lose(bit<16> per_ten_thousand) {
        bit<16> draw;
        random(draw, 0, FAULT_SCALE - 1);
        meta.lost = draw < per_ten_thousand;
    }

    action pass() { meta.lost = false; }

    table fault {
        key = { standard_metadata.ingress_port: exact; }
        actions = { lose; pass; }
        const default_action = pass();
        size = FAULT_TABLE_SIZE;
        counters = fault_counter;
    }

    apply {
        fault.apply();
    }
}

control EgressFaults(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) fault_counter;

    action lose(bit<16> per_ten_thousand) {
        bit<16> draw;
        random(draw, 0, FAULT_SCALE - 1);
        meta.lost = draw < per_ten_thousand;
    }

    action pass() { meta.lost = false; }

    table fault {
        key = { standard_metadata.egress_port: exact; }
        actions = { lose; pass; }
        const default_action = pass();
        size = FAULT_TABLE_SIZE;
        counters = fault_counter;
    }

    apply {
        fault.apply();
    }
}
