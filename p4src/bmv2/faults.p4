// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Faults: lose a share of the packets of a port, to test recovery. Only the test build (WITH_FAULTS) has this control.

const bit<16> FAULT_SCALE = 10000;

control Faults(inout metadata_t meta, in port_t port) {
    DIRECT_COUNTER(fault_counter);

    action lose(bit<16> per_ten_thousand) {
        bit<16> number;
        random(number, 0, FAULT_SCALE - 1);
        meta.lost = (bit<1>) (number < per_ten_thousand);
    }

    action pass() { meta.lost = 0; }

    table fault {
        key = { port: exact @name("port"); }
        actions = { lose; pass; }
        const default_action = pass();
        size = FAULT_TABLE_SIZE;
        counters = fault_counter;
    }

    apply {
        fault.apply();
    }
}
