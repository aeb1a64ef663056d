// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classify: what kind of packet this is, and what is broken in it. The direct counters say how many of each.

// As many as an IPv4 datagram holds; the lengths of more would overflow 16 bits and could look right.
const bit<16> MAX_WORDS = (0xFFFF - IPV4_HEADER_BYTES - UDP_HEADER_BYTES - LANESUM_HEADER_BYTES) >> 2;

control Classify(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) classify_counter;

    action drop_malformed() { meta.verdict = VERDICT_DROP; }
    action drop_corrupt() { meta.verdict = VERDICT_DROP; }
    action drop_unknown() { meta.verdict = VERDICT_DROP; }
    action aggregate() { meta.verdict = VERDICT_AGGREGATE; }
    action route() { meta.verdict = VERDICT_ROUTE; }
    // A contribution of another packet size than this build sums: the server can take it.
    action route_other_size() { meta.verdict = VERDICT_ROUTE; }
    // A contribution that its sender wants at the server, or one that no switch may take further.
    action route_past() { meta.verdict = VERDICT_ROUTE; }
    action descend_or_route() { meta.verdict = VERDICT_DESCEND; }
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
            hdr.lanesum.flags: ternary @name("flags");
            meta.length_matches: ternary;
            meta.shape_matches: ternary;
        }
        actions = {
            aggregate; route; route_past; route_other_size; descend_or_route; answer_arp; drop_malformed; drop_corrupt;
            drop_unknown;
        }
        const default_action = drop_unknown();
        const entries = {
            // Too short for a header that it announced, or no IPv4 header behind IPv4's ether type.
            (true, _, _, _, _, _, _, _, _, _): drop_malformed();
            // A wrong checksum of IPv4, or of UDP where it was there and the payload was read.
            (_, 1, _, _, _, _, _, _, _, _): drop_corrupt();
            (_, _, true, _, _, _, _, _, _, _): answer_arp();
            // Contributions: the length must be what the header says, then the size must be ours.
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, FLAG_BYPASS &&& FLAG_BYPASS, true, _): route_past();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, FLAG_PARTIAL &&& FLAG_PARTIAL, true, _):
                route_past();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, _, true, true): aggregate();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, _, true, false): route_other_size();
            // Answers: those of a switch above may be for all workers here; others pass through.
            (_, _, _, _, true, LANESUM_VERSION, KIND_RESULT, FLAG_UPPER &&& FLAG_UPPER, true, _): descend_or_route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_PENDING, FLAG_UPPER &&& FLAG_UPPER, true, _): descend_or_route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, FLAG_UPPER &&& FLAG_UPPER, true, _): descend_or_route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_RESULT, _, true, _): route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_PENDING, _, true, _): route();
            (_, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, _, true, _): route();
            (_, _, _, _, true, LANESUM_VERSION, _, _, _, _): drop_malformed();
            // Everything else that is IPv4, other protocol versions included.
            (_, _, _, true, _, _, _, _, _, _): route();
            // Neither IPv4 nor ARP; an entry, so that P4Runtime can read how many.
            (_, _, _, _, _, _, _, _, _, _): drop_unknown();
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
        meta.shape_matches = hdr.lanes.isValid() || hdr.codes.isValid() || hdr.codes16.isValid()
                             || hdr.planes3.isValid() || hdr.planes5.isValid();
        classify.apply();
    }
}
