// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: turn the completing contribution into the packet that goes back, and address each copy of it.

const bit<16> RESULT_WORDS = ACCUMULATOR_WORDS;
const bit<16> RESULT_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + RESULT_WORDS * 4;
const bit<16> PENDING_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES;
const bit<8> RESULT_TTL = 64;

control Result(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) result_counter;

    // The answer comes from whom the worker wrote to: a connected socket accepts it.
    action turn_around(bit<4> kind, bit<16> words, bit<16> udp_bytes) {
        ipv4_addr_t worker_ip = hdr.ipv4.source;
        bit<16> worker_port = hdr.udp.source_port;
        mac_t worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = worker_mac;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = worker_ip;
        hdr.ipv4.ttl = RESULT_TTL;
        hdr.ipv4.total_length = udp_bytes + IPV4_HEADER_BYTES;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = worker_port;
        hdr.udp.length = udp_bytes;
        hdr.udp.checksum = 0; // "no checksum" (RFC 768): the payload is new
        hdr.lanesum.kind = kind;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = meta.fan_in;
        hdr.lanesum.words = words;
    }

    action multicast_result() {
        turn_around(KIND_RESULT, RESULT_WORDS, RESULT_UDP_BYTES);
        hdr.lanesum.flags = 0;
        standard_metadata.mcast_grp = meta.group;
    }

    action unicast_result() {
        turn_around(KIND_RESULT, RESULT_WORDS, RESULT_UDP_BYTES);
        hdr.lanesum.flags = FLAG_RESEND;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action unicast_pending() {
        turn_around(KIND_PENDING, 0, PENDING_UDP_BYTES);
        hdr.lanesum.flags = FLAG_RESEND;
        hdr.lanes.setInvalid();
        hdr.codes.setInvalid();
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action nothing() { }

    table result {
        key = { meta.verdict: exact; }
        actions = { multicast_result; unicast_result; unicast_pending; nothing; }
        const default_action = nothing();
        const entries = {
            VERDICT_RESULT: multicast_result();
            VERDICT_REPLAY: unicast_result();
            VERDICT_PENDING: unicast_pending();
        }
        counters = result_counter;
    }

    apply {
        result.apply();
    }
}

// Runs in egress, once per copy.
control Receiver(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) receiver_counter;

    action address(mac_t mac, ipv4_addr_t ip, bit<16> udp_port) {
        hdr.ethernet.destination = mac;
        hdr.ipv4.destination = ip;
        hdr.udp.destination_port = udp_port;
    }

    action drop_unknown_receiver() { mark_to_drop(standard_metadata); }

    table receiver {
        key = {
            hdr.lanesum.job: exact @name("job");
            standard_metadata.egress_rid: exact;
        }
        actions = { address; drop_unknown_receiver; }
        const default_action = drop_unknown_receiver();
        size = RECEIVER_TABLE_SIZE;
        counters = receiver_counter;
    }

    apply {
        receiver.apply();
    }
}
