// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Asks for a second access of one register in one pass, which depends on the packet: the compiler lets it through.
#include <core.p4>
#include <tna.p4>

header request_t {
    bit<8> first;
    bit<8> second;
    bit<16> value;
}

struct headers_t {
    request_t request;
}

struct metadata_t {}

parser IngressParser(
    packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic
) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.request);
        transition accept;
    }
}

control Ingress(
    inout headers_t hdr,
    inout metadata_t md,
    in ingress_intrinsic_metadata_t intrinsic,
    in ingress_intrinsic_metadata_from_parser_t from_parser,
    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
    inout ingress_intrinsic_metadata_for_tm_t for_tm
) {
    Register<bit<16>, bit<8>>(256) cells;
    RegisterAction<bit<16>, bit<8>, bit<16>>(cells) add = {
        void apply(inout bit<16> value, out bit<16> after) {
            value = value + hdr.request.value;
            after = value;
        }
    };
    RegisterAction<bit<16>, bit<8>, bit<16>>(cells) look = {
        void apply(inout bit<16> value, out bit<16> after) {
            after = value;
        }
    };

    apply {
        for_tm.ucast_egress_port = intrinsic.ingress_port;
        if (hdr.request.first != 0) {
            hdr.request.value = add.execute(hdr.request.first);
        }
        if (hdr.request.second != 0) {
            hdr.request.value = look.execute(hdr.request.second);
        }
    }
}

control IngressDeparser(
    packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser
) {
    apply {
        packet.emit(hdr);
    }
}

parser EgressParser(
    packet_in packet, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t intrinsic
) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control Egress(
    inout headers_t hdr,
    inout metadata_t md,
    in egress_intrinsic_metadata_t intrinsic,
    in egress_intrinsic_metadata_from_parser_t from_parser,
    inout egress_intrinsic_metadata_for_deparser_t for_deparser,
    inout egress_intrinsic_metadata_for_output_port_t for_port
) {
    apply {}
}

control EgressDeparser(
    packet_out packet, inout headers_t hdr, in metadata_t md, in egress_intrinsic_metadata_for_deparser_t for_deparser
) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
