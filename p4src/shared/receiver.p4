// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Receiver: address each copy of an answer to its worker. Runs in egress, once per copy.

control Receiver(EGRESS_PARAMETERS) {
    DIRECT_COUNTER(receiver_counter);

    action address(mac_t mac, ipv4_addr_t ip, bit<16> udp_port) {
        hdr.ethernet.destination = mac;
        hdr.ipv4.destination = ip;
        hdr.udp.destination_port = udp_port;
        COUNT(receiver_counter);
    }

    action drop_unknown_receiver() { DROP_AT_EGRESS; COUNT(receiver_counter); }

    table receiver {
        key = {
            hdr.lanesum.job: exact @name("job");
            REPLICA: exact @name("replica");
        }
        actions = { address; drop_unknown_receiver; }
        const default_action = drop_unknown_receiver();
        size = RECEIVER_TABLE_SIZE;
        counters = receiver_counter;
    }

    apply {
        BEFORE_ADDRESS_CHANGE;
        receiver.apply();
        AFTER_ADDRESS_CHANGE;
    }
}
