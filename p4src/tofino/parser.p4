// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Parser: all headers up to the lanesum header, and the payload where this program sums packets of that size. The
// parser also adds up the checksums, so that the first stage can verify them.

#define TAKE_WORD(i) hdr.lanes.w##i = hdr.received.w##i;
// On Tofino 2 control Expand works on copies of the codes in the lanes, see lanes.p4.
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

// The lower bits of a port number; the upper ones are the pipe's.
#define PORT_OF_PIPE(port) port[6:0]

// Packets from the server's UDP port that are long enough for a lanesum header: 40 bytes and more. The parser compares
// with masks only.
#define PARSE_SOURCE \
    state parse_source { \
        transition select(hdr.udp.length) { \
            0x0028 &&& 0xFFF8: parse_answer; \
            0x0030 &&& 0xFFF0: parse_answer; \
            0x0040 &&& 0xFFC0: parse_answer; \
            0x0080 &&& 0xFF80: parse_answer; \
            0x0000 &&& 0xFF00: accept; \
            default: parse_answer; \
        } \
    }

#define OPERATION_STATE(state_name, op, combine, parse_payload) \
    state state_name { \
        meta.operation_bit = 16w1 << op; \
        meta.combination = combine; \
        transition parse_payload; \
    }
// Task of the lanes in a later pass; order and combination are those of the first one.
#define TASK_STATE(state_name, its_order, combine, parse_pass_payload) \
    state state_name { \
        meta.order = its_order; \
        meta.combination = combine; \
        transition parse_pass_payload; \
    }
#define PASS_STATE(state_name, parse_payload) \
    state state_name { \
        meta.phase = PHASE_PASS; \
        meta.verdict = VERDICT_PASS; \
        EXTRACT_HEADERS \
        transition parse_payload; \
    }
// The headers of a recirculated packet, which are those of its first pass.
#define EXTRACT_HEADERS \
    packet.extract(hdr.ethernet); \
    packet.extract(hdr.ipv4); \
    packet.extract(hdr.udp); \
    packet.extract(hdr.lanesum);

