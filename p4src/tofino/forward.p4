// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Forward: IPv4 routing and ARP for all other traffic, as in any router.

const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;

control Forward(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) forward_counter;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hop_counter;

    action unknown() { meta.has_route = 0; forward_counter.count(); }

    // Egress takes one from the TTL.
    action route(PortId_t port, mac_t source, mac_t destination) {
        meta.has_route = 1;
        ig_tm_md.ucast_egress_port = port;
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
        forward_counter.count();
    }

    table forward {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { route; unknown; }
        const default_action = unknown();
        counters = forward_counter;
        size = FORWARD_TABLE_SIZE;
    }

    action forwarded() { hop_counter.count(); }
    action drop_expired() { ig_dprsr_md.drop_ctl = 1; hop_counter.count(); }
    action drop_no_route() { ig_dprsr_md.drop_ctl = 1; hop_counter.count(); }

    table hop {
        key = {
            meta.expired: ternary;
            meta.has_route: ternary;
        }
        actions = { forwarded; drop_expired; drop_no_route; }
        const default_action = drop_no_route();
        counters = hop_counter;
        size = 4;
        const entries = {
            (1, _): drop_expired();
            (0, 1): forwarded();
            (0, 0): drop_no_route();
        }
    }

    apply {
        if (meta.expired == 0) {
            forward.apply();
        }
        hop.apply();
    }
}

control Arp(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
            inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
            inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) arp_counter;

    ipv4_addr_t asked;

    action drop_unknown_host() { ig_dprsr_md.drop_ctl = 1; arp_counter.count(); }

    // The switch answers for every host it can route to.
    action reply(mac_t mac) {
        hdr.ethernet.destination = hdr.arp.sender_mac;
        hdr.ethernet.source = mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        asked = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_ip = asked;
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        arp_counter.count();
    }

    table arp {
        key = {
            hdr.arp.operation: exact @name("operation");
            hdr.arp.target_ip: exact @name("target");
        }
        actions = { reply; drop_unknown_host; }
        const default_action = drop_unknown_host();
        counters = arp_counter;
        size = ARP_TABLE_SIZE;
    }

    apply {
        arp.apply();
    }
}
