// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Origin: an address comes in by its own port only, and what only switches make does not come from a host.
//
// Registers do not wait for it: an entry of table member names port and address as an entry here does, and the controller
// writes both from one description of the host.

control Origin(inout ingress_headers_t hdr, inout ingress_metadata_t meta) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) origin_counter;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) provenance_counter;

    action expect(PortId_t port, bit<1> attached) {
        meta.known_source = 1;
        meta.port_difference = hdr.bridge.ingress_port ^ port;
        meta.attached = attached;
        origin_counter.count();
    }

    action unknown() { meta.known_source = 0; origin_counter.count(); }

    WAITS_UNTIL(1)
    table origin {
        key = { hdr.ipv4.source: exact @name("source"); }
        actions = { expect; unknown; }
        const default_action = unknown();
        counters = origin_counter;
        size = ORIGIN_TABLE_SIZE;
    }

    action unknown_source() { provenance_counter.count(); }
    action genuine() { provenance_counter.count(); }
    action drop_spoofed() { meta.verdict = VERDICT_DROP; provenance_counter.count(); }
    action drop_forged() { meta.verdict = VERDICT_DROP; provenance_counter.count(); }

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
        counters = provenance_counter;
        size = 8;
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
