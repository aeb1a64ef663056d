// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Checksums: IPv4 is verified on the way in; only packets that the switch itself builds get a new one.

#define IPV4_CHECKSUM_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification, \
    hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, \
    hdr.ipv4.destination }

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Options are not parsed, so a header that has some cannot be verified; hosts do.
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.verdict == VERDICT_RESULT || meta.verdict == VERDICT_REPLAY
                        || meta.verdict == VERDICT_PENDING,
                        IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
