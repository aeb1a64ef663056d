// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Arp: answer requests for every host that the switch routes to, and for the switch itself.
//
// The switch answers for hosts at other ports only. A host that probes or announces its own address (RFC 5227), or asks
// for a neighbour at its own port, gets no answer: it would take the answer for a second owner of the address.

const bit<16> ARP_REPLY = 2;

control Arp(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(arp_counter);
    DIRECT_COUNTER(answer_counter);

    action unknown() { meta.has_route = 0; COUNT(arp_counter); }

    action reply(port_t port, mac_t mac) {
        meta.has_route = 1;
        meta.port_difference = INGRESS_PORT ^ port;
        hdr.ethernet.destination = hdr.arp.sender_mac;
        hdr.ethernet.source = mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        ipv4_addr_t requested_ip = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_ip = requested_ip;
        SEND_TO_PORT(INGRESS_PORT);
        COUNT(arp_counter);
    }

    table arp {
        key = {
            hdr.arp.operation: exact @name("operation");
            hdr.arp.target_ip: exact @name("target");
        }
        actions = { reply; unknown; }
        const default_action = unknown();
        size = ARP_TABLE_SIZE;
        counters = arp_counter;
    }

    action replied() { COUNT(answer_counter); }
    action drop_unknown_host() { DROP_AT_INGRESS; COUNT(answer_counter); }
    action drop_same_port() { DROP_AT_INGRESS; COUNT(answer_counter); }

    COUNT_EACH_ENTRY
    table answer {
        key = {
            meta.has_route: ternary;
            meta.port_difference: ternary;
        }
        actions = { replied; drop_same_port; drop_unknown_host; }
        const default_action = drop_unknown_host();
        CONST_ENTRIES_SIZE(4)
        counters = answer_counter;
        const entries = {
            (0, _): drop_unknown_host();
            (1, 0): drop_same_port();
            (1, _): replied();
        }
    }

    apply {
        arp.apply();
        answer.apply();
    }
}
