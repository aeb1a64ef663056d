// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Parser: all headers up to the lanesum header, and the payload where this program sums packets of that size.

#define SELECT_AGGREGATE(op, action, uplink_words, state) \
    (OP_##op, ACCUMULATOR_WORDS, HAS(FLAG_UPPER)): parse_lanes;
#define SELECT_CODES(op, action, uplink_words, state) \
    (OP_##op, uplink_words, 0 &&& FLAG_UPPER): state;
#define SELECT_WORDS(op) (OP_##op, ACCUMULATOR_WORDS, _): parse_lanes;

#define PARSE_UPLINK(header, name) \
    state name { \
        packet.extract(hdr.header); \
        transition accept; \
    }

parser PacketParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            SELECT_ETHER_TYPE
        }
    }

    PARSE_ARP
    PARSE_TAG

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // With options, or in a fragment, the UDP header is not at its usual offset: such packets are only routed.
        transition select(hdr.ipv4.ihl, MORE_FRAGMENTS, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            (5, _, 0, _): parse_other;
            default: accept;
        }
    }

    // ICMP messages quote the first eight bytes.
    state parse_other {
        transition select(hdr.ipv4.total_length >= IPV4_HEADER_BYTES + ICMP_HEADER_BYTES) {
            true: parse_datagram;
            default: accept;
        }
    }

    state parse_datagram {
        packet.extract(hdr.datagram);
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination_port, hdr.udp.source_port,
                          hdr.udp.length >= UDP_HEADER_BYTES + LANESUM_HEADER_BYTES) {
            (LANESUM_UDP_PORT, _, _): parse_lanesum;
            (_, LANESUM_UDP_PORT, true): parse_answer;
            default: accept;
        }
    }

    PARSE_ANSWER

    state parse_lanesum {
        packet.extract(hdr.lanesum);
        transition select(hdr.lanesum.version, hdr.lanesum.kind) {
            (LANESUM_VERSION, KIND_CONTRIBUTION): parse_contribution;
            (LANESUM_VERSION, KIND_RESULT): parse_result;
            default: accept;
        }
    }

    // The words of a result of an upper switch that names an owner: control Shorten removes them, so the checksum must
    // be verified first. Other answers pass unread.
    state parse_result {
        transition select(hdr.lanesum.spare, hdr.lanesum.words, hdr.lanesum.flags) {
            (0, _, _): accept;
            (1, _, _): accept;
            (_, ACCUMULATOR_WORDS, HAS(FLAG_UPPER)): parse_lanes;
            default: accept;
        }
    }

    // A sum of another switch (flag UPPER) has accumulator words as payload, whatever the operation. The most frequent
    // packets are first, for targets that compare one after the other.
    state parse_contribution {
        transition select(hdr.lanesum.op, hdr.lanesum.words, hdr.lanesum.flags) {
            FOR_EACH_PLAIN_OP(SELECT_WORDS)
            FOR_EACH_WIDENING_OP(SELECT_CODES)
            FOR_EACH_WIDENING_OP(SELECT_AGGREGATE)
            default: accept;
        }
    }

    FOR_EACH_UPLINK_HEADER(PARSE_UPLINK)

    state parse_lanes {
        packet.extract(hdr.lanes);
        transition accept;
    }
}
