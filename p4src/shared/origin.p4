// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Origin: drop spoofed source addresses, and packets of switches that come from a host (INV-5).
//
// The controller lists each host's address with its port. On Tofino the registers do not wait for this table: an entry
// of table member names port and address too, and the controller writes both from one description of the host.

control Origin(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(origin_counter);
    DIRECT_COUNTER(provenance_counter);

    action expect(port_t port, bit<1> attached) {
        meta.known_source = 1;
        meta.port_difference = INGRESS_PORT ^ port;
        meta.attached = attached;
        COUNT(origin_counter);
    }

    action unknown() { meta.known_source = 0; COUNT(origin_counter); }

    WAITS_UNTIL(1)
    table origin {
        key = { hdr.ipv4.source: exact @name("source"); }
        actions = { expect; unknown; }
        const default_action = unknown();
        size = ORIGIN_TABLE_SIZE;
        counters = origin_counter;
    }

    // An address that the controller does not list passes: it belongs to no member of any job.
    action unknown_source() { COUNT(provenance_counter); }
    action genuine() { COUNT(provenance_counter); }
    action drop_spoofed() { meta.verdict = VERDICT_DROP; COUNT(provenance_counter); }
    action drop_forged() { meta.verdict = VERDICT_DROP; COUNT(provenance_counter); }

    table provenance {
        key = {
            meta.known_source: ternary;
            meta.port_difference: ternary;
            meta.attached: ternary;
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version: ternary @name("version");
            hdr.lanesum.flags: ternary @name("flags");
        }
        actions = { unknown_source; genuine; drop_spoofed; drop_forged; }
        const default_action = unknown_source();
        CONST_ENTRIES_SIZE(8)
        counters = provenance_counter;
        const entries = {
            (0, _, _, _, _, _): unknown_source();
            (1, 0, 1, true, LANESUM_VERSION, FLAG_UPPER &&& FLAG_UPPER): drop_forged();
            (1, 0, _, _, _, _): genuine();
            (1, _, _, _, _, _): drop_spoofed();
        }
    }

    apply {
        origin.apply();
        if (meta.verdict != VERDICT_DROP) {
            provenance.apply();
        }
    }
}
