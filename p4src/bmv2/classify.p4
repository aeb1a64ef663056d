// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Arrival: check lengths and checksums, and tell contributions that this program sums from all other packets.

#define OR_IS_UPLINK(header, state) || hdr.header.isValid()

control Arrival(INGRESS_PARAMETERS) {
    apply {
        if (standard_metadata.parser_error != error.NoError) {
            meta.parse_failed = 1;
        } else if (hdr.ipv4.isValid() && (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5)) {
            meta.bad_header = 1;
        } else if (standard_metadata.checksum_error == 1) {
            meta.arrival = ARRIVAL_CORRUPT;
        } else if (hdr.lanesum.isValid()) {
            if (hdr.udp.length == UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + (hdr.lanesum.words << 2)
                && hdr.ipv4.total_length == hdr.udp.length + IPV4_HEADER_BYTES
                && hdr.lanesum.words <= MAX_WORDS) {
                meta.length_matches = 1;
                // The parser reads a payload only of contributions that this program sums.
                if (hdr.lanesum.kind == KIND_CONTRIBUTION
                    && (hdr.lanes.isValid() FOR_EACH_UPLINK_HEADER(OR_IS_UPLINK))
                    && hdr.lanesum.flags & FLAGS_PAST == 0) {
                    meta.arrival = ARRIVAL_CONTRIBUTION;
                }
            }
        }
    }
}
