// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Arp: answer requests for every host that the switch routes to.

const bit<16> ARP_REPLY = 2;

control Arp(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(arp_counter);

    action drop_unknown_host() { DROP_AT_INGRESS; COUNT(arp_counter); }

    action reply(mac_t mac) {
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
        actions = { reply; drop_unknown_host; }
        const default_action = drop_unknown_host();
        size = ARP_TABLE_SIZE;
        counters = arp_counter;
    }

    apply {
        arp.apply();
    }
}
