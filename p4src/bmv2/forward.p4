// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Forward: IPv4 routing and ARP for all other traffic, as in any router.

const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;

control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) forward_counter;
    direct_counter(CounterType.packets_and_bytes) hop_counter;

    action unknown() { meta.has_route = false; }

    action route(bit<9> port, mac_t source, mac_t destination) {
        meta.has_route = true;
        standard_metadata.egress_spec = port;
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        // RFC 1624, equation 3, for a word that shrinks by 0x0100: options need not be parsed.
        bit<17> sum = (bit<17>) ~hdr.ipv4.checksum + 17w0xFEFF;
        hdr.ipv4.checksum = ~(sum[15:0] + (bit<16>) sum[16:16]);
    }

    table forward {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { route; unknown; }
        const default_action = unknown();
        size = FORWARD_TABLE_SIZE;
        counters = forward_counter;
    }

    action forwarded() { }
    action drop_expired() { mark_to_drop(standard_metadata); }
    action drop_no_route() { mark_to_drop(standard_metadata); }

    table hop {
        key = {
            meta.expired: ternary;
            meta.has_route: ternary;
        }
        actions = { forwarded; drop_expired; drop_no_route; }
        const default_action = drop_no_route();
        const entries = {
            (true, _): drop_expired();
            (false, true): forwarded();
            (false, false): drop_no_route();
        }
        counters = hop_counter;
    }

    apply {
        meta.expired = hdr.ipv4.ttl <= 1;
        if (!meta.expired) {
            forward.apply();
        }
        hop.apply();
    }
}

control Arp(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) arp_counter;

    action drop_unknown_host() { mark_to_drop(standard_metadata); }

    // The switch answers for every host it can route to.
    action reply(mac_t mac) {
        hdr.ethernet.destination = hdr.arp.sender_mac;
        hdr.ethernet.source = mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        ipv4_addr_t asked = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_ip = asked;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    table arp {
        key = {
            hdr.arp.operation: exact @name("operation");
            hdr.arp.target_ip: exact @name("target");
        }
        actions = { reply; drop_unknown_host; }
        const default_action = drop_unknown_host();
        size = ARP_TABLE_SIZE;
        counters = arp_counter;
    }

    apply {
        arp.apply();
    }
}
