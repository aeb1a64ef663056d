// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: turn the contribution into the packet that goes back or up, and address each copy of it.

const bit<16> RESULT_WORDS = PACKET_WORDS;
const bit<16> RESULT_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + RESULT_WORDS * 4;
const bit<16> EMPTY_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES;
const bit<8> RESULT_TTL = 64;

// How far the entry was when the contribution came in.
#if PASSES > 1
#define ANSWERED_PROGRESS hdr.journey.progress
const bit<8> ANSWERED_LAST = (bit<8>) PROGRESS_LAST;
#else
#define ANSWERED_PROGRESS meta.progress
const progress_t ANSWERED_LAST = PROGRESS_LAST;
#endif

control Result(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
               inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) result_counter;

    mac_t worker_mac;
    ipv4_addr_t worker_ip;
    bit<16> worker_port;

    // The answer comes from whom the worker wrote to: a connected socket accepts it.
    action turn_around() {
        worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = worker_mac;
        worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = worker_ip;
        hdr.ipv4.ttl = RESULT_TTL;
        worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = worker_port;
    }

    action carry_sum() {
        hdr.ipv4.total_length = RESULT_UDP_BYTES + IPV4_HEADER_BYTES;
        hdr.udp.length = RESULT_UDP_BYTES;
        hdr.lanesum.words = RESULT_WORDS;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = HANDOVER_SUM;
    }

    action carry_nothing() {
        hdr.ipv4.total_length = EMPTY_UDP_BYTES + IPV4_HEADER_BYTES;
        hdr.udp.length = EMPTY_UDP_BYTES;
        hdr.lanesum.words = 0;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = HANDOVER_EMPTY;
    }

    // An upper switch speaks of racks, any other one of workers.
    action name_workers() {
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.racks = 0;
        hdr.lanesum.fan_in_workers = meta.fan_in[7:0];
        hdr.lanesum.fan_in_racks = 0;
    }

    action name_racks() {
        hdr.lanesum.workers = 0;
        hdr.lanesum.racks = meta.workers;
        hdr.lanesum.fan_in_workers = 0;
        hdr.lanesum.fan_in_racks = meta.fan_in[7:0];
    }

    action multicast_result() {
        turn_around();
        carry_sum();
        name_workers();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state;
        ig_tm_md.mcast_grp_a = meta.group;
        result_counter.count();
    }

    action multicast_result_of_racks() {
        turn_around();
        carry_sum();
        name_racks();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | FLAG_UPPER;
        ig_tm_md.mcast_grp_a = meta.group;
        result_counter.count();
    }

    action unicast_result() {
        turn_around();
        carry_sum();
        name_workers();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | FLAG_RETRANSMISSION;
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        result_counter.count();
    }

    action unicast_result_of_racks() {
        turn_around();
        carry_sum();
        name_racks();
        hdr.lanesum.kind = KIND_RESULT;
        hdr.lanesum.flags = meta.state | (FLAG_RETRANSMISSION | FLAG_UPPER);
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        result_counter.count();
    }

    // To all: whoever is missing may have the result from a sum that is gone, and would never ask.
    action multicast_pending() {
        turn_around();
        carry_nothing();
        name_workers();
        hdr.lanesum.kind = KIND_PENDING;
        hdr.lanesum.flags = FLAG_RETRANSMISSION;
        ig_tm_md.mcast_grp_a = meta.group;
        result_counter.count();
    }

    action multicast_pending_of_racks() {
        turn_around();
        carry_nothing();
        name_racks();
        hdr.lanesum.kind = KIND_PENDING;
        hdr.lanesum.flags = FLAG_RETRANSMISSION | FLAG_UPPER;
        ig_tm_md.mcast_grp_a = meta.group;
        result_counter.count();
    }

    // Sizes of the round and operations of owner and sender; the sender's number is the one that it claims. The owner's
    // operation comes from table offended.
    action multicast_conflict(bit<8> flags) {
        turn_around();
        carry_nothing();
        hdr.lanesum.workers = hdr.lanesum.racks;
        hdr.lanesum.racks = meta.recalled & 0x0FFFFFFF;
        hdr.lanesum.fan_in_racks = hdr.lanesum.op;
        hdr.lanesum.kind = KIND_CONFLICT;
        hdr.lanesum.flags = flags;
        ig_tm_md.mcast_grp_a = meta.group;
        result_counter.count();
    }

    // In the name of all members, from the sender's address: forward sends it on.
    action ascend_workers(bit<8> flags) {
        carry_sum();
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = meta.fan_in[7:0];
        hdr.lanesum.fan_in_racks = 0;
        hdr.lanesum.flags = meta.state | flags;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        result_counter.count();
    }

    action ascend_racks(bit<8> flags) {
        carry_sum();
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = 0;
        hdr.lanesum.fan_in_racks = meta.fan_in[7:0];
        hdr.lanesum.flags = meta.state | flags;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        result_counter.count();
    }

    action turn_back() {
        hdr.bridge.handover = HANDOVER_RECIRCULATE;
        ig_tm_md.ucast_egress_port = meta.turning_port;
        result_counter.count();
    }

    action nothing() { result_counter.count(); }

    table result {
        key = {
            meta.verdict: ternary;
            meta.role: ternary;
            ANSWERED_PROGRESS: ternary @name("progress");
        }
        actions = {
            multicast_result; multicast_result_of_racks; unicast_result; unicast_result_of_racks; multicast_pending;
            multicast_pending_of_racks; multicast_conflict; ascend_workers; ascend_racks; turn_back; nothing;
        }
        const default_action = nothing();
        counters = result_counter;
        size = 32;
        const entries = {
            (VERDICT_RESULT, 0 &&& ROLE_UPPER, _): multicast_result();
            (VERDICT_RESULT, _, _): multicast_result_of_racks();
            (VERDICT_REPLAY, 0 &&& ROLE_UPPER, _): unicast_result();
            (VERDICT_REPLAY, _, _): unicast_result_of_racks();
            (VERDICT_PENDING, 0 &&& ROLE_UPPER, _): multicast_pending();
            (VERDICT_PENDING, _, _): multicast_pending_of_racks();
            (VERDICT_CONFLICT, 0 &&& ROLE_UPPER, _): multicast_conflict(0);
            (VERDICT_CONFLICT, _, _): multicast_conflict(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& (ROLE_UPPER | ROLE_PARTIAL), ANSWERED_LAST): ascend_workers(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& (ROLE_UPPER | ROLE_PARTIAL), _): ascend_workers(FLAG_UPPER | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, 0 &&& ROLE_UPPER, ANSWERED_LAST): ascend_workers(FLAG_UPPER | FLAG_PARTIAL);
            (VERDICT_ASCEND, 0 &&& ROLE_UPPER, _): ascend_workers(FLAG_UPPER | FLAG_PARTIAL | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, 0 &&& ROLE_PARTIAL, ANSWERED_LAST): ascend_racks(FLAG_UPPER);
            (VERDICT_ASCEND, 0 &&& ROLE_PARTIAL, _): ascend_racks(FLAG_UPPER | FLAG_RETRANSMISSION);
            (VERDICT_ASCEND, _, ANSWERED_LAST): ascend_racks(FLAG_UPPER | FLAG_PARTIAL);
            (VERDICT_ASCEND, _, _): ascend_racks(FLAG_UPPER | FLAG_PARTIAL | FLAG_RETRANSMISSION);
            (VERDICT_TAKE_OVER, _, _): turn_back();
        }
    }

    action name_operation(bit<8> op) { hdr.lanesum.op = op; }

    // The upper four bits of what was recalled.
    table offended {
        key = { meta.recalled[31:28]: exact @name("operation"); }
        actions = { name_operation; }
        const default_action = name_operation(OP_ADD32);
        size = 8;
        const entries = {
            4w1: name_operation(OP_EXPAND8);
            4w3: name_operation(OP_ADD8X4);
            4w4: name_operation(OP_OR);
            4w5: name_operation(OP_MAX);
            4w6: name_operation(OP_EXPAND16);
            4w7: name_operation(OP_EXPAND8TO16);
        }
    }

    apply {
        result.apply();
        if (meta.verdict == VERDICT_CONFLICT) {
            offended.apply();
        }
    }
}

// Runs in egress, once per copy.
control Receiver(inout egress_headers_t hdr, inout egress_metadata_t meta,
                 in egress_intrinsic_metadata_t eg_intr_md,
                 inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) receiver_counter;

    action address(mac_t mac, ipv4_addr_t ip, bit<16> udp_port) {
        hdr.ethernet.destination = mac;
        hdr.ipv4.destination = ip;
        hdr.udp.destination_port = udp_port;
        receiver_counter.count();
    }

    action drop_unknown_receiver() { eg_dprsr_md.drop_ctl = 1; receiver_counter.count(); }

    table receiver {
        key = {
            hdr.lanesum.job: exact @name("job");
            eg_intr_md.egress_rid: exact @name("standard_metadata.egress_rid");
        }
        actions = { address; drop_unknown_receiver; }
        const default_action = drop_unknown_receiver();
        counters = receiver_counter;
        size = RECEIVER_TABLE_SIZE;
    }

    apply {
        receiver.apply();
    }
}
