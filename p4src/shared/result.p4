// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: turn the contribution into the packet that goes back to the workers, or up to the next switch.
//
// The target defines how a packet gets the sum as payload (CARRY_SUM) or none (CARRY_NOTHING).

const bit<8> RESULT_TTL = 64;

control Result(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(result_counter);
    ConflictOwner() conflict_owner;

    // Send the answer from the address that the worker wrote to: a connected socket accepts it.
    action turn_around() {
        mac_t worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = worker_mac;
        ipv4_addr_t worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = worker_ip;
        hdr.ipv4.ttl = RESULT_TTL;
        CLASS_OF_ANSWERS;
        bit<16> worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = worker_port;
    }

    action carry_sum() {
        hdr.ipv4.total_length = RESULT_UDP_BYTES + IPV4_HEADER_BYTES;
        hdr.udp.length = RESULT_UDP_BYTES;
        hdr.lanesum.words = PACKET_WORDS;
        CARRY_SUM;
    }

    action carry_nothing() {
        hdr.ipv4.total_length = EMPTY_UDP_BYTES + IPV4_HEADER_BYTES;
        hdr.udp.length = EMPTY_UDP_BYTES;
        hdr.lanesum.words = 0;
        CARRY_NOTHING;
    }

    // An upper switch names racks, any other one workers.
    action name_workers() {
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.racks = 0;
        hdr.lanesum.fan_in_workers = (bit<8>) meta.fan_in;
        hdr.lanesum.fan_in_racks = 0;
    }

    action name_racks() {
        hdr.lanesum.workers = 0;
        hdr.lanesum.racks = meta.workers;
        hdr.lanesum.fan_in_workers = 0;
        hdr.lanesum.fan_in_racks = (bit<8>) meta.fan_in;
    }

    action multicast_result() {
        turn_around();
        carry_sum();
        name_workers();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state;
        SEND_TO_GROUP(meta.group);
        COUNT(result_counter);
    }

    action multicast_result_of_racks() {
        turn_around();
        carry_sum();
        name_racks();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | FLAG_UPPER;
        SEND_TO_GROUP(meta.group);
        COUNT(result_counter);
    }

    action unicast_result() {
        turn_around();
        carry_sum();
        name_workers();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | FLAG_RETRANSMISSION;
        SEND_TO_PORT(INGRESS_PORT);
        COUNT(result_counter);
    }

    action unicast_result_of_racks() {
        turn_around();
        carry_sum();
        name_racks();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | (FLAG_RETRANSMISSION | FLAG_UPPER);
        SEND_TO_PORT(INGRESS_PORT);
        COUNT(result_counter);
    }

    // To all members: a worker that has the result of a lost sum would never ask for it (docs/protocol.md).
    action multicast_pending() {
        turn_around();
        carry_nothing();
        name_workers();
        hdr.lanesum.kind = KIND_PENDING;
        hdr.lanesum.flags = FLAG_RETRANSMISSION;
        SEND_TO_GROUP(meta.group);
        COUNT(result_counter);
    }

    action multicast_pending_of_racks() {
        turn_around();
        carry_nothing();
        name_racks();
        hdr.lanesum.kind = KIND_PENDING;
        hdr.lanesum.flags = FLAG_RETRANSMISSION | FLAG_UPPER;
        SEND_TO_GROUP(meta.group);
        COUNT(result_counter);
    }

    // Round sizes and operations of owner and sender; fan_in_workers keeps the number that the sender claims.
    action multicast_conflict(bit<8> flags) {
        turn_around();
        carry_nothing();
        hdr.lanesum.workers = hdr.lanesum.racks;
        hdr.lanesum.racks = OWNER_ROUND_WORDS;
        hdr.lanesum.fan_in_racks = hdr.lanesum.op;
        hdr.lanesum.kind = KIND_CONFLICT;
        hdr.lanesum.flags = flags;
        SEND_TO_GROUP(meta.group);
        COUNT(result_counter);
    }

    // On behalf of all members, from the sender's address; control Forward sends it on.
    action ascend_workers(bit<8> flags) {
        carry_sum();
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = (bit<8>) meta.fan_in;
        hdr.lanesum.fan_in_racks = 0;
        hdr.lanesum.flags = meta.state | flags;
        DECREMENT_TTL_OF_SUM;
        COUNT(result_counter);
    }

    action ascend_racks(bit<8> flags) {
        carry_sum();
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = 0;
        hdr.lanesum.fan_in_racks = (bit<8>) meta.fan_in;
        hdr.lanesum.flags = meta.state | flags;
        DECREMENT_TTL_OF_SUM;
        COUNT(result_counter);
    }

    action nothing() { COUNT(result_counter); }

    table result {
        key = {
            meta.verdict: ternary;
            meta.role: ternary;
            RESULT_PROGRESS: ternary @name("progress");
        }
        actions = {
            multicast_result; multicast_result_of_racks; unicast_result; unicast_result_of_racks; multicast_pending;
            multicast_pending_of_racks; multicast_conflict; ascend_workers; ascend_racks; nothing;
        }
        const default_action = nothing();
        CONST_ENTRIES_SIZE(32)
        counters = result_counter;
        const entries = {
            (VERDICT_RESULT, 0 &&& ROLE_UPPER, _): multicast_result();
            (VERDICT_RESULT, _, _): multicast_result_of_racks();
            (VERDICT_REPLAY, 0 &&& ROLE_UPPER, _): unicast_result();
            (VERDICT_REPLAY, _, _): unicast_result_of_racks();
            (VERDICT_PENDING, 0 &&& ROLE_UPPER, _): multicast_pending();
            (VERDICT_PENDING, _, _): multicast_pending_of_racks();
            (VERDICT_CONFLICT, 0 &&& ROLE_UPPER, _): multicast_conflict(0);
            (VERDICT_CONFLICT, _, _): multicast_conflict(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& (ROLE_UPPER | ROLE_PARTIAL), RESULT_LAST): ascend_workers(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& (ROLE_UPPER | ROLE_PARTIAL), _): ascend_workers(FLAG_UPPER | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, 0 &&& ROLE_UPPER, RESULT_LAST): ascend_workers(FLAG_UPPER | FLAG_PARTIAL);
            (VERDICT_ASCEND, 0 &&& ROLE_UPPER, _): ascend_workers(FLAG_UPPER | FLAG_PARTIAL | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, 0 &&& ROLE_PARTIAL, RESULT_LAST): ascend_racks(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& ROLE_PARTIAL, _): ascend_racks(FLAG_UPPER | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, _, RESULT_LAST): ascend_racks(FLAG_UPPER | FLAG_PARTIAL);
            (VERDICT_ASCEND, _, _): ascend_racks(FLAG_UPPER | FLAG_PARTIAL | FLAG_RETRANSMISSION);
        }
    }

    apply {
        result.apply();
        if (meta.verdict == VERDICT_CONFLICT) {
            conflict_owner.apply(INGRESS_ARGUMENTS);
        }
    }
}
