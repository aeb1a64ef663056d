// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classify: what kind of packet it is. Contributions are told in the first stage, because registers wait for it; what
// else there is may take its time.

// As many as an IPv4 datagram holds: 0x3FF0.
const bit<16> FULL_WORDS = 0x3FF0;
const bit<16> SUM_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + PACKET_WORDS * 4;
const bit<16> CODE_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + PACKET_CODE_WORDS * 4;
const bit<16> CODE16_UDP_BYTES = UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + PACKET_CODE16_WORDS * 4;
const bit<8> FLAGS_PAST = FLAG_BYPASS | FLAG_PARTIAL;
// A datagram's words come to the complement of what the parser does not add: protocol and length of the pseudo header.
const bit<16> SUM_LEFT = (bit<16>) IP_PROTOCOL_UDP + SUM_UDP_BYTES;
const bit<16> CODE_LEFT = (bit<16>) IP_PROTOCOL_UDP + CODE_UDP_BYTES;
const bit<16> CODE16_LEFT = (bit<16>) IP_PROTOCOL_UDP + CODE16_UDP_BYTES;

control Arrival(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md) {
    action contribution() { meta.arrival = ARRIVAL_CONTRIBUTION; }
    action other() { meta.arrival = ARRIVAL_OTHER; }
    action corrupt() { meta.arrival = ARRIVAL_CORRUPT; }

    // Rounds of 2^28 words and more have no room in the register beside the operation.
    @stage(0)
    table arrival {
        key = {
            ig_prsr_md.parser_err: ternary;
            meta.ipv4_corrupt: ternary;
            hdr.codes.isValid(): ternary;
            hdr.codes16.isValid(): ternary;
            meta.wide: ternary;
            hdr.udp.checksum: ternary;
            meta.udp_sum: ternary;
            hdr.lanesum.flags: ternary;
            hdr.udp.length: ternary;
            hdr.ipv4.total_length: ternary;
            hdr.lanesum.racks[31:28]: ternary;
        }
        actions = { contribution; other; corrupt; }
        const default_action = other();
        size = 32;
        const entries = {
            (_, 1, _, _, _, _, _, _, _, _, _): corrupt();
#if PASSES > 1
            // The checksum covers words that are seen later: the last of the passes knows, see Arrived.
            (0, 0, true, _, _, _, _, 0 &&& FLAGS_PAST, CODE_UDP_BYTES, CODE_UDP_BYTES + 20, 0): contribution();
            (0, 0, _, true, _, _, _, 0 &&& FLAGS_PAST, CODE16_UDP_BYTES, CODE16_UDP_BYTES + 20, 0): contribution();
            (0, 0, _, _, 1, _, _, 0 &&& FLAGS_PAST, SUM_UDP_BYTES, SUM_UDP_BYTES + 20, 0): contribution();
#else
            (0, 0, true, _, _, 0, _, 0 &&& FLAGS_PAST, CODE_UDP_BYTES, CODE_UDP_BYTES + 20, 0): contribution();
            (0, 0, true, _, _, _, CODE_LEFT, 0 &&& FLAGS_PAST, CODE_UDP_BYTES, CODE_UDP_BYTES + 20, 0): contribution();
            (_, _, true, _, _, 0, _, _, _, _, _): other();
            (_, _, true, _, _, _, CODE_LEFT, _, _, _, _): other();
            (_, _, true, _, _, _, _, _, _, _, _): corrupt();
            (0, 0, _, true, _, 0, _, 0 &&& FLAGS_PAST, CODE16_UDP_BYTES, CODE16_UDP_BYTES + 20, 0): contribution();
            (0, 0, _, true, _, _, CODE16_LEFT, 0 &&& FLAGS_PAST, CODE16_UDP_BYTES, CODE16_UDP_BYTES + 20, 0): contribution();
            (_, _, _, true, _, 0, _, _, _, _, _): other();
            (_, _, _, true, _, _, CODE16_LEFT, _, _, _, _): other();
            (_, _, _, true, _, _, _, _, _, _, _): corrupt();
            (0, 0, _, _, 1, 0, _, 0 &&& FLAGS_PAST, SUM_UDP_BYTES, SUM_UDP_BYTES + 20, 0): contribution();
            (0, 0, _, _, 1, _, SUM_LEFT, 0 &&& FLAGS_PAST, SUM_UDP_BYTES, SUM_UDP_BYTES + 20, 0): contribution();
            (_, _, _, _, 1, 0, _, _, _, _, _): other();
            (_, _, _, _, 1, _, SUM_LEFT, _, _, _, _): other();
            (_, _, _, _, 1, _, _, _, _, _, _): corrupt();
#endif
        }
    }

    apply {
        arrival.apply();
    }
}

