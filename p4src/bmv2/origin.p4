// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Origin: an address comes in by its own port only, and what only switches make does not come from a host.

control Origin(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) origin_counter;
    direct_counter(CounterType.packets_and_bytes) provenance_counter;

    action expect(bit<9> port, bit<1> attached) {
        meta.known_source = true;
        meta.port_matches = standard_metadata.ingress_port == port;
        meta.attached = attached == 1;
    }

    action unknown() { meta.known_source = false; }

    table origin {
        key = { hdr.ipv4.source: exact @name("source"); }
        actions = { expect; unknown; }
        const default_action = unknown();
        size = ORIGIN_TABLE_SIZE;
        counters = origin_counter;
    }

    // Whoever the controller did not name passes: it is no member of any job.
    action unknown_source() { }
    action genuine() { }
    action drop_spoofed() { meta.verdict = VERDICT_DROP; }
    action drop_forged() { meta.verdict = VERDICT_DROP; }

    table provenance {
        key = {
            meta.known_source: ternary;
            meta.port_matches: ternary;
            meta.forged: ternary;
        }
        actions = { unknown_source; genuine; drop_spoofed; drop_forged; }
        const default_action = unknown_source();
        const entries = {
            (false, _, _): unknown_source();
            (true, false, _): drop_spoofed();
            (true, true, true): drop_forged();
            (true, true, false): genuine();
        }
        counters = provenance_counter;
    }

    apply {
        origin.apply();
        meta.forged = meta.attached && hdr.lanesum.isValid() && hdr.lanesum.version == LANESUM_VERSION
            && hdr.lanesum.flags & FLAG_UPPER != 0;
        provenance.apply();
    }
}
