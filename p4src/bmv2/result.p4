// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: turn the contribution into the packet that goes back or up, and address each copy of it.

const bit<16> RESULT_WORDS = ACCUMULATOR_WORDS;
const bit<16> RESULT_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + RESULT_WORDS * 4;
const bit<16> EMPTY_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES;
const bit<8> RESULT_TTL = 64;

control Result(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) result_counter;

    bit<8> upper_flag;
    bit<8> state_flags;

    // The answer comes from whom the worker wrote to: a connected socket accepts it.
    action turn_around() {
        ipv4_addr_t worker_ip = hdr.ipv4.source;
        bit<16> worker_port = hdr.udp.source_port;
        mac_t worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = worker_mac;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = worker_ip;
        hdr.ipv4.ttl = RESULT_TTL;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = worker_port;
    }

    action resize(bit<16> words, bit<16> udp_bytes) {
        hdr.ipv4.total_length = udp_bytes + IPV4_HEADER_BYTES;
        hdr.udp.length = udp_bytes;
        hdr.lanesum.words = words;
        meta.built = true;
    }

    // An upper switch speaks of racks, any other one of workers.
    action name_contributors() {
        hdr.lanesum.workers = meta.upper ? 0 : meta.workers;
        hdr.lanesum.racks = meta.upper ? meta.workers : 0;
        hdr.lanesum.fan_in_workers = meta.upper ? 0 : meta.fan_in;
        hdr.lanesum.fan_in_racks = meta.upper ? meta.fan_in : 0;
    }

    action empty() {
        resize(0, EMPTY_UDP_BYTES);
        hdr.lanes.setInvalid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.planes3.setInvalid();
        hdr.planes5.setInvalid();
    }

    action multicast_result() {
        turn_around();
        resize(RESULT_WORDS, RESULT_UDP_BYTES);
        name_contributors();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = upper_flag | state_flags;
        standard_metadata.mcast_grp = meta.group;
    }

    action unicast_result() {
        turn_around();
        resize(RESULT_WORDS, RESULT_UDP_BYTES);
        name_contributors();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = FLAG_RETRANSMISSION | upper_flag | state_flags;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    // To all: whoever is missing may have the result from a sum that is gone, and would never ask.
    action multicast_pending() {
        turn_around();
        empty();
        name_contributors();
        hdr.lanesum.kind = KIND_PENDING;
        hdr.lanesum.flags = FLAG_RETRANSMISSION | upper_flag;
        standard_metadata.mcast_grp = meta.group;
    }

    // Sizes of the round and operations of owner and sender; the sender's number is the one that it claims.
    action multicast_conflict() {
        turn_around();
        empty();
        hdr.lanesum.workers = hdr.lanesum.racks;
        hdr.lanesum.racks = meta.round_words;
        hdr.lanesum.fan_in_racks = hdr.lanesum.op;
        hdr.lanesum.op = meta.owner.op;
        hdr.lanesum.kind = KIND_CONFLICT;
        hdr.lanesum.flags = upper_flag;
        standard_metadata.mcast_grp = meta.group;
    }

    // In the name of all members, from the sender's address: forward sends it on.
    action ascend() {
        resize(RESULT_WORDS, RESULT_UDP_BYTES);
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = meta.upper ? 0 : meta.fan_in;
        hdr.lanesum.fan_in_racks = meta.upper ? meta.fan_in : 0;
        hdr.lanesum.flags = FLAG_UPPER | state_flags | (meta.step == STEP_READ ? FLAG_RETRANSMISSION : 0)
                            | (meta.partial ? FLAG_PARTIAL : 0);
    }

    action nothing() { }

    table result {
        key = { meta.verdict: exact; }
        actions = { multicast_result; unicast_result; multicast_pending; multicast_conflict; ascend; nothing; }
        const default_action = nothing();
        const entries = {
            VERDICT_RESULT: multicast_result();
            VERDICT_REPLAY: unicast_result();
            VERDICT_PENDING: multicast_pending();
            VERDICT_CONFLICT: multicast_conflict();
            VERDICT_ASCEND: ascend();
        }
        counters = result_counter;
    }

    apply {
        upper_flag = meta.upper ? FLAG_UPPER : 0;
        state_flags = (meta.state & STATE_ECN != 0 ? FLAG_ECN : 0)
                      | (meta.state & STATE_COLLISION != 0 ? FLAG_COLLISION : 0);
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
        ipv4_addr_t old_ip = hdr.ipv4.destination;
        bit<16> old_port = hdr.udp.destination_port;
        receiver.apply();
        // Handed down: the payload was not read, so the checksum is amended (RFC 1624) instead of made.
        if (!meta.built) {
            bit<32> sum = (bit<32>) ~old_ip[31:16] + (bit<32>) ~old_ip[15:0] + (bit<32>) ~old_port
                          + (bit<32>) hdr.ipv4.destination[31:16] + (bit<32>) hdr.ipv4.destination[15:0]
                          + (bit<32>) hdr.udp.destination_port;
            hdr.udp.checksum = amended_udp(hdr.udp.checksum, ones_complement_sum(sum[15:0], sum[31:16]));
        }
    }
}
