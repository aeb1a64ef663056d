// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Checksums: packets that the switch builds get new ones. For all others the parser subtracts the fields from the old
// sum, and the deparser adds them as they are then, so that earlier damage stays visible (RFC 1624).

// Egress decrements the TTL of every packet that was not built here, and the deparser updates all checksums.
#define DECREMENT_TTL
// An ascending sum was built here, and egress leaves its TTL alone.
#define DECREMENT_TTL_OF_SUM hdr.ipv4.ttl = hdr.ipv4.ttl - 1
#define ADD_FLAG(flag) hdr.lanesum.flags = hdr.lanesum.flags | flag
#define SET_CONGESTION_EXPERIENCED hdr.ipv4.ecn = ECN_CONGESTION_EXPERIENCED
#define BEFORE_ADDRESS_CHANGE
#define AFTER_ADDRESS_CHANGE

// Find the rest of each checksum: the part of its sum that is not in the fields which the deparser adds.
control Rest(EGRESS_PARAMETERS) {
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

    // A checksum of 0 means "no checksum" and stays.
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
        ADD_FLAG(FLAG_COLLISION);
    }

    action collided_without_checksum() {
        meta.update_udp = 0;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        ADD_FLAG(FLAG_COLLISION);
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
