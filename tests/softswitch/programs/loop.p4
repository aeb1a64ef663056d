// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A parser loop that consumes no byte while the first byte is 1.

#include <core.p4>
#include <v1model.p4>

header byte_t { bit<8> v; }
struct headers_t { byte_t byte; }
struct metadata_t { bit<8> rounds; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.byte);
        transition look;
    }
    state look {
        meta.rounds = meta.rounds + 1;
        transition select(hdr.byte.v) { 1: again; default: accept; }
    }
    state again {
        meta.rounds = meta.rounds + 2;
        transition look;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 1;
        if (standard_metadata.parser_error == error.ParserTimeout) { hdr.byte.v = 0xEE; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
