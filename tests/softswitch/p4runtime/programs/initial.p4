// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
//
// A table with initial entries that are not const.

#include <core.p4>
#include <v1model.p4>

header word_t {
    bit<16> key;
    bit<16> value;
}

struct headers_t {
    word_t word;
}

struct metadata_t { }

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.word);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set_value(bit<16> value) {
        hdr.word.value = value;
    }
    action nothing() { }

    table initial {
        key = { hdr.word.key: exact @name("key"); }
        actions = { set_value; nothing; }
        default_action = nothing();
        entries = {
            1: set_value(10);
            2: set_value(20);
        }
        size = 8;
    }

    apply {
        initial.apply();
        sm.egress_spec = 510;
    }
}

control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { }
}

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.word);
    }
}

V1Switch(ParserImpl(), NoVerify(), IngressImpl(), EgressImpl(), NoCompute(), DeparserImpl()) main;
