// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Checksums: what was made here gets new ones; for all else the parser has taken the fields out of the old sum, and the
// deparser adds them again as they are then, so that earlier damage stays visible (RFC 1624).

control Rest(inout egress_headers_t hdr, inout egress_metadata_t meta) {
    action sum_of_lanes() {
        meta.ipv4_rest = 0;
        meta.udp_rest = ~hdr.bridge.payload_checksum;
        meta.pseudo_length = (bit<16>) IP_PROTOCOL_UDP + RESULT_UDP_BYTES;
        meta.update_udp = 1;
    }

    action nothing_else() {
        meta.ipv4_rest = 0;
        meta.udp_rest = 0;
        meta.pseudo_length = (bit<16>) IP_PROTOCOL_UDP + EMPTY_UDP_BYTES;
        meta.update_udp = 1;
    }

    // A checksum of 0 says "none" and stays.
    action no_checksum() {
        meta.update_udp = 0;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action passed_on() {
        meta.update_udp = 1;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action collided() {
        meta.update_udp = 1;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hdr.lanesum.flags = hdr.lanesum.flags | FLAG_COLLISION;
    }

    action collided_without_checksum() {
        meta.update_udp = 0;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hdr.lanesum.flags = hdr.lanesum.flags | FLAG_COLLISION;
    }

    action other() { meta.update_udp = 0; }

    table rest {
        key = {
            hdr.bridge.handover: ternary @name("handover");
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.udp.checksum: ternary @name("checksum");
        }
        actions = {
            sum_of_lanes; nothing_else; passed_on; no_checksum; collided; collided_without_checksum; other;
        }
        const default_action = other();
        size = 8;
        const entries = {
            (HANDOVER_SUM, _, _, _): sum_of_lanes();
            (HANDOVER_EMPTY, _, _, _): nothing_else();
            (HANDOVER_COLLIDED, _, _, 0): collided_without_checksum();
            (HANDOVER_COLLIDED, _, _, _): collided();
            (_, true, false, _): no_checksum();
            (_, true, true, 0): no_checksum();
            (_, true, true, _): passed_on();
        }
    }

    apply {
        rest.apply();
    }
}
