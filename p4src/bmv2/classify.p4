// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classify: what kind of packet this is, and what is broken in it. The direct counters say how many of each.

// As many as an IPv4 datagram holds; the lengths of more would overflow 16 bits and could look right.
const bit<16> MAX_WORDS = (0xFFFF - IPV4_HEADER_BYTES - UDP_HEADER_BYTES - LANESUM_HEADER_BYTES) >> 2;

control Classify(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) classify_counter;

    action drop_malformed() { meta.verdict = VERDICT_DROP; }
    action drop_unknown() { meta.verdict = VERDICT_DROP; }
    action aggregate() { meta.verdict = VERDICT_AGGREGATE; }
    action route() { meta.verdict = VERDICT_ROUTE; }
    // A contribution of another packet size than this build sums: the server can take it.
    action route_other_size() { meta.verdict = VERDICT_ROUTE; }
    action answer_arp() { meta.verdict = VERDICT_ARP; }

    table classify {
        key = {
            meta.parse_failed: ternary;
            standard_metadata.checksum_error: ternary;
            hdr.arp.isValid(): ternary @name("arp");
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version: ternary @name("version");
            hdr.lanesum.kind: ternary @name("kind");
            meta.length_matches: ternary;
            meta.shape_matches: ternary;
        }
        actions = { aggregate; route; route_other_size; answer_arp; drop_malformed; drop_unknown; }
        const default_action = drop_unknown();
        const entries = {
            // Too short for a header that it announced, no IPv4 header, or one with a broken checksum.
            (true, _, _, _, _, _, _, _, _): drop_malformed();
            (_, 1, _, _, _, _, _, _, _): drop_malformed();
            (_, _, true, _, _, _, _, _, _): answer_arp();
            // Contributions: the length must be what the header says, then the size must be ours.
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, true, true): aggregate();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, true, false): route_other_size();
            // Results pass through: another switch or the server made them.
            (_, _, _, _, true, LANESUM_VERSION, KIND_RESULT, true, _): route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_PENDING, true, _): route();
            (_, _, _, _, true, LANESUM_VERSION, _, _, _): drop_malformed();
            // Everything else that is IPv4, other protocol versions included.
            (_, _, _, true, _, _, _, _, _): route();
            // Neither IPv4 nor ARP; an entry, so that P4Runtime can read how many.
            (_, _, _, _, _, _, _, _, _): drop_unknown();
        }
        counters = classify_counter;
    }

    apply {
        meta.parse_failed = standard_metadata.parser_error != error.NoError
            || (hdr.ipv4.isValid() && (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5));
        meta.length_matches =
            hdr.udp.length == UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + (hdr.lanesum.words << 2)
            && hdr.ipv4.total_length == hdr.udp.length + IPV4_HEADER_BYTES
            && hdr.lanesum.words <= MAX_WORDS;
        meta.shape_matches = hdr.lanes.isValid() || hdr.codes.isValid();
        classify.apply();
    }
}
