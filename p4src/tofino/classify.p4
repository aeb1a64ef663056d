// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Arrival: check lengths and checksums, and tell contributions that this program sums from all other packets. The
// latter happens in the first stage, because the registers wait for it.

const bit<16> CODE_UDP_BYTES = UDP_BYTES_OF(PACKET_CODE_WORDS);
const bit<16> CODE16_UDP_BYTES = UDP_BYTES_OF(PACKET_CODE16_WORDS);
// Protocol and length of the pseudo header, which the parser does not add: in an undamaged datagram the words add up to
// the complement of them.
const bit<16> SUM_LEFT = (bit<16>) IP_PROTOCOL_UDP + RESULT_UDP_BYTES;
const bit<16> CODE_LEFT = (bit<16>) IP_PROTOCOL_UDP + CODE_UDP_BYTES;
const bit<16> CODE16_LEFT = (bit<16>) IP_PROTOCOL_UDP + CODE16_UDP_BYTES;

// Flags and lengths of a contribution that this program sums.
#define SUMMED_HERE(udp_bytes) 0 &&& FLAGS_PAST, udp_bytes, udp_bytes + IPV4_HEADER_BYTES, 0

control Arrival(INGRESS_PARAMETERS) {
    action contribution() { meta.arrival = ARRIVAL_CONTRIBUTION; }
    action other() { meta.arrival = ARRIVAL_OTHER; }
    action corrupt() { meta.arrival = ARRIVAL_CORRUPT; }

    // Rounds of 2^28 words and more are routed: their number does not fit one word with the operation (see types.p4).
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
            SHAPE_OPERATION(hdr.lanesum.racks): ternary;
        }
        actions = { contribution; other; corrupt; }
        const default_action = other();
        size = 32;
        const entries = {
            (_, 1, _, _, _, _, _, _, _, _, _): corrupt();
#if PASSES > 1
            // The checksum covers words of later passes: the last one verifies it, see control Blocks.
            (0, 0, true, _, _, _, _, SUMMED_HERE(CODE_UDP_BYTES)): contribution();
            (0, 0, _, true, _, _, _, SUMMED_HERE(CODE16_UDP_BYTES)): contribution();
            (0, 0, _, _, 1, _, _, SUMMED_HERE(RESULT_UDP_BYTES)): contribution();
#else
            (0, 0, true, _, _, 0, _, SUMMED_HERE(CODE_UDP_BYTES)): contribution();
            (0, 0, true, _, _, _, CODE_LEFT, SUMMED_HERE(CODE_UDP_BYTES)): contribution();
            (_, _, true, _, _, 0, _, _, _, _, _): other();
            (_, _, true, _, _, _, CODE_LEFT, _, _, _, _): other();
            (_, _, true, _, _, _, _, _, _, _, _): corrupt();
            (0, 0, _, true, _, 0, _, SUMMED_HERE(CODE16_UDP_BYTES)): contribution();
            (0, 0, _, true, _, _, CODE16_LEFT, SUMMED_HERE(CODE16_UDP_BYTES)): contribution();
            (_, _, _, true, _, 0, _, _, _, _, _): other();
            (_, _, _, true, _, _, CODE16_LEFT, _, _, _, _): other();
            (_, _, _, true, _, _, _, _, _, _, _): corrupt();
            (0, 0, _, _, 1, 0, _, SUMMED_HERE(RESULT_UDP_BYTES)): contribution();
            (0, 0, _, _, 1, _, SUM_LEFT, SUMMED_HERE(RESULT_UDP_BYTES)): contribution();
            (_, _, _, _, 1, 0, _, _, _, _, _): other();
            (_, _, _, _, 1, _, SUM_LEFT, _, _, _, _): other();
            (_, _, _, _, 1, _, _, _, _, _, _): corrupt();
#endif
        }
    }

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
            (UDP_HEADER_BYTES + LANESUM_HEADER_BYTES, IPV4_HEADER_BYTES, MAX_WORDS): matches();
            (_, _, MAX_WORDS &&& MAX_WORDS): differs();
            (UDP_HEADER_BYTES + LANESUM_HEADER_BYTES, IPV4_HEADER_BYTES, 0 &&& 0xC000): matches();
        }
    }

    apply {
        WHERE_FIRST_PASS {
            arrival.apply();
        }
        if (ig_prsr_md.parser_err != 0) {
            meta.parse_failed = 1;
        }
        measure();
        compare();
        lengths.apply();
    }
}
