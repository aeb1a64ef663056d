// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Parser: as far as the lanesum header, and the words where their number is this build's. Checksums are added up on the
// way, so that the first stage knows.

#define TAKE_WORD(i) hdr.lanes.w##i = hdr.arrived.w##i;
// Where Expand does not take them.
#if __TARGET_TOFINO__ == 2
#define TAKE_CODES(i, even, odd) \
    hdr.lanes.w##even = hdr.codes.w##i; \
    hdr.lanes.w##odd = hdr.codes.w##i;
#define TAKE_CODES16(i, a0, a1, a2, a3) \
    hdr.lanes.w##a0 = hdr.codes16.w##i; \
    hdr.lanes.w##a1 = hdr.codes16.w##i; \
    hdr.lanes.w##a2 = hdr.codes16.w##i; \
    hdr.lanes.w##a3 = hdr.codes16.w##i;
#else
#define TAKE_CODES(i, even, odd)
#define TAKE_CODES16(i, a0, a1, a2, a3)
#endif

parser IngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        transition select(ig_intr_md.ingress_port[6:0]) {
            RECIRCULATION_PORT: parse_bridge;
            default: parse_first;
        }
    }

    state parse_first {
        hdr.bridge.setValid();
        hdr.bridge.ingress_port = ig_intr_md.ingress_port;
        transition parse_ethernet;
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
#if PASSES > 1
        transition select(hdr.bridge.handover) {
            HANDOVER_PASS: parse_journey;
            default: parse_again;
        }
    }

    state parse_again {
#endif
        meta.takeover = 1;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_ARP: parse_arp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        udp_checksum.subtract({hdr.ipv4.source, hdr.ipv4.destination});
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): verify_ipv4;
            (4, 8 &&& 8): accept;
            (4, 6 &&& 14): accept;
            default: refuse_ipv4;
        }
    }

    state refuse_ipv4 {
        meta.bad_ipv4 = 1;
        transition accept;
    }

    state verify_ipv4 {
        meta.ipv4_corrupt = (bit<1>) ipv4_checksum.verify();
        // In a fragment the UDP header is not where it is expected: such packets are only routed.
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        udp_checksum.subtract({hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length, hdr.udp.checksum});
        transition select(hdr.udp.destination_port, hdr.udp.source_port) {
            (LANESUM_UDP_PORT, _): parse_lanesum;
            (_, LANESUM_UDP_PORT): parse_source;
            default: accept;
        }
    }

    // Long enough for a header of 32 bytes: the parser compares with masks only.
    state parse_source {
        transition select(hdr.udp.length) {
            0x0028 &&& 0xFFF8: parse_answer;
            0x0030 &&& 0xFFF0: parse_answer;
            0x0040 &&& 0xFFC0: parse_answer;
            0x0080 &&& 0xFF80: parse_answer;
            0x0000 &&& 0xFF00: accept;
            default: parse_answer;
        }
    }

    // Answers go to whatever port the worker sent from. Other traffic may do that, too: it is left alone unless it begins
    // like an answer.
    state parse_answer {
        transition select(packet.lookahead<bit<8>>()) {
            LANESUM_VERSION ++ KIND_RESULT: parse_lanesum;
            LANESUM_VERSION ++ KIND_PENDING: parse_lanesum;
            LANESUM_VERSION ++ KIND_CONFLICT: parse_lanesum;
            default: accept;
        }
    }

    state parse_lanesum {
        meta.place = packet.lookahead<place_t>().place;
        packet.extract(hdr.lanesum);
        udp_checksum.subtract({hdr.lanesum});
        transition select(hdr.lanesum.version, hdr.lanesum.kind, hdr.lanesum.words) {
            (LANESUM_VERSION, KIND_CONTRIBUTION, PACKET_WORDS): choose_lanes;
            (LANESUM_VERSION, KIND_CONTRIBUTION, PACKET_CODE_WORDS): choose_codes;
            (LANESUM_VERSION, KIND_CONTRIBUTION, PACKET_CODE16_WORDS): choose_codes16;
            default: accept;
        }
    }

    // What another switch has summed (flag UPPER) is wide already, whatever the operation.
    state choose_lanes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND8): sum_expanded;
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND16): sum_expanded16;
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND8TO16): sum_expanded8to16;
            (_, OP_ADD32): sum_words;
            (_, OP_ADD8X4): sum_bytes;
            (_, OP_OR): join_words;
            (_, OP_MAX): compare_words;
            default: accept;
        }
    }

    state choose_codes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (0 &&& FLAG_UPPER, OP_EXPAND8): expand_to_bytes;
            (0 &&& FLAG_UPPER, OP_EXPAND8TO16): expand_bytes;
            default: accept;
        }
    }

    state choose_codes16 {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (0 &&& FLAG_UPPER, OP_EXPAND16): parse_codes16;
            default: accept;
        }
    }

    state sum_words {
        meta.operation_bit = 16w1 << OP_ADD32;
        meta.combination = COMBINE_ADD;
        transition parse_lanes;
    }

    state sum_bytes {
        meta.operation_bit = 16w1 << OP_ADD8X4;
        meta.combination = COMBINE_ADD;
        transition parse_lanes;
    }

    state sum_expanded {
        meta.operation_bit = 16w1 << OP_EXPAND8;
        meta.combination = COMBINE_ADD;
        transition parse_lanes;
    }

    state sum_expanded16 {
        meta.operation_bit = 16w1 << OP_EXPAND16;
        meta.combination = COMBINE_ADD;
        transition parse_lanes;
    }

    state sum_expanded8to16 {
        meta.operation_bit = 16w1 << OP_EXPAND8TO16;
        meta.combination = COMBINE_ADD;
        transition parse_lanes;
    }

    state join_words {
        meta.operation_bit = 16w1 << OP_OR;
        meta.combination = COMBINE_OR;
        transition parse_lanes;
    }

    state compare_words {
        meta.operation_bit = 16w1 << OP_MAX;
        meta.combination = COMBINE_MAX;
        transition parse_lanes;
    }

    state expand_to_bytes {
        meta.operation_bit = 16w1 << OP_EXPAND8;
        transition parse_codes;
    }

    state expand_bytes {
        meta.operation_bit = 16w1 << OP_EXPAND8TO16;
        transition parse_codes;
    }

    state parse_codes16 {
        meta.operation_bit = 16w1 << OP_EXPAND16;
        meta.combination = COMBINE_ADD;
        packet.extract(hdr.codes16);
        FOR_EACH_CODE16_GROUP(TAKE_CODES16)
        udp_checksum.subtract({hdr.codes16});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    state parse_codes {
        meta.combination = COMBINE_ADD;
        packet.extract(hdr.codes);
        FOR_EACH_CODE_GROUP(TAKE_CODES)
        udp_checksum.subtract({hdr.codes});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    // The words lie where the lanes are, but header lanes is not there yet: ingress says at its end whether they leave.
    state parse_lanes {
        packet.extract(hdr.arrived);
        FOR_EACH_WORD(TAKE_WORD)
        meta.wide = 1;
        udp_checksum.subtract({hdr.arrived});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

#if PASSES > 1
    // What came around needs no checking: headers are where they were. The task says what the lanes do, in the words of
    // the first pass, and what stands behind the headers.
    state parse_journey {
        packet.extract(hdr.journey);
        udp_checksum.subtract({hdr.journey.udp_sum});
        meta.entry = hdr.journey.entry;
        meta.worker = hdr.journey.worker;
        meta.fan_in = hdr.journey.fan_in;
        meta.group = hdr.journey.group;
        meta.role = hdr.journey.role;
        transition select(hdr.journey.task) {
            TASK_STORE | TASK_CODES: store_codes;
            TASK_STORE | TASK_CODES16: store_codes16;
            TASK_STORE | TASK_LANES: store_lanes;
            TASK_ADD | TASK_CODES: add_codes;
            TASK_ADD | TASK_CODES16: add_codes16;
            TASK_ADD | TASK_LANES: add_lanes;
            TASK_OR | TASK_LANES: or_lanes;
            TASK_MAX | TASK_LANES: max_lanes;
            TASK_STRIP | TASK_CODES: pass_codes;
            TASK_STRIP | TASK_CODES16: pass_codes16;
            TASK_STRIP | TASK_LANES: pass_lanes;
            TASK_READ: read_lanes;
            default: answer;
        }
    }

    state store_codes {
        meta.standing = STANDING_NEW;
        transition pass_codes;
    }

    state store_codes16 {
        meta.standing = STANDING_NEW;
        transition pass_codes16;
    }

    state store_lanes {
        meta.standing = STANDING_NEW;
        transition pass_lanes;
    }

    state add_codes {
        meta.standing = STANDING_ADDED;
        meta.combination = COMBINE_ADD;
        transition pass_codes;
    }

    state add_codes16 {
        meta.standing = STANDING_ADDED;
        meta.combination = COMBINE_ADD;
        transition pass_codes16;
    }

    state add_lanes {
        meta.standing = STANDING_ADDED;
        meta.combination = COMBINE_ADD;
        transition pass_lanes;
    }

    state or_lanes {
        meta.standing = STANDING_ADDED;
        meta.combination = COMBINE_OR;
        transition pass_lanes;
    }

    state max_lanes {
        meta.standing = STANDING_ADDED;
        meta.combination = COMBINE_MAX;
        transition pass_lanes;
    }

    state pass_codes {
        meta.phase = PHASE_PASS;
        meta.verdict = VERDICT_PASS;
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        packet.extract(hdr.lanesum);
        transition take_codes;
    }

    state take_codes {
        packet.extract(hdr.codes);
        FOR_EACH_CODE_GROUP(TAKE_CODES)
        udp_checksum.subtract({hdr.codes});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    state pass_codes16 {
        meta.phase = PHASE_PASS;
        meta.verdict = VERDICT_PASS;
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        packet.extract(hdr.lanesum);
        transition take_codes16;
    }

    state take_codes16 {
        packet.extract(hdr.codes16);
        FOR_EACH_CODE16_GROUP(TAKE_CODES16)
        udp_checksum.subtract({hdr.codes16});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    state pass_lanes {
        meta.phase = PHASE_PASS;
        meta.verdict = VERDICT_PASS;
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        packet.extract(hdr.lanesum);
        transition take_lanes;
    }

    state take_lanes {
        packet.extract(hdr.arrived);
        FOR_EACH_WORD(TAKE_WORD)
        udp_checksum.subtract({hdr.arrived});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    state read_lanes {
        meta.phase = PHASE_PASS;
        meta.verdict = VERDICT_PASS;
        meta.standing = STANDING_SEEN;
        meta.progress = PROGRESS_DONE;
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        packet.extract(hdr.lanesum);
        transition accept;
    }

    // The entry is asked as if by a duplicate.
    state answer {
        meta.phase = PHASE_ANSWER;
        meta.verdict = VERDICT_ANSWER;
        meta.arrival = ARRIVAL_ANSWER;
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.udp);
        packet.extract(hdr.lanesum);
        transition accept;
    }
#endif
}

parser EgressParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;

    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.bridge);
        transition select(hdr.bridge.handover) {
            HANDOVER_RECIRCULATE: accept;
            HANDOVER_PASS: accept;
            default: parse_ethernet;
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45: parse_plain_ipv4;
            default: parse_ipv4_with_options;
        }
    }

    // What is left when the fields are taken out again is the options, and damage that was there before. Without options
    // nothing is left: ingress has seen to it.
    state parse_ipv4_with_options {
        packet.extract(hdr.ipv4);
        ipv4_checksum.subtract({hdr.ipv4});
        ipv4_checksum.subtract_all_and_deposit(meta.ipv4_rest);
        transition accept;
    }

    state parse_plain_ipv4 {
        packet.extract(hdr.ipv4);
        udp_checksum.subtract({hdr.ipv4.source, hdr.ipv4.destination});
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        udp_checksum.subtract({hdr.udp});
        transition select(hdr.udp.destination_port, hdr.udp.source_port) {
            (LANESUM_UDP_PORT, _): parse_lanesum;
            (_, LANESUM_UDP_PORT): parse_source;
            default: accept;
        }
    }

    state parse_source {
        transition select(hdr.udp.length) {
            0x0028 &&& 0xFFF8: parse_answer;
            0x0030 &&& 0xFFF0: parse_answer;
            0x0040 &&& 0xFFC0: parse_answer;
            0x0080 &&& 0xFF80: parse_answer;
            0x0000 &&& 0xFF00: accept;
            default: parse_answer;
        }
    }

    state parse_answer {
        transition select(packet.lookahead<bit<8>>()) {
            LANESUM_VERSION ++ KIND_RESULT: parse_lanesum;
            LANESUM_VERSION ++ KIND_PENDING: parse_lanesum;
            LANESUM_VERSION ++ KIND_CONFLICT: parse_lanesum;
            default: accept;
        }
    }

    state parse_lanesum {
        packet.extract(hdr.lanesum);
        udp_checksum.subtract({hdr.lanesum});
        udp_checksum.subtract_all_and_deposit(meta.udp_rest);
        transition accept;
    }
}