control Classify(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                 in ingress_intrinsic_metadata_from_parser_t ig_prsr_md) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) classify_counter;

    action measure() {
        meta.payload_bytes = hdr.lanesum.words << 2;
        meta.datagram_gap = hdr.ipv4.total_length - hdr.udp.length;
    }

    action compare() { meta.payload_gap = hdr.udp.length - meta.payload_bytes; }

    action matches() { meta.length_matches = 1; }
    action differs() { meta.length_matches = 0; }

    table lengths {
        key = {
            meta.payload_gap: ternary;
            meta.datagram_gap: ternary;
            hdr.lanesum.words: ternary;
        }
        actions = { matches; differs; }
        const default_action = differs();
        size = 4;
        const entries = {
            (UDP_HEADER_BYTES + LANESUM_HEADER_BYTES, IPV4_HEADER_BYTES, FULL_WORDS): matches();
            (_, _, FULL_WORDS &&& FULL_WORDS): differs();
            (UDP_HEADER_BYTES + LANESUM_HEADER_BYTES, IPV4_HEADER_BYTES, 0 &&& 0xC000): matches();
        }
    }

    action drop_malformed() { meta.verdict = VERDICT_DROP; classify_counter.count(); }
    action drop_corrupt() { meta.verdict = VERDICT_DROP; classify_counter.count(); }
    action drop_unknown() { meta.verdict = VERDICT_DROP; classify_counter.count(); }
    action aggregate() { meta.verdict = VERDICT_AGGREGATE; classify_counter.count(); }
    action route() { meta.verdict = VERDICT_ROUTE; classify_counter.count(); }
    action route_other_size() { meta.verdict = VERDICT_ROUTE; classify_counter.count(); }
    action route_past() { meta.verdict = VERDICT_ROUTE; classify_counter.count(); }
    action descend_or_route() { meta.verdict = VERDICT_DESCEND; classify_counter.count(); }
    action answer_arp() { meta.verdict = VERDICT_ARP; classify_counter.count(); }

    WAITS_UNTIL(4)
    table classify {
        key = {
            meta.parse_failed: ternary;
            meta.bad_ipv4: ternary;
            meta.arrival: ternary;
            hdr.arp.isValid(): ternary @name("arp");
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version: ternary @name("version");
            hdr.lanesum.kind: ternary @name("kind");
            hdr.lanesum.flags: ternary @name("flags");
            meta.length_matches: ternary;
        }
        actions = {
            aggregate; route; route_past; route_other_size; descend_or_route; answer_arp; drop_malformed; drop_corrupt;
            drop_unknown;
        }
        const default_action = drop_unknown();
        counters = classify_counter;
        size = 32;
        const entries = {
            // Too short for a header that it announced, or no IPv4 header behind IPv4's ether type.
            (1, _, _, _, _, _, _, _, _, _): drop_malformed();
            (_, 1, _, _, _, _, _, _, _, _): drop_malformed();
            (_, _, ARRIVAL_CORRUPT, _, _, _, _, _, _, _): drop_corrupt();
            (_, _, _, true, _, _, _, _, _, _): answer_arp();
            (_, _, ARRIVAL_CONTRIBUTION, _, _, _, _, _, _, _): aggregate();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, FLAG_BYPASS &&& FLAG_BYPASS, 1): route_past();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, FLAG_PARTIAL &&& FLAG_PARTIAL, 1): route_past();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, _, 1): route_other_size();
            // Answers: those of a switch above may be for all workers here; others pass through.
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_RESULT, FLAG_UPPER &&& FLAG_UPPER, 1): descend_or_route();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_PENDING, FLAG_UPPER &&& FLAG_UPPER, 1): descend_or_route();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, FLAG_UPPER &&& FLAG_UPPER, 1): descend_or_route();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_RESULT, _, 1): route();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_PENDING, _, 1): route();
            (_, _, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, _, 1): route();
            (_, _, _, _, _, true, LANESUM_VERSION, _, _, _): drop_malformed();
            (_, _, _, _, true, _, _, _, _, _): route();
            (_, _, _, _, _, _, _, _, _, _): drop_unknown();
        }
    }

    apply {
        if (ig_prsr_md.parser_err != 0) {
            meta.parse_failed = 1;
        }
        measure();
        compare();
        lengths.apply();
        WHERE_FIRST_PASS {
            classify.apply();
        }
    }
}
