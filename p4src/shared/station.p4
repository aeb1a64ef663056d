// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Station: recognize frames to the switch's own MAC address, and to all stations of the link. A router accepts no other
// frames (RFC 1812, section 2.2.2), and of those to all only ARP.
//
// The entry of the own address has the properties of the switch as a station: its IPv4 address (0 for none), and the
// traffic class of the answers that it builds.

control Station(INGRESS_PARAMETERS) {
    action to_switch(ipv4_addr_t ip, bit<6> answer_dscp, bit<3> answer_queue) {
        meta.addressee = ADDRESSEE_SWITCH;
        meta.own_ip = ip;
        meta.answer_dscp = answer_dscp;
        meta.answer_queue = answer_queue;
    }

    action to_all() { meta.addressee = ADDRESSEE_ALL; }
    action to_other() { meta.addressee = ADDRESSEE_OTHER; }

    STATION_STAGE
    table station {
        key = { hdr.ethernet.destination: exact @name("destination"); }
        actions = { to_switch; to_all; to_other; }
        const default_action = to_other();
        size = STATION_TABLE_SIZE;
    }

    apply {
        station.apply();
    }
}
