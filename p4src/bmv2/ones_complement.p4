// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// One's complement arithmetic: what checksums are made of (RFC 1071).

bit<16> ones_complement_sum(in bit<16> a, in bit<16> b) {
    bit<17> sum = (bit<17>) a + (bit<17>) b;
    return sum[15:0] + (bit<16>) sum[16:16];
}

// The checksum of data in which a word grew by 'added', or got other words that add up to so much more (RFC 1624).
bit<16> amended(in bit<16> checksum, in bit<16> added) {
    return ~ones_complement_sum(~checksum, added);
}

// For UDP 0 means "none" (RFC 768): it stays, and what comes to 0 is sent as its other representation.
bit<16> amended_udp(in bit<16> checksum, in bit<16> added) {
    bit<16> changed = amended(checksum, added);
    return checksum == 0 ? 0 : (changed == 0 ? 0xFFFF : changed);
}
