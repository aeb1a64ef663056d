// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Header stacks, a union, a variable-length field, lookahead, advance, verify, a value set; stack operations in ingress.

#include <core.p4>
#include <v1model.p4>

error { BadMagic }

header start_t { bit<8> magic; bit<8> what; }
header label_t { bit<20> value; bit<3> spare; bit<1> bottom; }
header options_t { bit<8> length; varbit<64> data; bit<8> after; }
header short_t { bit<8> v; }
header long_t { bit<32> v; }
header_union either_t { short_t short; long_t long; }
header status_t { bit<8> error_code; bit<8> seen; bit<16> note; }
struct headers_t { status_t status; start_t start; label_t[3] labels; options_t options; either_t either; }
struct metadata_t { bit<8> peeked; bit<16> note; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    value_set<bit<8>>(4) known;
    state start {
        packet.extract(hdr.start);
        verify(hdr.start.magic == 0x4C, error.BadMagic);
        transition select(hdr.start.what) {
            1: labels;
            2: options;
            3: either;
            4: skip;
            known: by_set;
            0x80 &&& 0xF0: masked;
            default: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) { 0: labels; 1: accept; }
    }
    state options {
        meta.peeked = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>) meta.peeked * 8);
        transition accept;
    }
    state either {
        transition select(packet.lookahead<bit<4>>()) {
            0: short;
            default: long;
        }
    }
    state short { packet.extract(hdr.either.short); transition accept; }
    state long { packet.extract(hdr.either.long); transition accept; }
    state skip { packet.advance(24); meta.note = 0x5C1B; transition accept; }
    state by_set { meta.note = 0x5E75; transition accept; }
    state masked { meta.note = 0x3A5C; transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 1;
        hdr.status.setValid();
        hdr.status.note = meta.note;
        hdr.status.error_code = 0;
        if (standard_metadata.parser_error == error.PacketTooShort) { hdr.status.error_code = 1; }
        else if (standard_metadata.parser_error == error.StackOutOfBounds) { hdr.status.error_code = 2; }
        else if (standard_metadata.parser_error == error.BadMagic) { hdr.status.error_code = 3; }
        else if (standard_metadata.parser_error == error.HeaderTooShort) { hdr.status.error_code = 4; }
        hdr.status.seen = 0;
        if (hdr.labels[0].isValid()) {
            hdr.status.seen = hdr.status.seen | 1;
            if (hdr.labels[0].value == 0xFFFFF) {
                hdr.labels.pop_front(1);
            } else if (hdr.labels[0].value == 0xFFFFE) {
                hdr.labels.push_front(1);
                hdr.labels[0].setValid();
                hdr.labels[0].value = 0x12345;
                hdr.labels[0].spare = 0;
                hdr.labels[0].bottom = 0;
            } else if (hdr.labels[0].value == 0xFFFFD) {
                hdr.labels[hdr.labels[0].spare].value = 0x54321;
            } else if (hdr.labels[0].value == 0xFFFFC) {
                hdr.labels[1] = hdr.labels[0];
            }
        }
        if (hdr.options.isValid()) { hdr.status.seen = hdr.status.seen | 2; hdr.options.after = hdr.options.after + 1; }
        if (hdr.either.short.isValid()) {
            hdr.status.seen = hdr.status.seen | 4;
            if (hdr.either.short.v == 5) { hdr.either.long.setValid(); hdr.either.long.v = 0xAABBCCDD; }
        }
        if (hdr.either.long.isValid()) { hdr.status.seen = hdr.status.seen | 8; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