parser IngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        transition select(PORT_OF_PIPE(ig_intr_md.ingress_port)) {
            RECIRCULATION_PORT: parse_bridge;
            default: parse_first;
        }
    }

    state parse_first {
        hdr.bridge.setValid();
        hdr.bridge.partial_sum = 0;
        hdr.bridge.ingress_port = ig_intr_md.ingress_port;
        transition parse_ethernet;
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        transition select(hdr.bridge.handover) {
#if PASSES > 1
            HANDOVER_PASS: parse_pass;
#endif
            HANDOVER_SUM: parse_ethernet;
            default: parse_again;
        }
    }

    state parse_again {
        meta.takeover = 1;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            SELECT_ETHER_TYPE
        }
    }

    PARSE_ARP
    PARSE_TAG

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        udp_checksum.subtract({hdr.ipv4.source, hdr.ipv4.destination});
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): verify_ipv4;
            (4, 8 &&& 8): accept;
            (4, 6 &&& 14): accept;
            default: refuse_header;
        }
    }

    state verify_ipv4 {
        meta.ipv4_corrupt = (bit<1>) ipv4_checksum.verify();
        // In a fragment the UDP header is not at its usual offset: such packets are only routed.
        transition select(MORE_FRAGMENTS, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
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

    PARSE_SOURCE
    PARSE_ANSWER

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

    // A sum of another switch (flag UPPER) has accumulator words as payload, whatever the operation.
    state choose_lanes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND8): sum_expanded;
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND16): sum_expanded16;
            (FLAG_UPPER &&& FLAG_UPPER, OP_EXPAND8TO16): sum_expanded8to16;
            (_, OP_ADD32): sum_words;
            (_, OP_ADD8X4): sum_bytes;
            (_, OP_OR): or_words;
            (_, OP_MAX): max_words;
            default: accept;
        }
    }

    state choose_codes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (0 &&& FLAG_UPPER, OP_EXPAND8): expand8;
            (0 &&& FLAG_UPPER, OP_EXPAND8TO16): expand8to16;
            default: accept;
        }
    }

    state choose_codes16 {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (0 &&& FLAG_UPPER, OP_EXPAND16): expand16;
            default: accept;
        }
    }

    OPERATION_STATE(sum_words, OP_ADD32, COMBINE_ADD, parse_lanes)
    OPERATION_STATE(sum_bytes, OP_ADD8X4, COMBINE_ADD, parse_lanes)
    OPERATION_STATE(sum_expanded, OP_EXPAND8, COMBINE_ADD, parse_lanes)
    OPERATION_STATE(sum_expanded16, OP_EXPAND16, COMBINE_ADD, parse_lanes)
    OPERATION_STATE(sum_expanded8to16, OP_EXPAND8TO16, COMBINE_ADD, parse_lanes)
    OPERATION_STATE(or_words, OP_OR, COMBINE_OR, parse_lanes)
    OPERATION_STATE(max_words, OP_MAX, COMBINE_MAX, parse_lanes)
    OPERATION_STATE(expand8, OP_EXPAND8, COMBINE_ADD, parse_codes)
    OPERATION_STATE(expand8to16, OP_EXPAND8TO16, COMBINE_ADD, parse_codes)
    OPERATION_STATE(expand16, OP_EXPAND16, COMBINE_ADD, parse_codes16)

    state parse_codes16 {
        packet.extract(hdr.codes16);
        FOR_EACH_CODE16_GROUP(TAKE_CODES16)
        udp_checksum.subtract({hdr.codes16});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    state parse_codes {
        packet.extract(hdr.codes);
        FOR_EACH_CODE_GROUP(TAKE_CODES)
        udp_checksum.subtract({hdr.codes});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

    // The words go to the fields of header lanes, which stays invalid: at its end, ingress decides whether they leave.
    state parse_lanes {
        packet.extract(hdr.received);
        FOR_EACH_WORD(TAKE_WORD)
        meta.wide = 1;
        udp_checksum.subtract({hdr.received});
        udp_checksum.subtract_all_and_deposit(meta.udp_sum);
        transition accept;
    }

#if PASSES > 1
    // A recirculated packet was checked in its first pass. The task sets what the lanes do and which payload follows
    // the headers.
    state parse_pass {
        packet.extract(hdr.pass);
        udp_checksum.subtract({hdr.pass.udp_sum});
        meta.entry = hdr.pass.entry;
        meta.worker = hdr.pass.worker;
        meta.fan_in = hdr.pass.fan_in;
        meta.group = hdr.pass.group;
        meta.role = hdr.pass.role;
        transition select(hdr.pass.task) {
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

    TASK_STATE(store_codes, ORDER_NEWER, COMBINE_ADD, pass_codes)
    TASK_STATE(store_codes16, ORDER_NEWER, COMBINE_ADD, pass_codes16)
    TASK_STATE(store_lanes, ORDER_NEWER, COMBINE_ADD, pass_lanes)
    TASK_STATE(add_codes, ORDER_SAME, COMBINE_ADD, pass_codes)
    TASK_STATE(add_codes16, ORDER_SAME, COMBINE_ADD, pass_codes16)
    TASK_STATE(add_lanes, ORDER_SAME, COMBINE_ADD, pass_lanes)
    TASK_STATE(or_lanes, ORDER_SAME, COMBINE_OR, pass_lanes)
    TASK_STATE(max_lanes, ORDER_SAME, COMBINE_MAX, pass_lanes)
    PASS_STATE(pass_codes, parse_codes)
    PASS_STATE(pass_codes16, parse_codes16)
    PASS_STATE(pass_lanes, parse_lanes)

    state read_lanes {
        meta.phase = PHASE_PASS;
        meta.verdict = VERDICT_PASS;
        meta.order = ORDER_DUPLICATE;
        meta.progress = PROGRESS_DONE;
        EXTRACT_HEADERS
        transition accept;
    }

    // The entry is read as for a duplicate.
    state answer {
        meta.phase = PHASE_ANSWER;
        meta.verdict = VERDICT_ANSWER;
        meta.arrival = ARRIVAL_ANSWER;
        EXTRACT_HEADERS
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
            IPV4_WITHOUT_OPTIONS: parse_plain_ipv4;
            default: parse_ipv4_with_options;
        }
    }

    // The sum without the fields is that of the options, and of damage from before. Without options it is 0: ingress
    // has verified the checksum.
    state parse_ipv4_with_options {
        packet.extract(hdr.ipv4);
        ipv4_checksum.subtract({hdr.ipv4});
        ipv4_checksum.subtract_all_and_deposit(meta.ipv4_rest);
        transition accept;
    }

    state parse_plain_ipv4 {
        packet.extract(hdr.ipv4);
        udp_checksum.subtract({hdr.ipv4.source, hdr.ipv4.destination});
        transition select(MORE_FRAGMENTS, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
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

    PARSE_SOURCE
    PARSE_ANSWER

    state parse_lanesum {
        packet.extract(hdr.lanesum);
        udp_checksum.subtract({hdr.lanesum});
        udp_checksum.subtract_all_and_deposit(meta.udp_rest);
        transition accept;
    }
}
